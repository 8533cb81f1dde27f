r"""The noise at the zeros of a kernel: the power of the data at frequencies that the kernel removes.

Where :math:`|\hat h|^2 S` is far below the noise s², with S the average spectrum of natural images, the observation is
only noise, whatever the image is. So its power there,

.. math:: t^2 = \sum_f S\, |\hat y|^2 \Big/ \sum_f S \quad\text{over}\quad \{f : |\hat h|^2 S < \epsilon\, s^2\},

weighted with S because deblurring amplifies low frequencies most, is the variance of the noise where it does harm. It
exceeds the estimate from flat blocks and patches

* where the noise is not white, as in JPEG files, whose high frequencies were quantised away; in colour, the rest is
  the same in all channels, so that their sum is examined;
* where the kernel is not the right one: its zeros are not those of the data. Neither the size of the residual nor its
  whiteness shows that, because what a wrong kernel does to the data can be explained by ringing in the image.

A narrow kernel that is shifted by half a pixel has its only zeros at the highest frequencies, in a band too narrow for
that. There the power of the data is compared with the noise directly. Any excess is amplified without bounds by the
inversion: to keep it out of the image, `EDGE_HARM` times its standard deviation has to be assumed as white noise (found
on camera, motorcycle and chelsea).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

from plugplay.tuning.rules import MIN_NOISE
from plugplay.tuning.transmission import NATURAL_VARIANCE, natural_spectrum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.traits import Traits

__all__ = ["Spectra", "measured_spectra", "noise_at_nulls"]

# Epsilon: to find a contradiction, and to measure it, for which more frequencies are better.
NOTHING, HARDLY_ANYTHING = 0.1, 0.3
# With the right kernel and white noise t is below this in all but one of 798 cases.
MIN_EXCESS = 1.25
# A misfit of the model is not white, and does more harm than white noise of the same power.
HARM = 1.5
# Large images are examined in windows of this side, this many along each axis.
WINDOW, WINDOWS = 512, 2
MIN_FREQUENCIES = 20  # not counting negatives
# A kernel is narrow if it leaves at least this share of the power below one frequency, and hardly any above another. On
# six images with noise 0.5 and 2/255, t was 0.8 to 1.26 times the noise with right kernels of that kind, but 1.9 on a
# bridge of lines.
NARROW, NARROW_BELOW = 0.05, 0.3
EDGE, EDGE_ABOVE, EDGE_EXCESS, EDGE_HARM = 0.005, 0.42, 1.1, 3.0
MAX_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class Spectra:
    """What an observation holds at each frequency, in the layout of a real FFT.

    Attributes
    ----------
    shape : tuple of int
        Of the windows that were measured.
    power : array
        Their mean power; that of white noise is its variance.
    signal : array
        What natural images, behind the kernel, explain of it.
    weight : array
        The power of natural images, twice that where a frequency stands for its negative, too.
    passed : array
        The power that the kernel passes.
    windows : int
        How many were measured.
    """

    shape: tuple[int, ...]
    power: NDArray[np.float64]
    signal: NDArray[np.float64]
    weight: NDArray[np.float64]
    passed: NDArray[np.float64]
    windows: int


def noise_at_nulls(y: FloatArray, traits: Traits, noise: float) -> float | None:
    """Return the noise to assume if there is clearly more at the kernel's zeros than was assumed; else None.

    Parameters
    ----------
    y : array
        The observation.
    traits : Traits
        The properties of the model; only convolutions without decimation or missing pixels can be judged.
    noise : float
        The assumed noise.
    """
    measured = measured_spectra(y, traits)
    if measured is None:
        return None
    assumed = max(noise, MIN_NOISE)
    edge = _level_at_edge(measured)
    if edge > EDGE_EXCESS * assumed:
        return math.hypot(assumed, EDGE_HARM * math.sqrt(edge**2 - assumed**2))
    if _level(measured, assumed, NOTHING) < MIN_EXCESS * assumed:
        return None
    return HARM * _level(measured, assumed, HARDLY_ANYTHING)


def measured_spectra(y: FloatArray, traits: Traits, window: int = WINDOW) -> Spectra | None:
    """Return the power of an observation behind a blur, and what of it natural images explain.

    The channels are added up; what is alike in all of them counts that much more. None if the model is no convolution
    that keeps and observes every pixel, if the image is smaller than its kernel, or if it is constant. Large images are
    looked at in windows of this side.
    """
    if traits.spectrum is None or traits.decimation > 1 or traits.observed is not None:
        return None
    shape = y.shape[: traits.spectrum.ndim]
    if any(n < m for n, m in zip(shape, traits.spectrum.shape, strict=True)):
        return None
    channels = y.reshape(*shape, -1)
    side = tuple(max(min(n, window), m) for n, m in zip(shape, traits.spectrum.shape, strict=True))
    images = [
        channels[at].sum(axis=-1, dtype=np.float64) / math.sqrt(channels.shape[-1]) for at in _windows(shape, side)
    ]
    if not any(np.ptp(image) > 0 for image in images):  # the image is constant
        return None
    return _spectra(images, traits.spectrum)


def _windows(shape: tuple[int, ...], side: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Return windows that are spread evenly over an image, without overlap if there is room."""
    starts = []
    for length, part in zip(shape, side, strict=True):
        count = min(WINDOWS, max(length // part, 1))
        starts.append([round((length - part) * (2 * i + 1) / (2 * count)) for i in range(count)])
    return [
        tuple(slice(first, first + part) for first, part in zip(corner, side, strict=True))
        for corner in itertools.product(*starts)
    ]


def _spectra(images: list[NDArray[np.float64]], spectrum: NDArray[np.complex128]) -> Spectra:
    """Measure the power of images of one shape."""
    shape = images[0].shape
    window = np.ones(())
    for n in shape:
        window = np.multiply.outer(window, np.hanning(n + 2)[1:-1])
    window /= math.sqrt(float(np.sum(np.square(window))))
    means = [float(np.sum(image * window) / np.sum(window)) for image in images]
    power = np.mean([_power((image - mean) * window) for image, mean in zip(images, means, strict=True)], axis=0)
    passing = _power(scipy.fft.fftshift(scipy.fft.ifftn(spectrum).real), shape)
    variance = float(np.mean([np.var(image) for image in images]))
    natural = natural_spectrum(shape)[..., : shape[-1] // 2 + 1] * (variance / NATURAL_VARIANCE)
    # The window spreads power to neighbouring frequencies: a convolution with its own power.
    spread = scipy.fft.irfftn(_power(window), shape)
    passed = scipy.fft.irfftn(passing * natural, shape)
    signal = scipy.fft.rfftn(passed * spread).real
    natural[..., 1 : (shape[-1] + 1) // 2] *= 2
    return Spectra(shape, power, signal, natural, passing, len(images))


def _power(values: NDArray[np.float64], shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.square(np.abs(scipy.fft.rfftn(values, shape)))
    return found


def _level_at_edge(measured: Spectra) -> float:
    """Return t at the highest frequencies, if a kernel is narrow and but leaves nothing there; else 0."""
    highest = scipy.fft.rfftfreq(measured.shape[-1])
    for n in measured.shape[-2::-1]:
        highest = np.maximum.outer(np.abs(scipy.fft.fftfreq(n)), highest)
    empty = (measured.passed < EDGE) & (highest > EDGE_ABOVE)
    if np.count_nonzero(empty) < MIN_FREQUENCIES or float(measured.passed[highest < NARROW_BELOW].min()) < NARROW:
        return 0.0
    return math.sqrt(float(np.mean(measured.power[empty])))


def _level(measured: Spectra, noise: float, share: float) -> float:
    """Return t; more noise leaves more frequencies without signal, so that it is repeated until it stays."""
    level = noise
    for _ in range(MAX_ROUNDS):
        empty = measured.signal < share * level**2
        if np.count_nonzero(empty) < MIN_FREQUENCIES:
            break
        weight, power = measured.weight[empty], measured.power[empty]
        found = math.sqrt(float(np.sum(weight * power) / np.sum(weight)))
        if found < 1.05 * level:
            return max(level, found)
        level = found
    return level
