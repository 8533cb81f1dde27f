"""Images of masks: white where a pixel was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["observed_where_white"]

# A mask is observed where it is as white as its brightest pixel, less this margin for what compression does to white.
WHITE = 0.9


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
