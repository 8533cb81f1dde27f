"""Inpainting (the paper's interpolation example): some pixels were never observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import distance_transform_edt

from plugplay._checks import BoolArray, FloatArray, check_finite, check_mask, float_image, frozen
from plugplay.models.base import LeastSquares, LinearGaussianModel, check_step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Inpainting", "InpaintingTerm", "fill_from_nearest", "mask_for", "observed_values"]


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


def mask_for(image: FloatArray, mask: BoolArray) -> BoolArray:
    """Return the mask in the shape of `image`; a gray mask serves all channels of a colour image."""
    if mask.shape == image.shape:
        return mask
    if mask.ndim == 2 and mask.shape == image.shape[:2]:
        return np.broadcast_to(mask[..., None], image.shape)
    raise ValueError(
        f"the mask has the shape {mask.shape}, but the image has {image.shape}; a mask has the image's shape, "
        "or its first two axes"
    )


def observed_values(y: FloatArray, mask: BoolArray) -> FloatArray:
    """Return y with zeros where the mask is False, whatever stood there; what was observed must be finite."""
    observed = np.where(mask_for(y, mask), y, y.dtype.type(0))
    check_finite(observed, "y (where the mask is True)")
    return observed


def fill_from_nearest(image: FloatArray, mask: BoolArray) -> FloatArray:
    """Return `image` with every pixel where `mask` is False replaced by the nearest one where it is True."""
    if image.ndim == 3:
        channels = [fill_from_nearest(image[..., c], mask[..., c]) for c in range(image.shape[2])]
        return np.stack(channels, axis=-1)
    if mask.all():
        return image.copy()
    if not mask.any():  # one channel without a single observation
        return np.full_like(image, 0.5)
    nearest = distance_transform_edt(~mask, return_distances=False, return_indices=True)
    filled: FloatArray = image[tuple(nearest)]
    return filled
