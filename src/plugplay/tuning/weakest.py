r"""The noise at frequencies where a blur leaves least of an image, in dark and in bright places.

At the quarter of all frequencies where :math:`|\hat h|^2 S` is least, with S the average spectrum of natural images, an
observation is almost only noise, and a denoiser removes nearly all of it. So at these frequencies the residual
:math:`r = G x - y` is the noise, even if the image has taken up some noise at other frequencies. Let w be r restricted
to these frequencies, scaled so that white noise keeps its level. Its RMS in each eighth of the pixels, from the darkest
to the brightest,

.. math:: t_k^2 = \operatorname{mean}\{ w^2 : q_{k-1} \le x < q_k \}, \qquad k = 1, \dots, 8,

shows how the noise depends on the brightness. Noise that was added to the observation is the same everywhere. A
transfer curve that was applied afterwards makes it uneven: with :math:`y = l^{1/\gamma}`, noise of level s in light l
becomes :math:`s\, y^{1 - \gamma} / \gamma`, which is large in dark places and small in bright ones. A single estimate
is then too low for the dark places, which end in noise.

In 70 cases of ``benchmarks/automatic.py`` with the true kernel and noise (camera, gravel, motorcycle, brick, grass,
coins, page, coffee, chelsea, nuthatch, bridge and dragonfly, 112 x 112 pixels) the largest and the smallest t differed
by a factor of 1.17 at most, the first was 1.08 times those of bright places, and the largest 1.21 times the assumed
noise. Stored with a gamma curve, the first was 1.35 to 5 times those of bright places where a result was below its
input. Of 60 cases with another mismatch two were like that, a JPEG file and a run that had ended in noise.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

from plugplay.tuning.transmission import natural_spectrum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray

__all__ = ["WeakNoise", "weak_noise"]

# The share of all frequencies where the image is weakest.
SHARE = 0.25
PARTS = 8
# Ratios that uniform noise does not exceed: between quarters of the pixels, and between the darkest part and both
# quarters of the brighter half (both, because noise is clipped in the brightest places). In small images the latter is
# larger by chance, in units of the relative standard error of a part.
UNEVEN, FALLING, CHANCE = 1.4, 1.25, 7.0
# Larger images are examined in windows of this side, at most this many along each axis.
WINDOW, WINDOWS = 256, 3


@dataclass(frozen=True)
class WeakNoise:
    """The noise in a residual at frequencies where the image is weakest.

    Attributes
    ----------
    level : float
        Its RMS, scaled so that white noise has its standard deviation; NaN if unknown.
    parts : tuple of float
        The same in each eighth of the pixels, from dark to bright.
    error : float
        The relative standard error of a part.
    """

    level: float = math.nan
    parts: tuple[float, ...] = ()
    error: float = 0.0

    @property
    def quarters(self) -> tuple[float, ...]:
        """The RMS in each quarter of the pixels, from dark to bright."""
        return tuple(math.hypot(*pair) / math.sqrt(2) for pair in zip(self.parts[::2], self.parts[1::2], strict=True))

    @property
    def worst(self) -> float:
        """The noise in the worst quarter; 0 if unknown."""
        return max(self.quarters, default=0.0)

    @property
    def is_uneven(self) -> bool:
        """Whether it clearly depends on the brightness."""
        return self.worst > UNEVEN * min(self.quarters, default=math.inf)

    @property
    def falls(self) -> bool:
        """Whether there is clearly more of it in the darkest places than in bright ones."""
        return bool(self.parts) and self.parts[0] > max(FALLING, 1 + CHANCE * self.error) * max(self.quarters[2:])


def weak_noise(
    residual: FloatArray | None,
    image: FloatArray,
    taps: NDArray[np.float64] | None,
    observed: BoolArray | None = None,
) -> WeakNoise:
    """Measure the noise in a residual at frequencies where a blur leaves least of an image.

    Parameters
    ----------
    residual : array, optional
        G x - y, 2-D, with or without channels, and zero where nothing was observed.
    image : array
        The restored image, in the same shape.
    taps : array, optional
        The kernel; without it, or if it is larger than the image, nothing is known.
    observed : array of bool, optional
        True where a pixel was observed.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> image = np.linspace(0.2, 1, 128) * np.ones((128, 1))
    >>> noise = np.random.default_rng(0).normal(0, 0.01, image.shape)
    >>> even, dark = (weak_noise(n, image, pp.kernels.box(5)) for n in (noise, noise / image))
    >>> round(even.level, 3), even.is_uneven, dark.falls
    (0.01, False, True)
    """
    if residual is None or taps is None or residual.shape != image.shape:
        return WeakNoise()
    side = tuple(min(n, max(WINDOW, m)) for n, m in zip(residual.shape, taps.shape, strict=False))
    if any(m > n for m, n in zip(taps.shape, side, strict=True)):
        return WeakNoise()
    half = side[-1] // 2 + 1
    left = np.square(np.abs(scipy.fft.rfft2(taps, side))) * natural_spectrum(side)[:, :half]
    weak = left <= np.quantile(left, SHARE)
    # The share of white noise that passes: each frequency also stands for its negative, except in the first and last
    # columns.
    twice = np.full(half, 2.0)
    twice[0], twice[-1] = 1.0, 1.0 if side[-1] % 2 == 0 else 2.0
    passed = float(np.sum(weak * twice)) / math.prod(side)
    seen = 1.0 if observed is None else float(np.mean(observed))
    scale = 1 / math.sqrt(max(passed * seen, 1e-9))
    squares, values = [], []
    for window in _windows(residual.shape, side):
        for channel in np.moveaxis(residual[window].reshape(*side, -1), -1, 0):
            kept = scipy.fft.irfft2(scipy.fft.rfft2(channel) * weak, side)
            squares.append(np.square(scale * kept).ravel())
        values.append(np.moveaxis(image[window].reshape(*side, -1), -1, 0).ravel())
    power, brightness = np.concatenate(squares), np.concatenate(values)
    edges = np.quantile(brightness, np.arange(1, PARTS) / PARTS)
    part = np.searchsorted(edges, brightness, side="right")
    counts = np.bincount(part, minlength=PARTS)
    if not counts.all():  # few values, as in drawings
        return WeakNoise(math.sqrt(float(np.mean(power))))
    parts = np.sqrt(np.bincount(part, power, minlength=PARTS) / counts)
    error = 1 / math.sqrt(2 * passed * seen * float(counts.min()))
    return WeakNoise(math.sqrt(float(np.mean(power))), tuple(parts.tolist()), error)


def _windows(shape: tuple[int, ...], side: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Return windows that are spread evenly over an image, one along an axis that they cover."""
    starts = []
    for length, part in zip(shape, side, strict=False):
        count = min(WINDOWS, -(-length // part))
        starts.append([round(at) for at in np.linspace(0, length - part, count)])
    return [
        tuple(slice(first, first + part) for first, part in zip(corner, side, strict=True))
        for corner in itertools.product(*starts)
    ]
