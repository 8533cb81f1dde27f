r"""Noise that was clipped at black and white, and the values behind its means.

Where noise n of standard deviation s takes a value x below black, a file holds black. So what it holds has another
mean: with black at 0, white at 1 and :math:`F(t) = t\,\Phi(t) + \varphi(t)`,

.. math:: m(x) = E[\min(\max(x + n, 0), 1)] = s\, F(x / s) - s\, F((x - 1) / s).

Black becomes 0.4 s, white 1 - 0.4 s: a denoiser, which returns such means, leaves a photograph washed out. As m grows
with x, it can be inverted.

Whether noise was clipped shows near an end. Where the mean of x + n says that the true value is t standard deviations
from it, a share :math:`\Phi(\tfrac14 - t)` of all pixels is at the end or within s / 4 of it, and the variance is
:math:`s^2 [(t^2 + 1) \Phi(t) + t \varphi(t) - F(t)^2]`. Where there is less noise in dark places than elsewhere, both
are far less, and the means are right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

__all__ = ["ClippedNoise", "EndEvidence", "end_evidence"]

_POINTS = 2001
# In standard deviations: what counts as being at an end, and where true values tell most about it, from below black,
# where all is black, to where hardly anything is.
_AT_END, _NEAREST, _FARTHEST = 0.25, -0.7, 1.5


@dataclass(frozen=True)
class ClippedNoise:
    """Gaussian noise that was clipped at 0, at 1, or at both.

    Attributes
    ----------
    low, high : float
        The standard deviation of what was clipped at black and at white; 0 where nothing was.

    Examples
    --------
    >>> clipped = ClippedNoise(0.1, 0.1)
    >>> clipped.mean(np.array([0.0, 0.5, 1.0])).round(4).tolist()
    [0.0399, 0.5, 0.9601]
    >>> clipped.behind(np.array([0.0399, 0.5, 0.99])).round(3).tolist()
    [0.0, 0.5, 1.0]
    """

    low: float
    high: float

    def __bool__(self) -> bool:
        """Tell whether anything was clipped."""
        return max(self.low, self.high) > 0

    def mean(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return m(x)."""
        moved = np.array(x, np.float64)
        if self.low > 0:
            moved += self.low * _mean(x / self.low) - x
        if self.high > 0:
            moved -= self.high * _mean((x - 1) / self.high)
        return moved

    def behind(self, means: FloatArray) -> FloatArray:
        """Return the x that have these means, or come closest to them: none is beyond an end where clipping was."""
        x = np.linspace(0.0 if self.low else -1.0, 1.0 if self.high else 2.0, _POINTS)
        found: FloatArray = np.interp(means, self.mean(x), x).astype(means.dtype)
        return found


@dataclass(frozen=True)
class EndEvidence:
    """What an end of the range shows of noise that was clipped there.

    Attributes
    ----------
    share : float
        Of all pixels, those whose means tell.
    at_end : float
        Which part of those that clipping brings to the end is there.
    variance : float
        The variance as a part of what clipping leaves.
    """

    share: float
    at_end: float
    variance: float


def end_evidence(y: FloatArray, means: FloatArray, sigma: float, *, white: bool = False) -> EndEvidence:
    """Return what black shows, or white.

    Parameters
    ----------
    y : array
        The image, from 0 to 1.
    means : array
        Its means, as a denoiser returns them.
    sigma : float
        The standard deviation of the noise before it was clipped.
    white : bool
        Whether to look at white.

    Examples
    --------
    >>> dark = np.random.default_rng(0).normal(0.05, 0.1, (64, 64))
    >>> found = end_evidence(np.clip(dark, 0, 1), np.full(dark.shape, float(np.clip(dark, 0, 1).mean())), 0.1)
    >>> found.share, abs(found.at_end - 1) < 0.1, abs(found.variance - 1) < 0.1
    (1.0, True, True)
    """
    if white:
        y, means = 1 - y, 1 - means
    nearest, farthest = sigma * _mean(np.array([_NEAREST, _FARTHEST]))
    near = (means >= nearest) & (means <= farthest)
    if not near.any():
        return EndEvidence(0.0, 0.0, 0.0)
    values, expected = y[near].astype(np.float64), means[near].astype(np.float64)
    table = np.linspace(_NEAREST - 1, _FARTHEST + 1, _POINTS)
    t = np.interp(expected / sigma, _mean(table), table)
    below, density = ndtr(t), np.exp(-np.square(t) / 2) / math.sqrt(2 * math.pi)
    variance = (np.square(t) + 1) * below + t * density - np.square(_mean(t))
    return EndEvidence(
        share=float(near.mean()),
        at_end=float(np.mean(values <= _AT_END * sigma) / ndtr(_AT_END - t).mean()),
        variance=float(np.mean(np.square(values - expected)) / (sigma**2 * variance.mean())),
    )


def _mean(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return F(t), the mean of a standard Gaussian at t that was clipped at zero."""
    mean: NDArray[np.float64] = t * ndtr(t) + np.exp(-np.square(t) / 2) / math.sqrt(2 * math.pi)
    return mean
