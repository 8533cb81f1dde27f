"""Inpainting (the paper's interpolation example): some pixels were never observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray, check_mask, float_image, frozen
from plugplay.arrays.masks import fill_from_nearest, mask_for, observed_values
from plugplay.models.base import LeastSquares, LinearGaussianModel, check_step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Inpainting", "InpaintingTerm"]


@dataclass(frozen=True, eq=False, init=False)
class Inpainting(LinearGaussianModel):
    """Some pixels of the image, with noise; G is the diagonal matrix S of the mask.

    Parameters
    ----------
    mask : array of bool, ``(H, W)`` or ``(H, W, C)``
        True where a pixel was observed.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> mask = np.array([[True, False], [True, True]])
    >>> y = np.array([[0.1, np.nan], [0.3, 0.4]])
    >>> pp.models.Inpainting(mask).data_term(y).start()
    array([[0.1, 0.1],
           [0.3, 0.4]])
    """

    mask: BoolArray

    def __init__(self, mask: ArrayLike) -> None:
        object.__setattr__(self, "mask", frozen(check_mask(mask)))

    def forward(self, x: ArrayLike) -> FloatArray:
        """Return x with zeros where it is not observed."""
        image = float_image(x, "x")
        return np.where(mask_for(image, self.mask), image, image.dtype.type(0))

    def adjoint(self, y: ArrayLike) -> FloatArray:
        """Return y with zeros where it is not observed."""
        return observed_values(float_image(y, "y", finite=False), self.mask)

    def data_term(self, y: ArrayLike) -> InpaintingTerm:
        """Return ``f(x) = ½ ||S (x - y)||²``; values of y where the mask is False are ignored."""
        observed = observed_values(float_image(y, "y", finite=False), self.mask)
        return InpaintingTerm(frozen(observed), frozen(mask_for(observed, self.mask)))

    def _observed(self, noise: FloatArray) -> FloatArray:
        return np.where(mask_for(noise, self.mask), noise, noise.dtype.type(0))


@dataclass(frozen=True, eq=False)
class InpaintingTerm(LeastSquares):
    """``f(x) = ½ ||S (x - y)||²``, with S the mask."""

    y: FloatArray
    mask: BoolArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""
        return self.y.shape

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return ``(S y + rho v) ./ (s + rho)`` with s the diagonal of S: v where nothing was observed."""
        check_step(v, rho, self.shape)
        return np.where(self.mask, v + (self.y - v) / (1 + rho), v)

    def start(self) -> FloatArray:
        """Return y, with the nearest observed pixel where there is none."""
        return fill_from_nearest(self.y, self.mask)

    def _residual(self, x: FloatArray) -> FloatArray:
        return np.where(self.mask, x - self.y, x.dtype.type(0))

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return residual
