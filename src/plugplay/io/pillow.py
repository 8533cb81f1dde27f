"""PNG, JPEG and WebP files by Pillow: pixels and metadata."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from plugplay.io.errors import ImageFileError
from plugplay.io.limits import check_size
from plugplay.io.record import Metadata, Resolution

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from PIL import Image
    from PIL.ImageFile import ImageFile as PillowFile

__all__ = ["metadata_of", "opened", "orientation_of", "pixels_of"]

_ORIENTATION, _EXIF_IFD, _WIDTH, _HEIGHT = 0x0112, 0x8769, 0xA002, 0xA003


# Not Image.open, whose own limit of pixels is one for the whole process.
_CLASSES: dict[str, type[PillowFile]] = {"PNG": PngImageFile, "JPEG": JpegImageFile, "WEBP": WebPImageFile}


@contextmanager
def opened(path: Path, format_: str, limit: int | None) -> Iterator[PillowFile]:
    """Open a file as one of Pillow's formats; its size is checked before anything is decoded."""
    with _CLASSES[format_](path) as image:
        width, height = image.size
        check_size(width * height * len(image.getbands()), stored=path.stat().st_size, limit=limit)
        yield image


def pixels_of(image: Image.Image) -> NDArray[Any]:
    """Decode to uint8: gray, gray + alpha, RGB or RGBA."""
    mode = image.mode
    if mode in ("CMYK", "YCCK", "LAB", "HSV"):
        raise ImageFileError(f"its colours are {mode}; convert it to RGB first, with its colour profile")
    see_through = "transparency" in image.info
    if mode in ("1", "L"):
        wanted = "LA" if see_through else "L"
    elif mode in ("LA", "RGBA"):
        wanted = mode
    elif mode in ("PA", "La", "RGBa"):
        wanted = "RGBA"
    else:
        wanted = "RGBA" if see_through else "RGB"
    return np.asarray(image if mode == wanted else image.convert(wanted))


def orientation_of(image: Image.Image) -> int:
    """Return the orientation, 1 if there is none or it is nonsense."""
    orientation = image.getexif().get(_ORIENTATION, 1)
    return orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else 1


def metadata_of(image: Image.Image, *, chunks: tuple[tuple[bytes, bytes], ...] = ()) -> Metadata:
    """Return colour profile, EXIF and resolution, as they are for the upright image."""
    exif = image.getexif()
    turned = orientation_of(image) >= 5
    exif.pop(_ORIENTATION, None)
    details = exif.get_ifd(_EXIF_IFD)
    for size in (_WIDTH, _HEIGHT):  # the size is the file's own business, and changes with turning and upscaling
        details.pop(size, None)
    dpi = image.info.get("dpi")
    resolution = None
    if dpi is not None and len(dpi) == 2 and all(np.isfinite(float(n)) and n > 0 for n in dpi):
        x, y = map(float, reversed(dpi) if turned else dpi)
        resolution = Resolution(x, y, "inch")
    icc = image.info.get("icc_profile")
    return Metadata(
        icc=icc if isinstance(icc, bytes) and icc else None,
        exif=exif.tobytes() if len(exif) else None,
        resolution=resolution,
        chunks=chunks,
        quantisation=_tables_of(image),
    )


def _tables_of(image: Image.Image) -> tuple[tuple[int, ...], ...]:
    """Return JPEG's quantisation tables, that of the first component first."""
    if not isinstance(image, JpegImageFile):
        return ()
    # A layer is (component, horizontal and vertical sampling, table).
    numbers = dict.fromkeys(layer[3] for layer in image.layer)
    return tuple(tuple(image.quantization[number]) for number in numbers if number in image.quantization)
