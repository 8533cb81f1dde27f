"""BM3D, corrected by the network that comes with plugplay: channels, sizes, tiles, low noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from plugplay.arrays.checks import FloatArray, check_integer, check_number, check_workers
from plugplay.denoisers._inputs import channels_first, channels_last, checked
from plugplay.denoisers.base import Denoiser, open_session
from plugplay.denoisers.bm3d import BM3D
from plugplay.denoisers.learned.adapter import Tile, tiles
from plugplay.denoisers.net.facts import REACH, SMOOTHING, level_of, strength
from plugplay.denoisers.net.opponent import from_opponent, to_opponent
from plugplay.denoisers.net.runtime import correction

if TYPE_CHECKING:
    from plugplay.traits import Traits

__all__ = ["Net"]

# Pixels are packed by 2.
MULTIPLE = 2
# About how much of the time BM3D takes.
PILOT_SHARE = 0.4


@dataclass(frozen=True, kw_only=True)
class Net:
    r"""Correct BM3D by what a small network sees in its estimate and in what it removed.

    .. math:: D_\sigma(y) = b + \sigma\,c\bigl((y - b) / \sigma, b / \sigma, \sigma\bigr), \qquad b = B_\sigma(y),
        \quad |c| \le 2

    B is BM3D, with three stages for white noise and as it works within a restoration otherwise, without its fourth
    stage. The network c, residual blocks of convolutions at half the resolution, sees one luminance and two
    chrominances; images with another number of channels than 3 are treated channel by channel. Whatever its weights,
    luminance and chrominances are moved away from BM3D's estimate by at most 2 sigma. Between 2/255 and 1/255 the
    correction fades to nothing, and below 1/255 this is BM3D. Where the noise is known not to be white, nothing is
    corrected.

    Needs ONNX Runtime: ``pip install 'plugplay[net]'``. What it was trained on, and how it compares with BM3D, is in
    ``docs/training.md``.

    Parameters
    ----------
    bound : float, optional
        The RMS of :math:`D_\sigma(y) - y` is at most `bound` times sigma by construction: what is further away is
        pulled back towards y, which makes the denoiser bounded in the sense of the paper, with C = bound². None, the
        default, for no such limit.
    workers : int, optional
        Number of threads, by default all cores. It does not change the result.
    tile : int
        Side of the squares into which larger images are cut for the network, which bounds the memory.
    pilot : BM3D, optional
        What is corrected. By default BM3D with three stages, or what it is within a restoration (see `prepared`), for
        which the network was trained.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> denoise = pp.denoisers.get("net")
    >>> np.array_equal(denoise(np.eye(8), 0.0), np.eye(8))
    True
    """

    bound: float | None = None
    workers: int | None = None
    tile: int = 512
    pilot: BM3D | None = None

    name: ClassVar[str] = "net"

    def __post_init__(self) -> None:
        if self.bound is not None:
            check_number(self.bound, "bound", minimum=0)
        check_workers(self.workers)
        check_integer(self.tile, "tile", minimum=1)

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise."""
        return self._denoised(image, sigma, self._corrected, None)

    def prepared(self, traits: Traits, workers: int | None) -> Net:
        """Return the denoiser for a restoration: with the BM3D for it, and its number of threads.

        Examples
        --------
        >>> from plugplay.traits import Traits
        >>> Net().prepared(Traits(leaves="coloured"), 2).pilot.purpose
        'restoration'
        """
        workers = workers if self.workers is None else self.workers
        pilot = self.pilot or BM3D()
        if traits.leaves == "nearly white":
            traits = replace(traits, leaves="white")  # it corrects all stages in every call
        # The network was trained on what BM3D leaves without filters that were learned, and does what they do.
        fitted = replace(pilot.prepared(traits, workers), local_below=pilot.local_below)
        return replace(self, pilot=fitted, workers=workers)

    def session(self, progress: Callable[[float], None] | None = None) -> Denoiser:
        """Return the denoiser of one restoration, in which BM3D remembers its groups; `progress` is told the share."""
        pilot = open_session(self._corrected, progress and _part(progress, 0, PILOT_SHARE))
        rest = progress and _part(progress, PILOT_SHARE, 1 - PILOT_SHARE)
        return lambda image, sigma, /: self._denoised(image, sigma, pilot, rest)

    @property
    def _corrected(self) -> BM3D:
        return replace(self.pilot or BM3D(stages=3), workers=self.workers)

    def _denoised(
        self, image: FloatArray, sigma: float, pilot: Denoiser, progress: Callable[[float], None] | None
    ) -> FloatArray:
        noisy, sigma = checked(image, sigma)
        estimate = pilot(noisy, sigma)
        gain = sigma * strength(sigma)
        if gain > 0 and self._corrected.noise_spectrum is None:
            seen = channels_first(noisy), channels_first(estimate)
            jobs = [seen] if len(seen[0]) == 3 else [(y[None], b[None]) for y, b in zip(*seen, strict=True)]
            shares = [progress and _part(progress, index / len(jobs), 1 / len(jobs)) for index in range(len(jobs))]
            found = [self._corrections(y, b, sigma, share) for (y, b), share in zip(jobs, shares, strict=True)]
            estimate = channels_last(seen[1] + np.concatenate(found) * noisy.dtype.type(gain), noisy.shape)
        elif progress:
            progress(1.0)
        return estimate if self.bound is None else _bounded(noisy, estimate, self.bound * sigma)

    def _corrections(
        self, noisy: FloatArray, pilot: FloatArray, sigma: float, progress: Callable[[float], None] | None
    ) -> FloatArray:
        """Return the correction of one plane or three, in units of sigma, tile by tile."""
        rows, columns = noisy.shape[1:]
        margins = ((0, 0), (0, rows % MULTIPLE), (0, columns % MULTIPLE))
        noisy, pilot = (np.pad(planes, margins, mode="edge") for planes in (noisy, pilot))
        found = np.empty_like(noisy)
        overlap = REACH + SMOOTHING // 2
        shape = (noisy.shape[1], noisy.shape[2])
        parts = list(tiles(shape, tile=self.tile, overlap=overlap, multiple=MULTIPLE))
        for done, part in enumerate(parts, start=1):
            found[(slice(None), *part.core)] = self._in_tile(noisy, pilot, sigma, part)
            if progress:
                progress(done / len(parts))
        return found[:, :rows, :columns]

    def _in_tile(self, noisy: FloatArray, pilot: FloatArray, sigma: float, part: Tile) -> FloatArray:
        window, inner = (slice(None), *part.window), (slice(None), *part.inner)
        y, b = noisy[window], pilot[window]
        # The offset does not matter, and is taken out so that single precision suffices.
        seen = [(y - b) / sigma, (b - b.mean(axis=(1, 2), keepdims=True)) / sigma]
        colour = len(y) == 3
        rest, estimate = (
            (to_opponent(x) if colour else np.concatenate([x, np.zeros((2, *x.shape[1:]), x.dtype)])).astype(np.float32)
            for x in seen
        )
        facts = float(colour), float(self._corrected.purpose not in (None, "denoising")), level_of(sigma)
        found = correction(rest, estimate, facts, workers=check_workers(self.workers))
        return (from_opponent(found) if colour else found[:1])[inner]


def _bounded(noisy: FloatArray, estimate: FloatArray, limit: float) -> FloatArray:
    """Return what lies on the way from `noisy` to `estimate`, at most an RMS of `limit` away."""
    move = estimate - noisy
    rms = math.sqrt(float(np.mean(np.square(move, dtype=np.float64))))
    return estimate if rms <= limit else noisy + move * noisy.dtype.type(limit / rms)


def _part(progress: Callable[[float], None], begin: float, share: float) -> Callable[[float], None]:
    """Return what reports the progress of a part of the work."""
    return lambda done: progress(begin + share * done)
