"""Masks and references: images that belong to another image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.io import ImageFile

__all__ = ["mask_of", "mask_pages", "reference_pages", "usable"]


def mask_of(pages: NDArray[Any], *, colour: bool) -> NDArray[np.bool_]:
    """Return masks, ``(N, H, W)``, from images of them: True where brighter than half of the brightest pixel.

    Half of the brightest, because masks are saved as 0 and 1 as often as 0 and 255, and JPEG blurs their edges.
    """
    gray = pages.mean(axis=-1) if colour else pages
    brightest = gray.max()
    if not brightest > 0:
        raise ValueError("the mask is black everywhere: white means observed")
    observed: NDArray[np.bool_] = gray > brightest / 2
    return observed


def mask_pages(mask: ImageFile, image: ImageFile) -> NDArray[np.bool_]:
    """Return the masks of the pages of an image: one for all, or one for each."""
    masks = mask_of(mask.pages, colour=mask.colour)
    if masks.shape[0] not in (1, image.pages.shape[0]) or masks.shape[1:] != image.pages.shape[1:3]:
        raise ValueError(f"the mask has the shape {masks.shape[1:]}, but the image has {image.pages.shape[1:3]}")
    return masks


def usable(pixels: NDArray[Any], mask: NDArray[np.bool_] | None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return pixels without NaN, and a mask in which those that were NaN are missing; None if none is."""
    finite = np.isfinite(pixels)
    if finite.all():
        return pixels, mask
    from plugplay.arrays.masks import fill_from_nearest

    observed = finite if mask is None else finite & (mask if pixels.ndim == 2 else mask[..., None])
    return fill_from_nearest(np.where(finite, pixels, 0), finite), observed


def reference_pages(reference: ImageFile | None, image: ImageFile) -> list[NDArray[Any]] | None:
    """Return the references of the pages of an image, in the units in which results come back."""
    if reference is None:
        return None
    if reference.pages.shape[0] not in (1, image.pages.shape[0]) or reference.colour != image.colour:
        raise ValueError(
            f"the reference has the shape {reference.pixels.shape}, which does not go with {image.pixels.shape}"
        )
    # Fluxes and counts of the same type are on the same scale; other types have their own black and white.
    same = reference.pixels.dtype == image.pixels.dtype
    unit = reference.unit_pages(image.data_range if same else None)
    if image.pixels.dtype.kind != "f":
        return list(unit)
    low, high = image.data_range
    return list(unit * (high - low) + low)
