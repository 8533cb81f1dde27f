"""Masks and references: images that belong to another image, with the meaning that the command line gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_pages", "observed_where_white"]

# A mask is observed where it is as white as its brightest pixel, less this margin for what compression does to white.
WHITE = 0.9


def observed_where_white(pages: NDArray[Any], *, colour: bool) -> NDArray[np.bool_]:
    """Return masks, ``(N, H, W)``, from images of them: True where they are white.

    White is the brightest pixel, because masks are saved as 0 and 1 as often as 0 and 255.

    Examples
    --------
    >>> observed_where_white(np.array([[[0, 128, 251, 255]]], np.uint8), colour=False).tolist()
    [[[False, False, True, True]]]
    """
    gray = pages.mean(axis=-1, dtype=np.float32) if colour else pages
    brightest = float(gray.max())
    if not brightest > 0:
        raise ValueError("the mask is black everywhere: white means observed")
    observed: NDArray[np.bool_] = gray >= WHITE * brightest
    return observed


def check_pages(what: str, found: int, pages: int) -> None:
    """Accept one companion for all pages, or one for each."""
    if found not in (1, pages):
        raise ValueError(f"the {what} has {found} pages, but the image has {pages}: one is needed, or one for each")
