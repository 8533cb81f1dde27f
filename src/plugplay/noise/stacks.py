"""Images and volumes of any shape as one stack of images."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from plugplay.arrays.checks import BoolArray, FloatArray, check_finite, check_integer, float_image, numeric_array
from plugplay.arrays.masks import mask_for

__all__ = ["stacked"]


def stacked(y: ArrayLike, mask: BoolArray | None, spatial_ndim: int = 2) -> tuple[FloatArray, BoolArray | None]:
    """Return images or volumes as ``(K, H, W, C)``, and where they were observed, None if everywhere."""
    if check_integer(spatial_ndim, "spatial_ndim", minimum=2) == 2:
        image = float_image(y, "y", finite=mask is None)
    else:
        image = numeric_array(y, "y")
        if image.ndim not in (3, 4) or spatial_ndim != 3 or image.dtype.kind != "f":
            raise ValueError(
                f"spatial_ndim={spatial_ndim} needs floats of the shape (D, H, W) or (D, H, W, C); got {image.dtype} "
                f"of the shape {image.shape}"
            )
        if mask is None:
            check_finite(image, "y")
    observed = None
    if mask is not None and not mask.all():
        same = mask if mask.ndim == image.ndim or spatial_ndim == 2 else np.broadcast_to(mask[..., None], image.shape)
        observed = mask_for(image, same)
        image = np.where(observed, image, image.dtype.type(0))
    if image.ndim == spatial_ndim:
        image, observed = image[..., None], None if observed is None else observed[..., None]
    if spatial_ndim == 2:
        image, observed = image[None], None if observed is None else observed[None]
    varies = np.array([_varies(image[..., c]) for c in range(image.shape[-1])])
    if varies.any() and not varies.all():  # an opaque alpha channel has no noise
        image, observed = image[..., varies], None if observed is None else observed[..., varies]
    return image, observed


def _varies(channel: FloatArray) -> bool:
    thinned = channel[:, ::16, ::16]
    return bool(np.ptp(thinned) > 0 or np.ptp(channel) > 0)
