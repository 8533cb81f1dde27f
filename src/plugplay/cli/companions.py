"""Masks and references: images that belong to another image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.io import ImageFile

__all__ = ["check_pages", "cropped", "mask_pages", "observed_where_white"]

# A mask is observed where it is as white as its brightest pixel, less this margin for what compression does to white.
WHITE = 0.9
# A mask with fewer observed pixels than this share is questioned, ...
MIN_OBSERVED = 0.1
# ... and one with more pixels than this share that are neither black nor white.
MAX_GRAY = 0.3


def mask_pages(mask: ImageFile, path: Path) -> tuple[NDArray[np.bool_], list[str]]:
    """Return masks, ``(N, H, W)``, from images of them, and what is questionable about them."""
    from plugplay.io import printable

    observed, gray = observed_where_white(mask.pages, colour=mask.colour)
    doubts = []
    share = float(observed.mean())
    if share < MIN_OBSERVED:
        doubts.append(
            f"{printable(path)}: {100 * (1 - share):.0f} % of the pixels are missing by this mask; white means "
            "observed (is it inverted?)"
        )
    if gray > MAX_GRAY:
        doubts.append(
            f"{printable(path)} does not look like a mask: {100 * gray:.0f} % of its pixels are neither black nor "
            "white; all that is not white counts as missing"
        )
    return observed, doubts


def observed_where_white(pages: NDArray[Any], *, colour: bool) -> tuple[NDArray[np.bool_], float]:
    """Return True where an image of a mask is white, and the share of pixels that are neither white nor black.

    White is the brightest pixel, because masks are saved as 0 and 1 as often as 0 and 255. A soft edge is partly
    missing, so that everything but white counts as missing.

    Examples
    --------
    >>> observed_where_white(np.array([[[0, 128, 251, 255]]], np.uint8), colour=False)
    (array([[[False, False,  True,  True]]]), 0.25)
    """
    gray = pages.mean(axis=-1, dtype=np.float32) if colour else pages
    brightest = float(gray.max())
    if not brightest > 0:
        raise ValueError("the mask is black everywhere: white means observed")
    observed: NDArray[np.bool_] = gray >= WHITE * brightest
    between = ~observed & (gray > (1 - WHITE) * brightest)
    return observed, float(between.mean())


def cropped(image: ImageFile, box: tuple[int, int, int, int], *, factor: int = 1) -> ImageFile:
    """Return a part of an image; a reference is larger than what it belongs to by `factor`.

    Coordinates in FITS headers and the other parts of such files belong to the whole image and are left out.
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
