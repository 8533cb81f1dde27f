"""The other extensions of a FITS file, and their update when the image is restored or enlarged."""

from __future__ import annotations

import io
import re
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.io.errors import ImageLossWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["astropy_fits", "quality_mask", "restored_parts", "scaled_header", "serialised"]

# The names of extensions with the uncertainty of the pixels and with flags for bad ones, as observatories use them.
_ERRORS = re.compile(r"ERR|ERROR|ERRORS|SIGMA|STD|STDDEV|UNCERT|IVAR|VAR|VAR_.*|VARIANCE|RMS|NOISE")
_FLAGS = ("DQ", "MASK", "FLAGS", "QUALITY", "BPM")
_EMPTY_PRIMARY = 2880  # bytes


def astropy_fits() -> Any:
    """Return ``astropy.io.fits``, which is an extra."""
    try:
        from astropy.io import fits
    except ImportError:
        raise ImportError("FITS files need astropy: pip install 'plugplay[astro]'") from None
    return fits


def scaled_header(header: str, factor: int, *, offset: float | None = None) -> str:
    """Return a header whose world coordinates fit the image enlarged by `factor`.

    Pixel i of the image, counted from 0, lies at ``factor * i + offset`` of the enlarged one; by default in the middle
    of the pixels that take its place, at ``(factor - 1) / 2``. So ``CRPIX - 1`` becomes ``factor * (CRPIX - 1) +
    offset``, and the steps (CD, or CDELT, or PC where it mixes the image axes with others) are divided by the factor.
    SIP distortions, polynomials in pixels, are rescaled. Alternative coordinates (``CRPIX1A``) follow alike.
    """
    fits = astropy_fits()
    cards = fits.Header.fromstring(header, sep="\n")
    middle = (factor - 1) / 2 if offset is None else offset
    alternatives = {
        match[1] for key in cards if (match := re.fullmatch(r"(?:CTYPE|CRPIX|CDELT|CD)\d(?:_\d)?([A-Z]?)", key))
    }
    for letter in sorted(alternatives):
        _scale_coordinates(cards, letter, factor, middle)
    for key in list(cards):
        term = re.fullmatch(r"(?:A|B|AP|BP)_(\d)_(\d)", key)
        if term is not None:
            cards[key] = float(cards[key]) * float(factor) ** (1 - int(term[1]) - int(term[2]))
    text: str = cards.tostring(sep="\n", endcard=False, padding=False)
    return text


def restored_parts(
    parts: tuple[bytes | None, ...], shape: tuple[int, ...], factor: int, *, offset: float | None = None
) -> tuple[bytes | None, ...]:
    """Return the parts that still hold when the image, of this shape (H, W), was restored and enlarged.

    Uncertainties describe the pixels that were read, so they are dropped, with a warning. Where the image grew, flags
    grow with it, other images of its size are dropped, with a warning, and everything else stays as it is.
    """
    kept: list[bytes | None] = []
    for number, part in enumerate(parts):
        if part is None or number == 0:
            kept.append(part)
            continue
        with _part(part) as hdu:
            name = hdu.name.upper()
            image = hdu.is_image and len(hdu.shape) >= 2
            if image and _ERRORS.fullmatch(name):
                _warn(f"the extension {name} has the errors of the pixels before restoration, so it is left out")
            elif image and factor > 1 and hdu.shape[-2:] == shape:
                if name in _FLAGS and hdu.data.dtype.kind in "iub":
                    flags = np.repeat(np.repeat(hdu.data, factor, axis=-2), factor, axis=-1)
                    header = hdu.header.copy(strip=True).tostring(sep="\n", endcard=False, padding=False)
                    kept.append(serialised(flags, scaled_header(header, factor, offset=offset)))
                else:
                    _warn(f"the extension {name or number} does not fit the enlarged image, so it is left out")
            else:
                kept.append(part)
    return tuple(kept)


def quality_mask(parts: tuple[bytes | None, ...], shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Return where the flags of a FITS file (its extension DQ) call no pixel bad; None if it has no flags."""
    for part in parts[1:]:
        if part is None:
            continue
        with _part(part) as hdu:
            if hdu.is_image and hdu.name.upper() in _FLAGS and hdu.shape == shape:
                mask: NDArray[np.bool_] = np.asarray(hdu.data) == 0
                return mask
    return None


def serialised(pixels: NDArray[Any], header: str | None, *, primary: bool = False) -> bytes:
    """Return the bytes of one part: header, pixels and padding."""
    fits = astropy_fits()
    cards = None if header is None else fits.Header.fromstring(header, sep="\n")
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # astropy comments on the header cards of others, which are kept as they are
        array = np.ascontiguousarray(pixels)
        hdus = [fits.PrimaryHDU(array, header=cards)] if primary else [fits.PrimaryHDU(), fits.ImageHDU(array, cards)]
        fits.HDUList(hdus).writeto(stream, output_verify="silentfix+ignore")
    return stream.getvalue()[0 if primary else _EMPTY_PRIMARY :]


@contextmanager
def _part(content: bytes) -> Iterator[Any]:
    """Give a part, which is not the first, as astropy sees it."""
    fits = astropy_fits()
    stream = io.BytesIO()
    fits.PrimaryHDU().writeto(stream)
    stream.write(content)
    stream.seek(0)
    with fits.open(stream, memmap=False) as hdus:
        yield hdus[1]


def _scale_coordinates(cards: Any, letter: str, factor: int, middle: float) -> None:
    for axis in (1, 2):
        key = f"CRPIX{axis}{letter}"
        # The standard's default, 0, is a place like any other.
        cards[key] = factor * (float(cards.get(key, 0.0)) - 1) + middle + 1
    matrix = {kind: [key for key in cards if re.fullmatch(rf"{kind}\d_[12]{letter}", key)] for kind in ("CD", "PC")}
    mixes = any(key[2] not in "12" and float(cards[key]) != 0 for key in matrix["PC"])
    mixes = mixes or any(float(cards[k]) != 0 for k in cards if re.fullmatch(rf"PC[12]_[3-9]{letter}", k))
    if matrix["CD"]:
        for key in matrix["CD"]:
            cards[key] = float(cards[key]) / factor
    elif mixes:
        for axis in (1, 2):
            cards.setdefault(f"PC{axis}_{axis}{letter}", 1.0)
        for key in [k for k in cards if re.fullmatch(rf"PC\d_[12]{letter}", k)]:
            cards[key] = float(cards[key]) / factor
    else:
        for axis in (1, 2):
            key = f"CDELT{axis}{letter}"
            cards[key] = float(cards.get(key, 1.0)) / factor


def _warn(text: str) -> None:
    warnings.warn(ImageLossWarning(text), stacklevel=4)
