r"""Coloured noise, which is not equally strong at all frequencies, as after demosaicking, compression or resampling.

A spectrum is given as relative power on a regular grid of frequencies, in the layout of `numpy.fft.fft2`, with mean 1:
noise of standard deviation s has the power :math:`s^2 S(f)` at the frequency f, and white noise has S = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from plugplay.arrays.checks import BoolArray, FloatArray, check_integer, check_number, frozen, generator
from plugplay.arrays.records import Fingerprinted
from plugplay.noise.blocks import quantisation_step, take_blocks
from plugplay.noise.estimation import estimate_noise
from plugplay.noise.planes import measure_planes
from plugplay.noise.stacks import stacked

__all__ = ["ColouredNoise", "estimate_spectrum"]

_SIDE = 16
_MAX_BLOCKS = 6000
_SHARE = 0.05
_MIN_CHOSEN = 48
_MAX_CLIPPED = 0.02
_MAX_RISE = 1.6
_MIN_POWER = 1e-3
# Median over mean of the power of Gaussian noise at each frequency; at four of them it has no imaginary part.
_MEDIAN_OF_SQUARES = np.full((_SIDE, _SIDE), math.log(2))
_MEDIAN_OF_SQUARES[:: _SIDE // 2, :: _SIDE // 2] = 0.4549
_WHITE = 0.93


@dataclass(frozen=True, eq=False)
class ColouredNoise(Fingerprinted):
    """Noise that is not equally strong at all frequencies.

    Parameters
    ----------
    sigma : float
        Its standard deviation.
    spectrum : array of shape (n, n)
        Relative power in the layout of `numpy.fft.fft2`; it is divided by its mean.

    Examples
    --------
    >>> import numpy as np
    >>> noise = ColouredNoise(0.1, np.ones((32, 32)))
    >>> noise.whiteness, noise.is_white
    (1.0, True)
    """

    sigma: float
    spectrum: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        check_number(self.sigma, "sigma", minimum=0)
        spectrum = np.asarray(self.spectrum, np.float64)
        if spectrum.ndim != 2 or not np.all(np.isfinite(spectrum)) or spectrum.min() < 0 or spectrum.max() <= 0:
            raise ValueError(
                f"spectrum must be 2-D, finite, not negative and not all zero; got an array of shape {spectrum.shape}"
            )
        object.__setattr__(self, "spectrum", frozen(spectrum / spectrum.mean()))

    @property
    def whiteness(self) -> float:
        """The geometric over the arithmetic mean of the spectrum: 1 for white noise, towards 0 for others."""
        return float(np.exp(np.mean(np.log(np.maximum(self.spectrum, _MIN_POWER)))))

    @property
    def is_white(self) -> bool:
        """Whether the noise may be treated as white."""
        return self.whiteness >= _WHITE

    def power(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return the power on the frequencies of ``fft2`` of an image, interpolated; its mean is ``sigma²``."""
        frequencies = np.meshgrid(*(np.fft.fftfreq(n) for n in shape), indexing="ij")
        values = _periodic(self.spectrum, frequencies[0], frequencies[1])
        return np.asarray(self.sigma**2 * values / values.mean())

    def coefficient_power(self, basis: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return the variance of each coefficient of a separable transform of the noise's blocks.

        The coefficient of the rows :math:`b_u, b_v` of the basis has the variance
        :math:`\sigma^2 \sum_f S(f) |\hat b_u(f_1)|^2 |\hat b_v(f_2)|^2 / n^2`.

        Parameters
        ----------
        basis : array of shape (k, m)
            The 1-D transform, a row for each coefficient, at most half as long as the spectrum's grid.
        """
        responses = [np.square(np.abs(fft.fft(basis, n, axis=1))) / n for n in self.spectrum.shape]
        return np.asarray(self.sigma**2 * np.einsum("uf,fg,vg->uv", responses[0], self.spectrum, responses[1]))

    def sample(self, shape: tuple[int, ...], *, rng: np.random.Generator | int) -> NDArray[np.float64]:
        """Draw noise for an image ``(H, W)`` or ``(H, W, C)``."""
        white = generator(rng, "sample").normal(size=shape)
        gain = np.sqrt(self.power((shape[0], shape[1])))
        gain = gain.reshape(gain.shape + (1,) * (len(shape) - 2))
        return np.asarray(fft.ifft2(gain * fft.fft2(white, axes=(0, 1)), axes=(0, 1)).real)


def estimate_spectrum(
    y: ArrayLike, *, mask: BoolArray | None = None, spatial_ndim: int = 2, size: int = 32
) -> ColouredNoise:
    """Estimate the level and the spectrum of the noise in an image.

    Periodograms of 16x16 blocks without their plane, under a Hann window, are averaged over the quietest of them. The
    spectrum is flat where `estimate_noise` does not find the noise coloured, or finds too few blocks. The channels of
    a colour image are averaged; give one plane, such as the luminance, for a spectrum of its own.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``.
    mask : array of bool, optional
        True where it was observed.
    spatial_ndim : int
        3 for volumes, which are measured slice by slice.
    size : int
        Frequencies along each axis of the spectrum.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.ndimage import gaussian_filter
    >>> white = np.random.default_rng(0).normal(0.5, 0.1, (256, 256))
    >>> estimate_spectrum(white).is_white, estimate_spectrum(gaussian_filter(white, 0.8)).is_white
    (True, False)
    """
    check_integer(size, "size", minimum=4)
    sigma = estimate_noise(y, mask=mask, spatial_ndim=spatial_ndim).sigma
    stack, observed = stacked(y, mask, spatial_ndim)
    flat = ColouredNoise(sigma, np.ones((size, size)))
    blocks = take_blocks(stack, observed, step=quantisation_step(stack, observed))
    measured = None if blocks is None else measure_planes(blocks)
    if measured is None:
        return flat
    power = np.array([plane.power for plane in measured.planes])
    coloured = float(np.average([plane.coloured for plane in measured.planes], weights=np.maximum(power, 1e-300)))
    periodograms = _periodograms(stack, observed)
    if periodograms is None or coloured < 0.1:
        return flat
    spectrum = _quiet_spectrum(periodograms)
    finer = np.maximum(ColouredNoise(1.0, spectrum).power((size, size)), _MIN_POWER)
    return ColouredNoise(sigma, 1 + coloured * (finer - 1))


def _periodograms(stack: FloatArray, observed: BoolArray | None) -> NDArray[np.float64] | None:
    """Return the power of blocks at each frequency, of shape (N, 16, 16); white noise has its variance everywhere."""
    count, height, width, channels = stack.shape
    if min(height, width) < 2 * _SIDE:
        return None
    pace = max(_SIDE // 4, math.ceil(math.sqrt(count * channels * height * width / _MAX_BLOCKS)) | 1)
    rows, columns = (np.arange(0, n - _SIDE + 1, pace) for n in (height, width))
    places = (np.arange(0, count, max(1, count // _MAX_BLOCKS))[:, None, None], rows[:, None], columns)
    view = np.lib.stride_tricks.sliding_window_view
    pixels = view(stack, (_SIDE, _SIDE), axis=(1, 2))[places].reshape(-1, _SIDE, _SIDE).astype(np.float64, order="C")
    good = ((pixels <= pixels.min()) | (pixels >= pixels.max())).mean(axis=(1, 2)) <= _MAX_CLIPPED
    if observed is not None:
        good &= view(observed, (_SIDE, _SIDE), axis=(1, 2))[places].all(axis=(-2, -1)).ravel()
    if np.count_nonzero(good) < _MIN_CHOSEN:
        return None
    pixels = pixels[good]
    pixels -= pixels.mean(axis=(1, 2), keepdims=True)
    slope = np.linspace(-1, 1, _SIDE)
    slope /= math.sqrt(_SIDE * float(np.sum(np.square(slope))))
    for ramp in (np.broadcast_to(slope[:, None], (_SIDE, _SIDE)), np.broadcast_to(slope, (_SIDE, _SIDE))):
        pixels -= np.einsum("nij,ij->n", pixels, ramp)[:, None, None] * ramp
    window = np.hanning(_SIDE + 2)[1:-1]
    window = np.outer(window, window)
    window /= math.sqrt(float(np.sum(np.square(window))))
    return np.asarray(np.square(np.abs(fft.fft2(pixels * window))))


def _quiet_spectrum(periodograms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take medians over the quietest blocks, every frequency counting as much as it is strong in noise.

    Some of these blocks have texture, which raises means more than medians: on eight images, medians are closer to the
    true spectrum by a seventh (root mean square of the logarithm, 0.37 instead of 0.42).
    """
    radius = np.hypot(*np.meshgrid(np.fft.fftfreq(_SIDE), np.fft.fftfreq(_SIDE), indexing="ij")) * _SIDE
    ring = (radius >= 2) & (radius < 4)
    chosen = min(len(periodograms), max(_MIN_CHOSEN, int(_SHARE * len(periodograms))))
    spectrum = np.ones((_SIDE, _SIDE))
    for _ in range(3):
        size = np.mean(periodograms[:, radius >= 2] / spectrum[radius >= 2], axis=1)
        spectrum = np.median(periodograms[np.argsort(size, kind="stable")[:chosen]], axis=0) / _MEDIAN_OF_SQUARES
        # Even in flat places the lowest frequencies contain slopes of the image.
        limit = _MAX_RISE * float(spectrum[ring].mean())
        spectrum[radius < 2] = np.minimum(spectrum[radius < 2], limit)
        spectrum = np.maximum(spectrum, _MIN_POWER * spectrum.mean())
    spectrum[0, 0] = spectrum[(radius > 0) & (radius < 2)].mean()
    return np.asarray(spectrum / spectrum.mean())


def _periodic(
    spectrum: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Interpolate a spectrum bilinearly at frequencies in cycles per pixel."""
    height, width = spectrum.shape
    i, j = (rows * height) % height, (columns * width) % width
    top, left = np.floor(i).astype(np.int64), np.floor(j).astype(np.int64)
    down, right = i - top, j - left
    top, left = top % height, left % width
    below, beside = (top + 1) % height, (left + 1) % width
    upper = (1 - right) * spectrum[top, left] + right * spectrum[top, beside]
    lower = (1 - right) * spectrum[below, left] + right * spectrum[below, beside]
    return np.asarray((1 - down) * upper + down * lower)
