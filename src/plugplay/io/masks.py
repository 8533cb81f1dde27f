"""Images of masks: white where a pixel was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import binary_propagation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.io.record import ImageFile

__all__ = ["mask_from", "observed_where_white"]

# A pixel is white if it is as bright as the brightest one but for rounding. What compression does to white is more:
# such masks are white down to the second figure, or to the third beside what is darker than the second.
WHITE, COMPRESSED_WHITE, COMPRESSED_RIM = 0.995, 0.9, 0.97
# What is darker is black; a mask with more pixels than this share that are neither black nor white is questioned.
BLACK, MAX_GRAY = 0.1, 0.3


def mask_from(image: ImageFile, name: str) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Return the masks, ``(N, H, W)``, that an image file shows, and what is questionable about them.

    What is transparent is missing, too.

    Parameters
    ----------
    image : ImageFile
        White where a pixel was observed.
    name : str
        What to call the file.

    Examples
    --------
    >>> from plugplay.io import ImageFile
    >>> mask_from(ImageFile.of(np.array([[0, 128, 255, 255]], np.uint8)), "mask.png")
    (array([[[False, False,  True,  True]]]), ())
    """
    pages = image.pages
    if image.alpha is not None:
        opaque = image.alpha.reshape(pages.shape[:3]) / np.float32(max(image.alpha.max(), 1))
        pages = pages * (opaque[..., None] if image.colour else opaque)
    observed, gray = observed_where_white(pages, colour=image.colour, lossy=image.metadata.is_lossy)
    if gray <= MAX_GRAY:
        return observed, ()
    return observed, (
        f"{name} does not look like a mask: {100 * gray:.0f} % of its pixels are neither black nor white; "
        "all that is not white counts as missing",
    )


def observed_where_white(pages: NDArray[Any], *, colour: bool, lossy: bool = False) -> tuple[NDArray[np.bool_], float]:
    """Return True where an image of a mask is white, and the share of pixels that are far from white and black.

    White is the brightest pixel, because masks are saved as 0 and 1 as often as 0 and 255. A soft edge is partly
    missing, so that everything but white counts as missing. If the mask went through a lossy compression, white is
    what is nearly white and does not touch a hole.

    Parameters
    ----------
    pages : array
        ``(N, H, W)`` or, in colour, ``(N, H, W, C)``.
    colour : bool
        Whether the last axis holds channels.
    lossy : bool
        Whether white may have changed a little, as it does in JPEG files.

    Examples
    --------
    >>> row = np.array([[[0, 128, 251, 255, 251, 255]]], np.uint8)
    >>> observed_where_white(row, colour=False)[0].astype(int)
    array([[[0, 0, 0, 1, 0, 1]]])
    >>> observed_where_white(row, colour=False, lossy=True)[0].astype(int)
    array([[[0, 0, 1, 1, 1, 1]]])
    """
    gray = pages.mean(axis=-1, dtype=np.float32) if colour else pages
    brightest = float(gray.max())
    if not brightest > 0:
        raise ValueError("the mask is black everywhere: white means observed")
    observed: NDArray[np.bool_] = gray >= WHITE * brightest
    if lossy:
        holes, rims = gray < COMPRESSED_WHITE * brightest, gray < COMPRESSED_RIM * brightest
        observed = np.stack([~binary_propagation(hole, mask=rim) for hole, rim in zip(holes, rims, strict=True)])
    between = (gray < COMPRESSED_WHITE * brightest) & (gray > BLACK * brightest)
    return observed, float(between.mean())
