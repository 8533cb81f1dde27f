r"""Smooth spectra of images, fitted to periodograms in order to see the effect of a kernel.

Natural images are modelled as Gaussian processes whose power S at the frequency f and the angle :math:`\theta` is
smooth,

.. math:: \log S = \sum_k a_k B_k(\log |f|) + \sum_{n = 2, 4, 6, 8} b_n \cos n\theta + c_n \sin n\theta

with a few hat functions B. If the image was filtered by a transfer function of power T and noise of power N was added,
each value P of the periodogram is exponentially distributed with the mean :math:`E = T S + N`, convolved with the power
of the window. The noise is nearly white, :math:`\log N = n + m |f|`, because compression removes high frequencies. The
coefficients are found by maximising Whittle's likelihood

.. math:: L = -\sum_f \left( \frac{P}{E} + \log E \right)

together with a weak prior around :math:`S \propto |f|^{-2}`.

Small products are computed by `numpy.einsum`: on a busy machine, BLAS threads that wait for each other take longer.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

    Array = NDArray[np.float64]

__all__ = ["Fitted", "SmoothSpectra", "between", "periodogram", "taps_of", "window_for"]

WINDOW, MAX_WINDOW, MIN_WINDOW = 128, 256, 96
MAX_WINDOWS = 16
# The least side of a window in units of the kernel's: in smaller windows the zeros of its spectrum do not show.
KERNELS_PER_WINDOW = 4
# The highest frequency along an axis that is used: stretched by a sixth, it is still below one half.
MAX_FREQUENCY = 0.42
MIN_CYCLES = 4
HATS = 6
WAVES = (2, 4, 6, 8)
# Standard deviations of the prior: of the departure of the spectrum from a power law, of its dependence on the angle,
# of the coefficient of a further function, of the logarithm of the noise's variance, and of its fall to the highest
# frequency. Without a prior, what is lost in the noise would be arbitrary, and so would the maximum.
LAW_DOUBT, ANGLE_DOUBT, FURTHER_DOUBT, NOISE_DOUBT, COLOUR_DOUBT = 1.5, 0.5, 10.0, 0.5, 1.5
MAX_NEWTON = 25
# A signal stands out if it has this many times the power of the noise.
STANDS_OUT = 3.0


@dataclass(frozen=True, eq=False)
class Fitted:
    """The best smooth spectrum.

    Attributes
    ----------
    coefficients : array
        The last two are those of the noise: by how much the logarithm of N rises to the highest frequency, and n.
    likelihood : float
        Its logarithm.
    dispersion : float
        The variance of P/E, which is 1 for a Gaussian process and more for images with few strong structures.
    """

    coefficients: Array
    likelihood: float
    dispersion: float


class SmoothSpectra:
    """Fits smooth spectra to a periodogram, which has the layout of a real FFT.

    Parameters
    ----------
    power : array
        The periodogram of a square.
    noise : float
        The assumed standard deviation of the noise.
    further : array, optional
        One more function of the frequency in the logarithm of S; its coefficient is the third from the end.
    """

    def __init__(self, power: Array, noise: float, *, further: Array | None = None) -> None:
        side = power.shape[0]
        self._rows, self._columns = _frequencies(side)
        radius = np.hypot(self._rows, self._columns)
        high = np.maximum(np.abs(self._rows), self._columns) >= MAX_FREQUENCY
        # The first column holds each frequency twice, and its neighbours are not in the array.
        self._kept = ~high & (radius > MIN_CYCLES / side) & (self._columns > 0)
        self._power = power[self._kept]
        self._knots = np.linspace(math.log(MIN_CYCLES / side), math.log(0.6), HATS)
        at, angle = np.log(np.maximum(radius, 1 / side)), np.arctan2(self._rows, self._columns)
        hats = [np.interp(at, self._knots, unit) for unit in np.eye(HATS)]
        waves = [wave(n * angle) for n in WAVES for wave in (np.cos, np.sin)]
        self._basis = np.stack(hats + waves + ([] if further is None else [further]))
        self._radius = radius
        self._tilts = (radius / MAX_FREQUENCY)[self._kept]
        doubts = [LAW_DOUBT] * HATS + [ANGLE_DOUBT] * len(waves) + [FURTHER_DOUBT] * (further is not None)
        self._precision = np.array([*doubts, COLOUR_DOUBT, NOISE_DOUBT]) ** -2.0
        self._level = math.log(noise) * 2

    def fit(self, passed: Array, *, like: Fitted | None = None) -> Fitted:
        """Maximise the likelihood by Fisher scoring with Marquardt's damping; `passed` is T, `like` a first guess."""
        prior = self._prior(passed)
        at = prior if like is None else like.coefficients
        signal, mean, value = self._evaluated(passed, at, prior)
        damping = 1e-2
        for _ in range(MAX_NEWTON):
            slopes = np.stack([_smoothed(signal * b)[self._kept] for b in self._basis])
            floor = self._noise(at)
            slopes = np.concatenate([slopes, [self._tilts * floor, floor]]) / mean
            excess = self._power / mean - 1
            gradient = np.einsum("kf,f->k", slopes, excess) - self._precision * (at - prior)
            information = _gram(slopes) + np.diag(self._precision)
            before = value
            while damping < 1e6:
                damped = information + np.diag(damping * np.diag(information) + 1e-9)
                trial = at + np.clip(np.linalg.solve(damped, gradient), -1, 1)
                tried = self._evaluated(passed, trial, prior)
                if tried[-1] >= value:
                    at, (signal, mean, value) = trial, tried
                    break
                damping *= 10
            damping = max(damping / 10, 1e-4)
            if value - before < 0.05:
                break
        return Fitted(at, value, float(np.mean(np.square(self._power / mean - 1))))

    def mean(self, values: Array, fitted: Fitted) -> float:
        """Return the mean over the frequencies that count of `values` times the fitted S."""
        return float(np.mean((values * np.exp(self._shape(fitted.coefficients)))[self._kept]))

    def support(self, one: tuple[Array, Fitted], other: tuple[Array, Fitted]) -> float:
        """Return the log-likelihood ratio where the signal stands out; each argument is T and its fit."""
        values, signals = [], []
        for passed, fitted in (one, other):
            signal, mean, _ = self._evaluated(passed, fitted.coefficients, fitted.coefficients)
            values.append(-(self._power / mean + np.log(mean)))
            signals.append(signal[self._kept] / self._noise(fitted.coefficients))
        strong = np.maximum(*signals) > STANDS_OUT
        return float(np.sum((values[0] - values[1])[strong]))

    def beyond(self, values: Array) -> Array:
        """Return a function of the frequency without its smooth part, at the frequencies that are used."""
        basis, wanted = self._basis[:, self._kept], values[self._kept]
        smooth = np.linalg.lstsq(_gram(basis), np.einsum("kf,f->k", basis, wanted), rcond=None)[0]
        return np.asarray(wanted - np.einsum("k,kf->f", smooth, basis))

    def transfer(self, taps: Array, stretch: float = 1.0, turn: float = 0.0) -> NDArray[np.complex128]:
        """Return the spectrum of a kernel that is stretched, and turned by degrees."""
        return _transfer(self._rows, self._columns, taps, stretch, turn)

    def _evaluated(self, passed: Array, at: Array, prior: Array) -> tuple[Array, Array, float]:
        """Return the signal's power, the expected periodogram at the used frequencies, and the log-likelihood."""
        signal = passed * np.exp(np.clip(self._shape(at), -60, 20))
        mean = _smoothed(signal)[self._kept] + self._noise(at)
        doubt = 0.5 * float(np.sum(self._precision * np.square(at - prior)))
        return signal, mean, -float(np.sum(self._power / mean + np.log(mean))) - doubt

    def _shape(self, at: Array) -> Array:
        """Return the logarithm of S."""
        return np.asarray(np.einsum("k,kij->ij", at[:-2], self._basis))

    def _noise(self, at: Array) -> Array:
        """Return the power of the noise at the used frequencies."""
        return np.asarray(np.exp(np.clip(at[-1] + at[-2] * self._tilts, -60, 20)))

    def _prior(self, passed: Array) -> Array:
        """Return the coefficients of a spectrum that falls with the square of the frequency."""
        low = self._kept & (self._radius < 0.1)
        level = float(np.mean(self._power[low[self._kept]] * self._radius[low] ** 2 / (_smoothed(passed)[low] + 1e-3)))
        law = np.zeros(len(self._basis) + 2)
        law[:HATS], law[-1] = math.log(max(level, 1e-12)) - 2 * self._knots, self._level
        return law


def window_for(shape: tuple[int, ...], taps: Array) -> int | None:
    """Return the side of the windows in which a kernel's spectrum can be seen; None if the image is too small."""
    width = max(taps.shape)
    side = min(*shape[:2], int(np.clip(KERNELS_PER_WINDOW * width, WINDOW, MAX_WINDOW)))
    return None if side < max(MIN_WINDOW, KERNELS_PER_WINDOW * width) or width == 1 else side


def taps_of(spectrum: NDArray[np.complex128]) -> Array:
    """Return the kernel of a spectrum, without the zeros around it."""
    taps = scipy.fft.fftshift(scipy.fft.ifftn(spectrum).real)
    centre = np.array(taps.shape) // 2
    used = np.argwhere(np.abs(taps) > 1e-6 * np.abs(taps).max()) - centre
    half = np.minimum(np.abs(used).max(axis=0), (np.array(taps.shape) - 1) // 2)
    return np.asarray(taps[tuple(slice(c - h, c + h + 1) for c, h in zip(centre, half, strict=True))])


def periodogram(image: FloatArray, side: int) -> Array:
    """Return the mean power of overlapping windows of the channels' sum, whose noise is that of one channel."""
    channels = image.reshape(*image.shape[:2], -1)
    gray = channels.sum(axis=-1, dtype=np.float64) / math.sqrt(channels.shape[-1])
    line = np.hanning(side + 2)[1:-1]
    window = np.outer(line, line) / float(np.sum(np.square(line)))
    corners = list(itertools.product(*(_corners(length, side) for length in gray.shape)))
    chosen = [corners[i] for i in np.unique(np.linspace(0, len(corners) - 1, MAX_WINDOWS).astype(int))]
    total = np.zeros((side, side // 2 + 1))
    for top, left in chosen:
        part = gray[top : top + side, left : left + side]
        part = part - float(np.sum(part * window) / np.sum(window))
        total += np.square(np.abs(scipy.fft.rfft2(part * window)))
    return total / len(chosen)


def between(left: NDArray[np.complex128], taps: Array, right: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return the product of a matrix, a kernel and another matrix's transpose."""
    lines = np.einsum("cn,mn->cm", right, taps.astype(complex))  # mixed types would be converted piece by piece
    return np.asarray(np.einsum("rm,cm->rc", left, lines))


def _corners(length: int, side: int) -> list[int]:
    """Return where windows begin that overlap by about a half."""
    count = max(1, round(2 * (length - side) / side) + 1)
    return [round(at) for at in np.linspace(0, length - side, count)]


def _frequencies(side: int) -> tuple[Array, Array]:
    return np.asarray(scipy.fft.fftfreq(side)[:, None]), np.asarray(scipy.fft.rfftfreq(side)[None, :])


def _transfer(rows: Array, columns: Array, taps: Array, stretch: float, turn: float) -> NDArray[np.complex128]:
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    down, along = stretch * (c * rows - s * columns), stretch * (s * rows + c * columns)
    m, n = (np.arange(length) - length // 2 for length in taps.shape)
    if turn == 0:  # each depends on one axis only
        left, right = np.exp(-2j * np.pi * down[:, :1] * m), np.exp(-2j * np.pi * along[:1].T * n)
        return between(left, taps, right)
    across = np.exp(-2j * np.pi * along[..., None] * n)
    total = np.zeros(down.shape, complex)
    for offset, line in zip(m, taps, strict=True):
        total += np.exp(-2j * np.pi * down * offset) * np.einsum("rcn,n->rc", across, line.astype(complex))
    return total


def _gram(rows: Array) -> Array:
    """Return the inner products of all pairs of rows."""
    gram = np.empty((len(rows), len(rows)))
    for k, row in enumerate(rows):
        gram[k, : k + 1] = gram[: k + 1, k] = np.einsum("kf,f->k", rows[: k + 1], row)
    return gram


def _smoothed(power: Array) -> Array:
    """Return a spectrum smoothed as by a Hann window; frequencies are periodic along rows."""
    down = (np.roll(power, 1, axis=0) + 4 * power + np.roll(power, -1, axis=0)) / 6
    along = down.copy()
    along[:, 1:-1] = (down[:, :-2] + 4 * down[:, 1:-1] + down[:, 2:]) / 6
    return along
