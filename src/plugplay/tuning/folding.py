r"""Bounds of the noise in a decimated image, from its spectrum and the kernel.

Decimation by K folds the frequencies of the image x onto those of the observation,

.. math:: P(f) = \sum_{k} |\hat h(f_k)|^2\, S(f_k) + s^2, \qquad f_k = (f + k) / K, \quad k \in \{0, \dots, K - 1\}^2,

with P and S the spectra of observation and image and s the noise, which is the same at all frequencies. This gives two
bounds.

**From above.** :math:`s^2 \le \min_f P(f)`. Where an image is full of detail, an estimate from its quietest blocks
measures detail. But the spectrum of detail has gaps, which noise would fill: for bricks decimated by 4 without noise,
the blocks give a noise of 34/255, the spectrum one of 1.5/255 at most.

**From below.** The spectra of images fall with the frequency: as :math:`1 / |f|^2` on average, those of textures more
slowly. With :math:`T(f) = \sum_k |\hat h(f_k)|^2 / |f_k|`, detail falls at least as fast as T from a frequency m to a
higher one c in the same direction, and the excess at c is noise:

.. math:: P_c - s^2 \le (P_m - s^2)\, T_c / T_m \quad\Longrightarrow\quad
    s^2 \ge \frac{P_c T_m - P_m T_c}{T_m - T_c}.

A kernel that leaves nothing at the corners of the spectrum, such as a Gaussian of one pixel before decimation by 2,
makes both bounds nearly equal, whatever the image. One that leaves much, such as that of bicubic decimation, gives a
weak lower bound. Twelve images of 192 x 192 pixels behind that Gaussian kernel, with noise of 0, 5 and 10/255: 0, 1.7
to 4.9 and 8.5 to 9.9/255 from below, 0.3 to 3.1, 5.2 to 6.1 and 10.0 to 10.9/255 from above.

P is measured with nine products of sine tapers and averaged over cells of frequencies.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

from plugplay.tuning.spectra import between, taps_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.traits import Traits

    Array = NDArray[np.float64]

__all__ = ["NoiseBounds", "noise_bounds"]

# Of large images only the middle is used; small ones have too few frequencies.
MIN_SIDE, MAX_SIDE = 24, 512
TAPERS = 3
# Number of cells along half of an axis: one per this many pixels, within limits.
PIXELS_PER_CELL, MIN_CELLS, MAX_CELLS = 24, 3, 8
# The lowest power is the mean over this share of the cells. For white noise that is too low by about this many standard
# deviations of a cell's power: 1.5 to 2.1 for 32 to 512 pixels.
LOWEST_SHARE, LOWEST_DEVIATIONS = 1 / 16, 1.9
# Where the corner of the spectrum begins, and the range of its middle, in cycles per sample along both axes.
CORNER, MIDDLE = 0.375, (0.14, 0.25)
MIN_RADIUS = 1e-3
NOISY_SHARE = 0.25
# T must fall by this factor from middle to corner, or else there is no lower bound.
MIN_FALL = 1.3


@dataclass(frozen=True)
class NoiseBounds:
    """Bounds of the standard deviation of the noise.

    Attributes
    ----------
    low, high : float
        The bounds.
    """

    low: float = 0.0
    high: float = math.inf

    @property
    def is_noisy(self) -> bool:
        """Whether a large part of what may be noise certainly is noise."""
        return self.low > NOISY_SHARE * self.high


def noise_bounds(y: FloatArray, traits: Traits) -> NoiseBounds:
    """Return the bounds of the noise in a decimated image.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``.
    traits : Traits
        The properties of the model. There are no bounds for models without decimation or a kernel, or with a mask.

    Examples
    --------
    >>> import plugplay as pp
    >>> camera = pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0))
    >>> y = np.random.default_rng(0).normal(0.5, 0.05, (64, 64))
    >>> found = noise_bounds(y, camera.traits(y))
    >>> 0.04 < found.low <= found.high < 0.06
    True
    """
    spectrum = traits.spectrum
    if spectrum is None or spectrum.ndim != 2 or traits.decimation == 1 or traits.observed is not None:
        return NoiseBounds()
    if min(y.shape[:2]) < MIN_SIDE:
        return NoiseBounds()
    part = y[tuple(slice((n - min(n, MAX_SIDE)) // 2, (n + min(n, MAX_SIDE)) // 2) for n in y.shape[:2])]
    # The sum of n channels, divided by the root of n, has the noise of one channel.
    image = part.reshape(*part.shape[:2], -1).sum(axis=2, dtype=np.float64) / math.sqrt(math.prod(part.shape[2:]))
    power = _power(image)
    rows, columns = scipy.fft.fftfreq(image.shape[0])[:, None], scipy.fft.rfftfreq(image.shape[1])[None, :]
    passed = _passed(taps_of(spectrum), round(traits.decimation), rows, columns)
    high = math.sqrt(_lowest(power, rows, columns))
    low = min(_least(power, passed, sign * rows, columns) for sign in (1, -1))
    return NoiseBounds(min(math.sqrt(low), high), high)


def _power(image: Array) -> Array:
    """Return the spectrum of an image in the layout of a real FFT; for white noise it is the variance."""
    tapers = [
        [
            math.sqrt(2 / (n + 1)) * np.sin(math.pi * order * np.arange(1, n + 1) / (n + 1))
            for order in range(1, TAPERS + 1)
        ]
        for n in image.shape
    ]
    varying = image - image.mean()
    total = np.zeros((image.shape[0], image.shape[1] // 2 + 1))
    for down, along in itertools.product(*tapers):
        total += np.square(np.abs(scipy.fft.rfft2(varying * np.outer(down, along))))
    return total / TAPERS**2


def _passed(taps: Array, factor: int, rows: Array, columns: Array) -> Array:
    """Return T: the power of 1 / |f| that the kernel passes, summed over the frequencies that are folded together."""
    height, width = (np.arange(n) for n in taps.shape)
    total = np.zeros((rows.size, columns.size))
    for i, j in itertools.product(range(factor), repeat=2):
        down = np.exp(-2j * math.pi * (rows + i) / factor * height)
        along = np.exp(-2j * math.pi * (columns.T + j) / factor * width)
        radius = np.hypot(_wrapped((rows + i) / factor), _wrapped((columns + j) / factor))
        total += np.square(np.abs(between(down, taps, along))) / np.maximum(radius, MIN_RADIUS)
    return total


def _wrapped(frequency: Array) -> Array:
    """Return the alias of a frequency between -1/2 and 1/2."""
    return frequency - np.round(frequency)


def _lowest(power: Array, rows: Array, columns: Array) -> float:
    """Return the lowest power of any cell of frequencies; for white noise it is about the variance."""
    cells = int(np.clip(round(min(rows.size, columns.size) / PIXELS_PER_CELL), MIN_CELLS, MAX_CELLS))
    row = np.clip(((rows + 0.5) * 2 * cells).astype(int), 0, 2 * cells - 1)
    column = np.minimum((columns * 2 * cells).astype(int), cells - 1)
    cell = (row * cells + column)[:, 1:].ravel()  # the first column holds each frequency twice
    count = np.bincount(cell)
    means = np.sort(np.bincount(cell, power[:, 1:].ravel()) / count)
    lowest = float(np.mean(means[: max(1, round(LOWEST_SHARE * means.size))]))
    return lowest / (1 - LOWEST_DEVIATIONS / math.sqrt(float(np.mean(count))))


def _least(power: Array, passed: Array, rows: Array, columns: Array) -> float:
    """Return the lower bound of the variance of the noise, from the corner where rows and columns are highest."""
    corner = (rows > CORNER) & (columns > CORNER)
    middle = (rows > MIDDLE[0]) & (rows < MIDDLE[1]) & (columns > MIDDLE[0]) & (columns < MIDDLE[1])
    here, there = float(np.mean(power[corner])), float(np.mean(power[middle]))
    left, let = float(np.mean(passed[corner])), float(np.mean(passed[middle]))
    if let < MIN_FALL * left:
        return 0.0
    return max((here * let - there * left) / (let - left), 0.0)
