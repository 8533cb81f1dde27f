"""Whether the values of a file are decoded to light before they are restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from plugplay.arrays.scale import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.io.record import ImageFile

__all__ = ["LINEAR", "light_transfer", "undone_transfer"]

LINEAR = ("auto", "on", "off")


def light_transfer(
    image: ImageFile, linear: Literal["auto", "on", "off"], *, optical: bool
) -> tuple[str, tuple[str, ...]]:
    """Return the transfer curve that is undone before a restoration, and warnings.

    Parameters
    ----------
    image : ImageFile
        The file.
    linear : {"auto", "on", "off"}
        ``"on"`` undoes the file's curve, ``"off"`` keeps the stored values, and ``"auto"`` undoes it for degradations
        of light.
    optical : bool
        Whether the degradation acted on light: a blur does, while noise is more uniform in the stored values, and image
        libraries shrink those.

    Returns
    -------
    transfer : str
        The curve, ``"linear"`` if nothing is to be done.
    notes : tuple of str
        Sentences.

    Examples
    --------
    >>> import numpy as np
    >>> from plugplay.io import ImageFile
    >>> photograph = ImageFile.of(np.array([[0, 255]], np.uint8))
    >>> light_transfer(photograph, "auto", optical=True), light_transfer(photograph, "auto", optical=False)
    (('srgb', ()), ('linear', ()))
    """
    return undone_transfer(image.transfer, image.pages[0], image.data_range, linear, optical=optical)


def undone_transfer(
    curve: str,
    sample: NDArray[Any],
    data_range: tuple[float, float] | None,
    linear: Literal["auto", "on", "off"],
    *,
    optical: bool,
) -> tuple[str, tuple[str, ...]]:
    """Do the same as `light_transfer`, given a file's curve and sample pixels."""
    if linear == "off" or curve == "linear" or (linear == "auto" and not optical):
        return "linear", ()
    if linear == "auto" and not Scale.of(sample, data_range).is_nominal:
        return "linear", ()  # counts in a corner of the range were not encoded for the eye
    if curve == "unknown":
        if linear == "on":
            return "srgb", ("its transfer curve is unknown to plugplay; sRGB was assumed",)
        return "linear", ("its transfer curve is unknown to plugplay, so its values were treated as linear light",)
    return curve, ()
