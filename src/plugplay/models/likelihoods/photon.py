"""Photon counts: the data term of binary jots, pixel by pixel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from plugplay.arrays.checks import FloatArray, check_same_shape
from plugplay.arrays.masks import fill_from_nearest
from plugplay.arrays.records import Fingerprinted
from plugplay.models.base import check_step
from plugplay.models.likelihoods import photon_law

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PhotonTerm"]


@dataclass(frozen=True, eq=False)
class PhotonTerm(Fingerprinted):
    r"""``f(x) = Σ -K1 log P(a x + d) - K0 log Q(a x + d)``, subject to ``x >= 0``.

    K1 and K0 are the jots of a pixel that fired and that did not. The rest happens pixel by pixel in double
    precision, whatever the precision of x.
    """

    ones: NDArray[np.float64]
    zeros: NDArray[np.float64]
    photons_per_jot: float
    dark: float
    threshold: int

    #: x is constrained from below.
    lower_bound: ClassVar[float] = 0.0
    #: The gradient has no bound near 0.
    lipschitz: ClassVar[float] = math.inf

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""
        return self.ones.shape

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the root of ``a (K0 p/Q - K1 p/P) + rho (x - v)`` for every pixel, or 0 if there is none above."""
        rho = check_step(v, rho, self.shape)
        a = self.photons_per_jot
        rate = photon_law.solve_rate(
            self.ones.ravel(),
            self.zeros.ravel(),
            weight=rho / a**2,
            target=(a * v.astype(np.float64) + self.dark).ravel(),
            floor=self.dark,
            q=self.threshold,
        )
        return ((rate - self.dark) / a).reshape(self.shape).astype(v.dtype)

    def value(self, x: FloatArray) -> float:
        """Return f(x): infinite where x is negative, or where it is 0 and jots fired without dark counts."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        if (x < 0).any():
            return float("inf")
        rate = self._rate(x)
        with np.errstate(invalid="ignore"):  # 0 * inf, where no jot fired
            fired = np.where(self.ones > 0, self.ones * photon_law.minus_log_one(rate, self.threshold), 0.0)
        return float(np.sum(fired + self.zeros * photon_law.minus_log_zero(rate, self.threshold)))

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient for ``x >= 0``; minus infinity at 0 where jots fired without dark counts."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        rate = self._rate(x)
        with np.errstate(invalid="ignore"):
            fired = np.where(self.ones > 0, self.ones * photon_law.slope_one(rate, self.threshold), 0.0)
        slope = self.zeros * photon_law.slope_zero(rate, self.threshold) - fired
        return (self.photons_per_jot * slope).astype(x.dtype)

    def start(self) -> FloatArray:
        """Return the maximum-likelihood estimate, clipped to [0, 1]."""
        trials = self.ones + self.zeros
        rate = photon_law.most_likely_rate(self.ones, trials, self.threshold)
        estimate = np.clip((rate - self.dark) / self.photons_per_jot, 0.0, 1.0)
        return fill_from_nearest(estimate, trials > 0).astype(np.float32)

    def crop(self, x: FloatArray) -> FloatArray:
        """Return x: everything was observed."""
        return x

    def enter(self, image: FloatArray) -> FloatArray:
        """Return the image: everything was observed."""
        return image

    def _rate(self, x: FloatArray) -> NDArray[np.float64]:
        return self.photons_per_jot * np.maximum(x.astype(np.float64), 0.0) + self.dark
