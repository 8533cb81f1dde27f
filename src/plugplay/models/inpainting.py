"""Inpainting (the paper's interpolation example): some pixels were never observed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray, check_mask, check_spatial_ndim, float_image, frozen
from plugplay.arrays.masks import mask_for, observed_values
from plugplay.models.base import LinearGaussianModel, observation
from plugplay.models.likelihoods.gaussian import PointwiseTerm
from plugplay.traits import Traits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Inpainting"]


@dataclass(frozen=True, eq=False, init=False)
class Inpainting(LinearGaussianModel):
    """Some pixels of the image, with noise; G is the diagonal matrix S of the mask.

    Parameters
    ----------
    mask : array of bool, ``(H, W)`` or ``(H, W, C)``
        True where a pixel was observed.
    spatial_ndim : {2, 3}
        Whether it is an image or a volume, whose mask is ``(D, H, W)`` or ``(D, H, W, C)``.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> mask = np.array([[True, False], [True, True]])
    >>> y = np.array([[0.1, np.nan], [0.3, 0.4]])
    >>> pp.models.Inpainting(mask).data_term(y).start().round(2)
    array([[0.1 , 0.23],
           [0.3 , 0.4 ]])
    """

    mask: BoolArray
    _: KW_ONLY
    spatial_ndim: int

    def __init__(self, mask: ArrayLike, *, spatial_ndim: int = 2) -> None:
        object.__setattr__(self, "spatial_ndim", check_spatial_ndim(spatial_ndim))
        object.__setattr__(self, "mask", frozen(check_mask(mask, spatial_ndim=spatial_ndim)))

    def traits(self, y: FloatArray) -> Traits:
        """Return what this model says about itself."""
        return Traits(
            spatial_ndim=self.spatial_ndim,
            unknowns_per_sample=float(1 / self.mask.mean()),
            norm=1.0,
            constant_gain=1.0,
            pointwise=True,
            leaves="coloured",
            observed=mask_for(y, self.mask),
            alike=True,
        )

    def forward(self, x: ArrayLike) -> FloatArray:
        """Return x with zeros where it is not observed."""
        return self._observed(float_image(x, "x", spatial_ndim=self.spatial_ndim))

    def adjoint(self, y: ArrayLike) -> FloatArray:
        """Return y with zeros where it is not observed."""
        return observed_values(self._samples(y), self.mask)

    def data_term(self, y: ArrayLike) -> PointwiseTerm:
        """Return ``f(x) = ½ ||S (x - y)||²``; values of y where the mask is False are ignored."""
        observed = observed_values(self._samples(y), self.mask)
        return PointwiseTerm(frozen(observed), frozen(mask_for(observed, self.mask)), self.spatial_ndim)

    def _samples(self, y: ArrayLike) -> FloatArray:
        return observation(y, finite=False, spatial_ndim=self.spatial_ndim)

    def _observed(self, noise: FloatArray) -> FloatArray:
        return np.where(mask_for(noise, self.mask), noise, noise.dtype.type(0))
