"""Denoising: y = x + noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay.arrays.checks import FloatArray, float_image, frozen
from plugplay.models.base import LeastSquares, LinearGaussianModel, check_step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Denoising", "DenoisingTerm"]


@dataclass(frozen=True)
class Denoising(LinearGaussianModel):
    """The image itself, with noise.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> camera = pp.models.Denoising()
    >>> y = camera.simulate(np.full((4, 4), 0.5), noise=0.1, rng=0)
    >>> camera.data_term(y).start().shape
    (4, 4)
    """

    def forward(self, x: ArrayLike) -> FloatArray:
        """Return x."""
        return float_image(x, "x").copy()

    def adjoint(self, y: ArrayLike) -> FloatArray:
        """Return y."""
        return float_image(y, "y").copy()

    def data_term(self, y: ArrayLike) -> DenoisingTerm:
        """Return ``f(x) = ½ ||x - y||²``."""
        return DenoisingTerm(frozen(float_image(y, "y")))


@dataclass(frozen=True, eq=False)
class DenoisingTerm(LeastSquares):
    """``f(x) = ½ ||x - y||²``."""

    y: FloatArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""
        return self.y.shape

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return ``(y + rho v) / (1 + rho)``."""
        check_step(v, rho, self.shape)
        # Written from v, so that nothing is lost where rho is large.
        return v + (self.y - v) / (1 + rho)

    def start(self) -> FloatArray:
        """Return y."""
        return self.y.copy()

    def _residual(self, x: FloatArray) -> FloatArray:
        return x - self.y

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return residual
