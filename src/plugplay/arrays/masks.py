"""Masks: True where a pixel was observed."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt, maximum_filter

from plugplay.arrays.checks import BoolArray, FloatArray, check_finite

__all__ = ["fill_from_nearest", "hardly_observed", "mask_for", "nothing_missing", "observed_values", "share_inside"]

# A mask with fewer observed pixels than this share is questioned.
MIN_OBSERVED = 0.1


def hardly_observed(mask: BoolArray) -> tuple[str, ...]:
    """Return a sentence about a mask by which nearly everything is missing, else nothing.

    Examples
    --------
    >>> hardly_observed(np.eye(20) > 0)
    ('95 % of the pixels are missing according to the mask; True, or white, means observed: is it inverted?',)
    """
    share = float(mask.mean())
    if share >= MIN_OBSERVED:
        return ()
    # Never 100: something was observed.
    missing = min(round(100 * (1 - share)), 99)
    return (
        f"{missing} % of the pixels are missing according to the mask; True, or white, means observed: is it inverted?",
    )


def nothing_missing(mask: BoolArray) -> tuple[str, ...]:
    """Return a sentence about a mask by which nothing is missing, else nothing.

    Examples
    --------
    >>> nothing_missing(np.array([True, True]))
    ('the mask marks nothing as missing, so nothing was filled in; False, or black, means missing',)
    """
    if not mask.all():
        return ()
    return ("the mask marks nothing as missing, so nothing was filled in; False, or black, means missing",)


def share_inside(mask: BoolArray, spatial_ndim: int, reach: int) -> float:
    """Return the share of missing pixels with nothing observed within `reach` pixels along each axis.

    Examples
    --------
    >>> mask = np.ones((32, 32), bool)
    >>> mask[10:20, 10:20] = False
    >>> share_inside(mask, 2, 4)
    0.04
    """
    seen = mask if mask.ndim == spatial_ndim else mask.any(axis=-1)
    missing = int(np.count_nonzero(~seen))
    inside = int(np.count_nonzero(~maximum_filter(seen, 2 * reach + 1)))
    return inside / missing if missing else 0.0


def mask_for(image: FloatArray, mask: BoolArray) -> BoolArray:
    """Return the mask in the shape of `image`; a mask without channels serves all channels of a colour image."""
    if mask.shape == image.shape:
        return mask
    if mask.shape == image.shape[:-1]:
        return np.broadcast_to(mask[..., None], image.shape)
    raise ValueError(
        f"the mask has the shape {mask.shape}, but the image has {image.shape}; a mask has the image's shape, "
        "or its spatial axes"
    )


def observed_values(y: FloatArray, mask: BoolArray) -> FloatArray:
    """Return y with zeros where the mask is False, whatever stood there; what was observed must be finite."""
    observed = np.where(mask_for(y, mask), y, y.dtype.type(0))
    check_finite(observed, "y (where the mask is True)")
    return observed


def fill_from_nearest(image: FloatArray, mask: BoolArray, *, spatial_ndim: int = 2) -> FloatArray:
    """Return `image` with every pixel where `mask` is False replaced by the nearest one where it is True."""
    if image.ndim > spatial_ndim:
        channels = [
            fill_from_nearest(image[..., c], mask[..., c], spatial_ndim=spatial_ndim) for c in range(image.shape[-1])
        ]
        return np.stack(channels, axis=-1)
    if mask.all():
        return image.copy()
    if not mask.any():  # one channel without a single observation
        return np.full_like(image, 0.5)
    nearest = distance_transform_edt(~mask, return_distances=False, return_indices=True)
    filled: FloatArray = image[tuple(nearest)]
    return filled
