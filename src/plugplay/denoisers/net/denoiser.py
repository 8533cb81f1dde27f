"""The network that comes with plugplay as a denoiser: channels, sizes, tiles, low noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from plugplay.arrays.checks import FloatArray, check_integer, check_workers
from plugplay.denoisers._inputs import channels_first, channels_last, checked
from plugplay.denoisers.base import Denoiser
from plugplay.denoisers.learned.adapter import Tile, round_up, tiles
from plugplay.denoisers.net.opponent import from_opponent, to_opponent
from plugplay.denoisers.net.runtime import noise_in

__all__ = ["MIDDLE", "MULTIPLE", "REACH", "Net", "strength"]

# Pixels are packed by 2, then halved twice.
MULTIPLE = 8
# How far a pixel may influence others: 6 convolutions at a half, 4 at a quarter and 4 at an eighth of the resolution,
# of one pixel each, and the squares that are packed.
REACH = 6 * 2 + 4 * 4 + 4 * 8 + MULTIPLE
# The network was trained down to the first level, and is fully trusted from the second on.
MIN_LEVEL, TRUSTED_LEVEL = 1 / 255, 2 / 255
MIDDLE = 0.5


@dataclass(frozen=True, kw_only=True)
class Net:
    r"""Subtract the noise that a small network sees (experimental).

    .. math:: D_\sigma(x) = x - \sigma \, n(x / \sigma), \qquad \frac{1}{N} \|n\|^2 \le 1, \quad |n| \le 4

    The network n, U-shaped with convolutions at a half to an eighth of the resolution, sees one luminance and two
    chrominances; images with another number of channels than 3 are treated channel by channel. It is equivariant to
    scale, :math:`D_{a\sigma}(\tfrac12 + a x) = \tfrac12 + a\,(D_\sigma(\tfrac12 + x) - \tfrac12)`, while both levels
    are at least 2/255. It is bounded whatever the weights: luminance and chrominances move by at most 4 sigma, and
    the RMS of the move is at most sigma, since the expected noise is never stronger than the noise. Between 2/255 and
    1/255 the move fades to nothing, and below 1/255 the image is returned as it is.

    Needs ONNX Runtime: ``pip install 'plugplay[net]'``. What it was trained on, and how it compares with BM3D, is in
    ``docs/training.md``.

    Parameters
    ----------
    workers : int, optional
        Number of threads, by default all cores. It does not change the result.
    tile : int
        Side of the squares into which larger images are cut, which bounds the memory.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> denoise = pp.denoisers.get("net")
    >>> np.array_equal(denoise(np.eye(8), 0.0), np.eye(8))
    True
    """

    workers: int | None = None
    tile: int = 768

    name: ClassVar[str] = "net"
    min_sigma: ClassVar[float] = MIN_LEVEL

    def __post_init__(self) -> None:
        check_workers(self.workers)
        check_integer(self.tile, "tile", minimum=1)

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise."""
        return self._denoised(image, sigma, None)

    def prepared(self, traits: object, workers: int | None) -> Net:  # noqa: ARG002 any problem is treated alike
        """Return the denoiser with the number of threads of a restoration, unless it has one of its own."""
        return self if workers is None or self.workers is not None else replace(self, workers=workers)

    def session(self, progress: Callable[[float], None] | None = None) -> Denoiser:
        """Return the denoiser of one restoration, which tells `progress` the share done after every tile."""
        return partial(self._denoised, progress=progress)

    def _denoised(self, image: FloatArray, sigma: float, /, progress: Callable[[float], None] | None) -> FloatArray:
        noisy, sigma = checked(image, sigma)
        gain = sigma * strength(sigma)
        if gain == 0:
            return noisy.copy()
        planes = channels_first(noisy)
        colour = len(planes) == 3
        seen = (planes - noisy.dtype.type(MIDDLE)) / noisy.dtype.type(sigma)
        jobs = [seen] if colour else [plane[np.newaxis] for plane in seen]
        found = [self._noise(job, _share(progress, index, len(jobs))) for index, job in enumerate(jobs)]
        move = np.concatenate(found) * noisy.dtype.type(gain)
        return channels_last(planes - move, noisy.shape)

    def _noise(self, planes: FloatArray, progress: Callable[[float], None] | None) -> FloatArray:
        """Return the noise in one plane or three, in units of sigma, tile by tile."""
        rows, columns = planes.shape[1:]
        height, width = round_up(rows, MULTIPLE), round_up(columns, MULTIPLE)
        margins = ((0, 0), (0, height - rows), (0, width - columns))
        padded = np.pad(planes, margins, mode="symmetric")
        noise = np.empty_like(padded)
        parts = list(tiles((height, width), tile=self.tile, overlap=REACH, multiple=MULTIPLE))
        for done, part in enumerate(parts, start=1):
            noise[(slice(None), *part.core)] = self._in_tile(padded, part)
            if progress is not None:
                progress(done / len(parts))
        noise = noise[:, :rows, :columns]
        power = float(np.mean(np.square(noise, dtype=np.float64)))
        return noise / noise.dtype.type(max(power, 1.0) ** 0.5)

    def _in_tile(self, planes: FloatArray, part: Tile) -> FloatArray:
        window = planes[(slice(None), *part.window)]
        workers, inner = check_workers(self.workers), (slice(None), *part.inner)
        if len(window) == 3:
            seen = to_opponent(window).astype(np.float32)
            return from_opponent(noise_in(seen, colour=True, workers=workers)[inner])
        gray = np.zeros((3, *window.shape[1:]), np.float32)
        gray[0] = window[0]
        return noise_in(gray, colour=False, workers=workers)[:1][inner]


def strength(sigma: float) -> float:
    """Return the factor of the move: 0 up to 1/255, 1 from 2/255 on.

    Examples
    --------
    >>> strength(0.5 / 255), strength(1.5 / 255), strength(25 / 255)
    (0.0, 0.5, 1.0)
    """
    return min(max((sigma - MIN_LEVEL) / (TRUSTED_LEVEL - MIN_LEVEL), 0.0), 1.0)


def _share(progress: Callable[[float], None] | None, index: int, count: int) -> Callable[[float], None] | None:
    """Return what reports the progress of one of several jobs."""
    if progress is None:
        return None
    return lambda share: progress((index + share) / count)
