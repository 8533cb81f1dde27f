"""Images of masks: white where a pixel was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import binary_propagation

from plugplay.arrays.masks import MIN_OBSERVED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.io.record import ImageFile

__all__ = ["mask_from", "observed_where_white"]

# A pixel is white if it is as bright as the brightest one but for rounding. What compression does to white is more:
# such masks are white down to the second figure, or to the third beside what is darker than the second.
WHITE, COMPRESSED_WHITE, COMPRESSED_RIM = 0.995, 0.9, 0.97
# What is darker is black; a mask with more pixels than this share that are neither black nor white is questioned.
BLACK, MAX_GRAY = 0.1, 0.3
# What differs by more was painted over, in a copy and in a compressed copy of a photograph; most of it is the same.
SAME, COMPRESSED_SAME, MIN_SAME = 1.5 / 255, 12 / 255, 0.5


def mask_from(
    image: ImageFile, name: str, *, photograph: ImageFile | None = None
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Return the masks, ``(N, H, W)``, of an image file, and warnings about them.

    White pixels were observed; others, and transparent ones, are missing. Two ways of drawing are recognised as well:
    on a transparent layer, pixels drawn in black or in colours, none of them white, are missing; and in a copy of the
    photograph, pixels that were painted over are missing.

    Parameters
    ----------
    image : ImageFile
        The mask.
    name : str
        What to call the file.
    photograph : ImageFile, optional
        The image that the mask is for.

    Raises
    ------
    ValueError
        If nearly everything would be missing, and the file does not look like a mask.

    Examples
    --------
    >>> from plugplay.io import ImageFile
    >>> mask_from(ImageFile.of(np.array([[0, 128, 255, 255]], np.uint8)), "mask.png")
    (array([[[False, False,  True,  True]]]), ())
    """
    drawn = _drawn_layer(image)
    if drawn is None and photograph is not None:
        drawn = _painted_over(image, photograph)
    if drawn is not None:
        return ~drawn, ()
    pages = image.pages
    if image.alpha is not None:
        opaque = image.alpha.reshape(pages.shape[:3]) / np.float32(max(image.alpha.max(), 1))
        pages = pages * (opaque[..., None] if image.colour else opaque)
    observed, gray = observed_where_white(pages, colour=image.colour, lossy=image.metadata.is_lossy)
    if gray <= MAX_GRAY:
        return observed, ()
    shades = f"{100 * gray:.0f} % of its pixels are neither black nor white"
    if float(observed.mean()) < MIN_OBSERVED:
        raise ValueError(
            f"{name} is no mask: {shades}. In a mask, what was observed is white and what is missing is black; or what "
            "is missing is drawn on a transparent layer, or over a copy of the image itself, of the same size"
        )
    return observed, (f"{name} does not look like a mask: {shades}; all that is not white counts as missing",)


def _drawn_layer(image: ImageFile) -> NDArray[np.bool_] | None:
    """Return what was drawn on a transparent layer, ``(N, H, W)``; None if it is no such layer or has white."""
    if image.alpha is None:
        return None
    pages, alpha = image.pages, image.alpha.reshape(image.pages.shape[:3])
    drawn: NDArray[np.bool_] = alpha > 0
    if not drawn.any() or drawn.all():
        return None
    channels = pages if image.colour else pages[..., None]
    inside = channels[alpha == alpha.max()]
    darkest, brightest = inside.min(axis=-1), float(inside.max())
    # Gray, however dark, is how masks of 0 and 1 are white.
    return drawn if brightest == 0 or not (darkest >= COMPRESSED_WHITE * brightest).any() else None


def _painted_over(image: ImageFile, photograph: ImageFile) -> NDArray[np.bool_] | None:
    """Return where an image differs from the photograph, ``(N, H, W)``; None if it is not that photograph.

    It is if most of what is neither black nor white in the photograph is the same in both: in a mask nothing is.
    """
    pages, truth = image.unit_pages(), photograph.unit_pages()
    if pages.shape[1:3] != truth.shape[1:3] or len(truth) % len(pages) or (photograph.colour and not image.colour):
        return None
    pages, truth = (
        channels if file.colour else channels[..., None]
        for file, channels in ((image, pages), (photograph, truth[: len(pages)]))
    )
    if truth.shape[-1] not in (1, pages.shape[-1]):
        return None
    differs = np.abs(pages - truth).max(axis=-1)
    differs = np.where(np.isfinite(differs), differs, 1.0)
    lossy = image.metadata.is_lossy
    shaded = ((truth > BLACK) & (truth < COMPRESSED_WHITE)).any(axis=-1)
    same = differs <= (COMPRESSED_SAME if lossy else SAME)
    if not shaded.any() or float(same[shaded].mean()) < MIN_SAME or same.all():
        return None
    if not lossy:
        return ~same
    painted = differs > 1 - COMPRESSED_WHITE
    return np.stack([binary_propagation(core, mask=rim) for core, rim in zip(painted, ~same, strict=True)])


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
