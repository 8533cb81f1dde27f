"""FITS files, by astropy (the extra ``astro``)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.io.geometry import check_size
from plugplay.io.record import ImageFile, ImageFileError, ImageLossWarning, Metadata

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read", "write"]

# They describe how the old pixels were stored; astropy writes its own.
_STORAGE = ("BSCALE", "BZERO", "BLANK", "CHECKSUM", "DATASUM", "DATAMIN", "DATAMAX")


def read(path: Path) -> ImageFile:
    """Read the first image of a FITS file; more than two axes make a stack."""
    fits = _astropy_fits()
    size = path.stat().st_size
    # Our own stream, because astropy leaves that of a damaged file open.
    with path.open("rb") as stream, fits.open(stream, memmap=False, lazy_load_hdus=False) as hdus:
        images = [hdu for hdu in hdus if hdu.is_image and hdu.header.get("NAXIS", 0) >= 2]
        if not images:
            raise ImageFileError("it has no image in it, only tables or headers")
        if len(hdus) > 1 and (len(images) > 1 or any(not hdu.is_image for hdu in hdus)):
            warnings.warn(f"{path} has {len(hdus)} parts: only its first image is used", ImageLossWarning, stacklevel=2)
        chosen = images[0]
        check_size(int(np.prod(chosen.shape, dtype=np.float64)) * abs(int(chosen.header["BITPIX"])) // 8, size)
        header = chosen.header.copy(strip=True)
        pixels = np.asarray(chosen.data)
    for key in _STORAGE:
        header.remove(key, ignore_missing=True)
    text = header.tostring(sep="\n", endcard=False, padding=False)
    return ImageFile.of(pixels, metadata=Metadata(header=text))


def write(path: Path, image: ImageFile) -> None:
    """Write the pixels, colour channels first, under the header that was read."""
    fits = _astropy_fits()
    pixels = np.moveaxis(image.pixels, -1, 0) if image.colour else image.pixels
    header = None if image.metadata.header is None else fits.Header.fromstring(image.metadata.header, sep="\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # astropy comments on the header cards of others, which are kept as they are
        fits.PrimaryHDU(np.ascontiguousarray(pixels), header=header).writeto(
            path, overwrite=True, output_verify="silentfix+ignore"
        )


def _astropy_fits() -> Any:
    try:
        from astropy.io import fits
    except ImportError:
        raise ImportError("FITS files need astropy: pip install 'plugplay[astro]'") from None
    return fits
