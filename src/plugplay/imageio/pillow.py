"""What Pillow knows about PNG, JPEG and WebP files."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from plugplay.imageio.geometry import check_size
from plugplay.imageio.record import ImageFileError, Metadata, Resolution

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["metadata_of", "opened", "orientation_of", "pixels_of"]

_ORIENTATION, _EXIF_IFD, _WIDTH, _HEIGHT = 0x0112, 0x8769, 0xA002, 0xA003


@contextmanager
def opened(path: Path, format_: str) -> Iterator[Image.Image]:
    """Open a file as one of Pillow's formats; its size is checked before anything is decoded."""
    try:
        with Image.open(path, formats=[format_]) as picture:
            width, height = picture.size
            check_size(width * height * len(picture.getbands()), path.stat().st_size)
            yield picture
    except Image.DecompressionBombError:
        raise ImageFileError(
            "it claims more pixels than are decoded safely; store images of this size as TIFF"
        ) from None


def pixels_of(picture: Image.Image) -> NDArray[Any]:
    """Decode to uint8: gray, gray + alpha, RGB or RGBA."""
    mode = picture.mode
    if mode in ("CMYK", "YCCK", "LAB", "HSV"):
        raise ImageFileError(f"its colours are {mode}; convert it to RGB first, with its colour profile")
    see_through = "transparency" in picture.info
    if mode in ("1", "L"):
        wanted = "LA" if see_through else "L"
    elif mode in ("LA", "RGBA"):
        wanted = mode
    elif mode in ("PA", "La", "RGBa"):
        wanted = "RGBA"
    else:
        wanted = "RGBA" if see_through else "RGB"
    return np.asarray(picture if mode == wanted else picture.convert(wanted))


def orientation_of(picture: Image.Image) -> int:
    """Return the orientation, 1 if there is none or it is nonsense."""
    orientation = picture.getexif().get(_ORIENTATION, 1)
    return orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else 1


def metadata_of(picture: Image.Image, *, chunks: tuple[tuple[bytes, bytes], ...] = ()) -> Metadata:
    """Return colour profile, EXIF and resolution, as they are for the upright image."""
    exif = picture.getexif()
    turned = orientation_of(picture) >= 5
    exif.pop(_ORIENTATION, None)
    details = exif.get_ifd(_EXIF_IFD)
    for size in (_WIDTH, _HEIGHT):  # the size is the file's own business, and changes with turning and upscaling
        details.pop(size, None)
    dpi = picture.info.get("dpi")
    resolution = None
    if dpi is not None and len(dpi) == 2 and all(np.isfinite(float(n)) and n > 0 for n in dpi):
        x, y = map(float, reversed(dpi) if turned else dpi)
        resolution = Resolution(x, y, "inch")
    icc = picture.info.get("icc_profile")
    return Metadata(
        icc=icc if isinstance(icc, bytes) and icc else None,
        exif=exif.tobytes() if len(exif) else None,
        resolution=resolution,
        chunks=chunks,
    )
