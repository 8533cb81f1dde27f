r"""How much detail an image has, seen through blur and noise, as a multiple of what natural images have.

Each block b of the observation is taken for natural detail of its own power :math:`a_b`, blurred, with noise: the
values P of its periodogram are exponentially distributed with the mean

.. math:: E_b(f) = a_b M(f) + s^2, \qquad M = |\hat h|^2 S \text{ convolved with the power of the window,}

and :math:`a_b` has the largest likelihood. The blocks are small because images have their detail in few places, and a
denoiser works in small blocks, too. Of a block, the observation decides

.. math:: q_b = \operatorname{mean}_f \frac{a_b M}{a_b M + s^2} \bigg/ \operatorname{mean}_f \frac{M}{M + s^2}

of what it decides of natural images. Blocks with much detail count more, as most of the error is there: q is the mean
of fourth powers. The activity is the a for which a whole image of that power would have this share (see
`plugplay.tuning.transmission`). It is at most 1: more is detail that stands out of any noise.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

from plugplay.tuning.transmission import natural_spectrum, transmission

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

    Array = NDArray[np.float64]

__all__ = ["activity"]

SIDE, STEP = 16, 8
# Along each axis: more do not change the mean.
MAX_BLOCKS = 48
LEAST = 1e-6
POWER = 4
SCORING_STEPS, HALVINGS = 16, 24


def activity(y: FloatArray, spectrum: NDArray[np.complex128], noise: float) -> float:
    """Return the power of an image's detail, as a multiple of what natural images have, at most 1.

    Parameters
    ----------
    y : array
        The observation, 2-D, with or without channels.
    spectrum : array
        Of the blur, in the layout of an FFT.
    noise : float
        Standard deviation of the noise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> spectrum = np.ones((64, 64), complex)
    >>> slope = np.tile(np.linspace(0.3, 0.7, 128), (128, 1))
    >>> noise = 0.02 * rng.standard_normal((128, 128))
    >>> activity(slope + noise, spectrum, 0.02) < 0.01
    True
    >>> activity(np.kron(rng.random((32, 32)), np.ones((4, 4))) + noise, spectrum, 0.02) > 0.3
    True
    """
    if min(y.shape[:2]) < SIDE:
        return 1.0
    line = np.hanning(SIDE + 2)[1:-1]
    window = np.outer(line, line) / float(np.sum(np.square(line)))
    power = _periodograms(y, window)
    natural = _expected(spectrum, window)
    # The mean of a block was taken off.
    power, natural = power.reshape(len(power), -1)[:, 1:], natural.ravel()[1:]
    variance = max(noise, 1e-6) ** 2
    own = _powers(power, natural, variance)[:, None] * natural
    shares = np.mean(own / (own + variance), axis=1) / np.mean(natural / (natural + variance))
    wanted = float(np.mean(shares**POWER)) ** (1 / POWER) * transmission(spectrum, noise)
    low, high = math.log(LEAST), 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = transmission(spectrum, noise, activity=math.exp(middle)) < wanted
        low, high = (middle, high) if below else (low, middle)
    return math.exp(high)


def _periodograms(y: FloatArray, window: Array) -> Array:
    """Return the periodograms of blocks of the channels' sum, whose noise is that of one channel."""
    channels = y.reshape(*y.shape[:2], -1)
    gray = channels.sum(axis=-1, dtype=np.float64) / math.sqrt(channels.shape[-1])
    corners = itertools.product(*(_corners(length) for length in gray.shape))
    blocks = np.stack([gray[top : top + SIDE, left : left + SIDE] for top, left in corners])
    means = np.tensordot(blocks, window, 2) / float(np.sum(window))
    return np.asarray(np.square(np.abs(scipy.fft.fft2((blocks - means[:, None, None]) * window))))


def _corners(length: int) -> list[int]:
    """Return where blocks begin, evenly spread."""
    count = min((length - SIDE) // STEP + 1, MAX_BLOCKS)
    return [int(at) for at in np.linspace(0, length - SIDE, count)]


def _expected(spectrum: NDArray[np.complex128], window: Array) -> Array:
    """Return M, by way of the covariance at the distances that a block holds."""
    covariance = scipy.fft.ifft2(np.square(np.abs(spectrum)) * natural_spectrum(spectrum.shape)).real
    double = (2 * SIDE, 2 * SIDE)
    overlap = scipy.fft.ifft2(np.square(np.abs(scipy.fft.fft2(window, double)))).real
    near = np.r_[0:SIDE, -SIDE:0]
    return np.asarray(scipy.fft.fft2(covariance[np.ix_(near, near)] * overlap).real[::2, ::2])


def _powers(power: Array, natural: Array, variance: float) -> Array:
    """Return the most likely a of each block by Fisher scoring, in steps that are halved so that they settle."""
    found = np.ones(len(power))
    for _ in range(SCORING_STEPS):
        mean = found[:, None] * natural + variance
        weight = natural / np.square(mean)
        best = np.sum(weight * (power - variance), axis=1) / np.sum(weight * natural, axis=1)
        found = np.maximum((found + best) / 2, LEAST)
    return found
