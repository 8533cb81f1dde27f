"""FITS files, by astropy (the extra ``astro``): the image is read, everything else is kept as it is."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.io.errors import ImageFileError, ImageLossWarning
from plugplay.io.fits_parts import astropy_fits, serialised
from plugplay.io.limits import check_size
from plugplay.io.record import ImageFile, Metadata

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

__all__ = ["read", "write"]

# They describe how the old pixels were stored; astropy writes its own.
_STORAGE = ("BSCALE", "BZERO", "BLANK", "CHECKSUM", "DATASUM", "DATAMIN", "DATAMAX")


def read(path: Path, limit: int | None) -> ImageFile:
    """Read the image of a FITS file, called SCI or the first; more than two axes make a stack."""
    fits = astropy_fits()
    content = path.read_bytes()
    # Our own stream, because astropy leaves that of a damaged file open.
    with path.open("rb") as stream, fits.open(stream, memmap=False, lazy_load_hdus=False) as hdus:
        images = [hdu for hdu in hdus if hdu.is_image and hdu.header.get("NAXIS", 0) >= 2]
        if not images:
            raise ImageFileError("it contains no image, only tables or headers")
        chosen = next((hdu for hdu in images if hdu.name.upper() == "SCI"), images[0])
        alike = [hdu for hdu in images if hdu is not chosen and hdu.name.upper() in ("", chosen.name.upper())]
        if alike:
            warnings.warn(
                ImageLossWarning(f"{path} has {len(images)} images: only one is used, the others are kept as they are"),
                stacklevel=2,
            )
        pixel = abs(int(chosen.header["BITPIX"])) // 8
        check_size(int(np.prod(chosen.shape, dtype=np.float64)) * pixel, stored=len(content), limit=limit)
        header = chosen.header.copy(strip=True)
        pixels = np.asarray(chosen.data)
        parts = tuple(None if hdu is chosen else _stored(hdu, content) for hdu in hdus)
    for key in _STORAGE:
        header.remove(key, ignore_missing=True)
    text = header.tostring(sep="\n", endcard=False, padding=False)
    return ImageFile.of(
        pixels, metadata=Metadata(header=text, parts=parts if len(parts) > 1 else ()), transfer="linear"
    )


def write(stream: IO[bytes], image: ImageFile) -> None:
    """Write the pixels, colour channels first, under the header that was read and among the parts beside them."""
    pixels = np.moveaxis(image.pixels, -1, 0) if image.colour else image.pixels
    for number, part in enumerate(image.metadata.parts or (None,)):
        stream.write(serialised(pixels, image.metadata.header, primary=number == 0) if part is None else part)


def _stored(hdu: Any, content: bytes) -> bytes:
    place = hdu.fileinfo()
    return content[place["hdrLoc"] : place["datLoc"] + place["datSpan"]]
