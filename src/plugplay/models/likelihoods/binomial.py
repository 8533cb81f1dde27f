r"""The transform of binomial counts to a constant variance, and its exact inverse.

Of the n jots of a pixel, S fire, and S is binomial: n trials of chance p. The transform

.. math:: T(S) = \sqrt{n + \tfrac12}\, \arcsin\sqrt{\frac{S + 3/8}{n + 3/4}}

has a variance of about 1/4 whatever p, so that a denoiser of Gaussian noise can remove it. What the denoiser returns
estimates :math:`E[T(S) \mid p]`; the exact inverse finds the p that has this mean. The algebraic inverse of T, in
contrast, is biased where jots are few.

References
----------
S. H. Chan, O. A. Elgendy, X. Wang, "Images from bits: non-iterative image reconstruction for quanta image sensors",
Sensors 16 (2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import FloatArray, check_integer, frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BinomialStabiliser"]

# Points of the table. The mean of T is nearly a straight line in arcsin sqrt(p), along which they are spaced.
_LEVELS = 513
# The standard deviations of S, which are at most sqrt(n)/2, that the table sums over on each side of the mean; the
# tail of rare events is longer than a Gaussian's, hence some counts more.
_REACH, _REACH_MORE = 10.0, 30


@dataclass(frozen=True, eq=False)
class BinomialStabiliser:
    """The transform of counts out of `trials`, moved to [0, 1], and its exact inverse.

    Attributes
    ----------
    trials : int
        n.
    angles, expected : arrays
        The table: ``arcsin sqrt(p)`` from p = 0 to p = 1, and the mean of the transformed counts there.

    Examples
    --------
    >>> stabiliser = BinomialStabiliser.build(16)
    >>> stabiliser.forward(np.array([0.0, 8.0, 16.0]))
    array([0. , 0.5, 1. ])
    >>> stabiliser.inverse(np.array([0.0, 0.5, 1.0]))
    array([0. , 0.5, 1. ])
    """

    trials: int
    angles: NDArray[np.float64]
    expected: NDArray[np.float64]

    @classmethod
    def build(cls, trials: int) -> BinomialStabiliser:
        """Tabulate the mean of the transform of a binomial variable."""
        from scipy.stats import binom  # slow to import, and few runs need it

        trials = check_integer(trials, "trials", minimum=1)
        angles = np.linspace(0, math.pi / 2, _LEVELS)
        chances = np.sin(angles) ** 2
        chances[-1] = 1.0
        reach = min(trials, math.ceil(_REACH * math.sqrt(trials) / 2) + _REACH_MORE)
        counts = np.rint(trials * chances)[:, None] + np.arange(-reach, reach + 1)
        weights = binom.pmf(counts, trials, chances[:, None])  # zero beyond 0 and n
        bare = cls(trials, angles, angles)
        means = np.sum(weights * bare.forward(np.clip(counts, 0, trials)), axis=1) / np.sum(weights, axis=1)
        return cls(trials, frozen(angles), frozen(means))

    @property
    def noise(self) -> float:
        """Standard deviation of the noise after the transform: a half, on the scale on which T spans [0, 1]."""
        ends = _arcsine(np.array([0.0, self.trials]), self.trials)
        return 0.5 / float(ends[1] - ends[0])

    def forward(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return T(S), moved to [0, 1]."""
        low, high = _arcsine(np.array([0.0, self.trials]), self.trials)
        moved: NDArray[np.float64] = (_arcsine(counts, self.trials) - low) / (high - low)
        return moved

    def expect(self, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the transformed counts at the chance p; the inverse of `inverse`."""
        mean: NDArray[np.float64] = np.interp(np.arcsin(np.sqrt(np.clip(chance, 0, 1))), self.angles, self.expected)
        return mean

    def inverse(self, image: FloatArray) -> NDArray[np.float64]:
        """Return the p at which the transformed counts have this mean: 0 or 1 for what lies beyond."""
        chance: NDArray[np.float64] = np.sin(np.interp(image, self.expected, self.angles)) ** 2
        return chance


def _arcsine(counts: NDArray[np.float64], trials: int) -> NDArray[np.float64]:
    angle: NDArray[np.float64] = np.arcsin(np.sqrt((counts + 3 / 8) / (trials + 3 / 4)))
    return math.sqrt(trials + 1 / 2) * angle
