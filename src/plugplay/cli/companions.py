"""Masks and references: images that belong to another image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.io import ImageFile

__all__ = ["check_pages", "cropped", "mask_pages", "unlike_reference"]


def mask_pages(mask: ImageFile, path: Path, photograph: ImageFile | None = None) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the masks, ``(N, H, W)``, of a photograph from mask images, and warnings about them."""
    from plugplay.arrays.masks import hardly_observed
    from plugplay.io import mask_from, printable

    observed, doubts = mask_from(mask, printable(path), photograph=photograph)
    return observed, [*hardly_observed(observed), *doubts]


def cropped(image: ImageFile, box: tuple[int, int, int, int], *, factor: int = 1) -> ImageFile:
    """Return a part of an image; a reference is larger than its observation by `factor`.

    Coordinates in FITS headers and further extensions belong to the whole image and are left out.
    """
    x, y, width, height = (factor * number for number in box)
    rows, columns = image.pages.shape[1:3]
    if x + width > columns or y + height > rows:
        raise ValueError(f"--crop {','.join(map(str, box))} reaches beyond the image, which is {columns} x {rows}")
    axis = image.pixels.ndim - 2 - image.colour
    part = (*[slice(None)] * axis, slice(y, y + height), slice(x, x + width))
    alpha = None if image.alpha is None else image.alpha[part]
    metadata = replace(image.metadata, header=None, parts=())
    return replace(image, pixels=np.ascontiguousarray(image.pixels[part]), alpha=alpha, metadata=metadata)


def check_pages(what: str, found: int, pages: int) -> None:
    """Accept one companion for all pages, or one for each."""
    if found not in (1, pages):
        raise ValueError(f"the {what} has {found} pages, but the image has {pages}: one is needed, or one for each")


def unlike_reference(image: ImageFile, reference: ImageFile, factor: int) -> str:
    """Return why the result cannot be compared with the reference, which must not stop a restoration; else nothing."""
    height, width = (factor * side for side in image.pages.shape[1:3])
    wanted, found = _size((height, width), image), _size(reference.pages.shape[1:3], reference)
    return "" if found == wanted else f"no PSNR: the reference has {found}, but the result has {wanted}"


def _size(shape: tuple[int, ...], image: ImageFile) -> str:
    height, width = shape
    channels = image.pixels.shape[-1] if image.colour else 1
    return f"{width} x {height} pixels in {channels} channel{'s' * (channels > 1)}"
