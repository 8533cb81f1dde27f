"""Reading and writing by format: the content decides when reading, the name when writing."""

from __future__ import annotations

import importlib
import io
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.transfer import linearise
from plugplay.io.atomic import atomic
from plugplay.io.errors import ImageFileError, ImageLossWarning, printable
from plugplay.io.paths import check_regular
from plugplay.io.record import ImageFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

__all__ = ["holds_floats", "is_image_name", "read", "sniff", "suffixes", "write"]

# Larger images are encoded straight into the temporary file, smaller ones in memory before there is any.
MAX_ENCODED_IN_MEMORY = 2**29

_ALL_DTYPES = frozenset(["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])


@dataclass(frozen=True)
class _Format:
    """What a format can hold, and the module with its ``read(path, limit)`` and ``write(stream, image)``."""

    name: str
    module: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...]
    dtypes: frozenset[str]
    # What pixels of another depth become.
    fallback: str
    alpha: bool = True
    stacks: bool = True
    any_channels: bool = True
    writer: str = "write"


_FORMATS = (
    _Format(
        "PNG",
        "png",
        (".png",),
        (b"\x89PNG\r\n\x1a\n",),
        frozenset({"u1", "u2"}),
        "u2",
        stacks=False,
        any_channels=False,
    ),
    _Format(
        "JPEG",
        "jpeg_webp",
        (".jpg", ".jpeg", ".jpe"),
        (b"\xff\xd8\xff",),
        frozenset({"u1"}),
        "u1",
        alpha=False,
        stacks=False,
        any_channels=False,
        writer="write_jpeg",
    ),
    _Format(
        "WebP",
        "jpeg_webp",
        (".webp",),
        (b"RIFF",),
        frozenset({"u1"}),
        "u1",
        stacks=False,
        any_channels=False,
        writer="write_webp",
    ),
    _Format(
        "TIFF",
        "tiff",
        (".tif", ".tiff"),
        (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
        _ALL_DTYPES,
        "f4",
    ),
    _Format(
        "FITS",
        "fits",
        (".fits", ".fit", ".fts"),
        (b"SIMPLE  =",),
        frozenset(["u1", "u2", "u4", "u8", "i2", "i4", "i8", "f4", "f8"]),
        "f4",
        alpha=False,
    ),
    _Format("NPY", "numpy_files", (".npy",), (b"\x93NUMPY",), _ALL_DTYPES, "f4", writer="write_npy"),
    _Format("NPZ", "numpy_files", (".npz",), (b"PK\x03\x04",), _ALL_DTYPES, "f4", writer="write_npz"),
)

# Formats that cannot be read, so that an error can name them: where in a file they are recognised, and by what.
_OTHERS = (
    ("BMP", 0, b"BM"),
    ("GIF", 0, b"GIF8"),
    ("Photoshop", 0, b"8BPS"),
    ("PDF", 0, b"%PDF"),
    ("JPEG 2000", 0, b"\x00\x00\x00\x0cjP"),
    ("JPEG XL", 0, b"\x00\x00\x00\x0cJXL"),
    ("JPEG XL", 0, b"\xff\x0a"),
    ("AVIF", 4, b"ftypavif"),
    ("HEIF", 4, b"ftypheic"),
    ("HEIF", 4, b"ftypmif1"),
)


def suffixes() -> tuple[str, ...]:
    """Return the file name endings that `write` knows."""
    return tuple(suffix for format_ in _FORMATS for suffix in format_.suffixes)


def is_image_name(path: str | os.PathLike[str]) -> bool:
    """Tell whether a name ends like that of an image file.

    Examples
    --------
    >>> is_image_name("Scan.TIFF"), is_image_name("notes.txt")
    (True, False)
    """
    return Path(path).suffix.lower() in suffixes()


def holds_floats(path: str | os.PathLike[str]) -> bool:
    """Tell whether the format that a name asks for holds floats.

    Examples
    --------
    >>> holds_floats("stars.fits"), holds_floats("stars.png")
    (True, False)
    """
    return "f4" in _named(Path(path)).dtypes


def read(path: str | os.PathLike[str], *, limit: int | None = None) -> ImageFile:
    """Read an image file; its content tells its format, whatever its name.

    Parameters
    ----------
    path : path
        PNG, JPEG, WebP, TIFF (OME-TIFF and ImageJ included), FITS, NPY or NPZ.
    limit : int, optional
        How many bytes the pixels may need. By default 4 GiB; and a small file cannot have more than 256 MiB and more
        than 200 times its size. It is looked at before anything is unpacked.

    Returns
    -------
    ImageFile
        Pixels in the depth of the file, upright if an orientation was recorded, with alpha and metadata apart.

    Raises
    ------
    ImageFileError
        If there is no such file, or it is damaged, unknown or unreasonable; in one line.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "deep.png"
    >>> write(path, ImageFile.of(np.full((2, 3, 3), 40000, np.uint16), colour=True))
    >>> read(path).pixels.dtype
    dtype('uint16')
    """
    source = Path(path)
    format_ = _sniffed(source)
    reader: Callable[[Path, int | None], ImageFile] = _module(format_).read
    name = printable(source)
    try:
        # What decoders murmur about a file matters only if they fail; what gets lost matters always.
        with warnings.catch_warnings(record=True) as murmurs:
            warnings.simplefilter("always")
            image = reader(source, limit)
    except ImportError as error:
        raise ImageFileError(f"{name}: {error}") from None
    except ImageFileError as error:
        raise ImageFileError(f"{name}: {error}") from error
    except Exception as error:  # decoders of damaged files raise anything: struct.error, KeyError, MemoryError, …
        detail = str(error) or type(error).__name__
        raise ImageFileError(f"{name}: damaged or unsupported {format_.name} file ({detail})") from error
    for murmur in murmurs:
        if issubclass(murmur.category, ImageLossWarning):
            warnings.warn(ImageLossWarning(murmur.message), stacklevel=2)
    return image


def sniff(path: str | os.PathLike[str]) -> str:
    """Return the usual ending of a file's format, whatever its name; raise `ImageFileError` if it is no image.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "nameless"
    >>> with path.open("wb") as stream:
    ...     np.save(stream, np.zeros((2, 3)))
    >>> sniff(path)
    '.npy'
    """
    return _sniffed(Path(path)).suffixes[0]


def write(path: str | os.PathLike[str], image: ImageFile, *, ready: Callable[[Path], object] | None = None) -> None:
    """Write an image file in the format that its name asks for; an existing file is replaced when all is well.

    Parameters
    ----------
    path : path
        Its ending chooses the format.
    image : ImageFile
        What to write. If the format cannot hold all of it, an `ImageLossWarning` says so before it is lost.
    ready : callable, optional
        Called with the complete file just before it gets its name: `plugplay.io.manifest` remembers it then.
    """
    target = Path(path)
    format_ = _named(target)
    fitting = _fitted(image, format_, target)
    name = printable(target)
    if target.is_dir():
        raise ImageFileError(f"{name} is a folder; a file name is needed")
    try:
        writer: Callable[[IO[bytes], ImageFile], None] = getattr(_module(format_), format_.writer)
        # Encoded first, so that the temporary file is there as short as possible.
        encoded = io.BytesIO()
        small = fitting.pixels.nbytes <= MAX_ENCODED_IN_MEMORY
        if small:
            writer(encoded, fitting)
        with atomic(target) as temporary:
            with temporary.open("w+b") as stream:
                if small:
                    stream.write(encoded.getbuffer())
                else:
                    writer(stream, fitting)
            if ready is not None:
                ready(temporary)
    except ImageFileError:
        raise
    except ImportError as error:
        raise ImageFileError(f"{name}: {error}") from None
    except OSError as error:
        raise ImageFileError(f"{name}: cannot be written ({error.strerror or error})") from error
    except Exception as error:  # encoders, too, raise anything over what they cannot hold
        detail = str(error) or type(error).__name__
        raise ImageFileError(f"{name}: {format_.name} cannot hold this image ({detail})") from error


def _sniffed(source: Path) -> _Format:
    check_regular(source)
    try:
        with source.open("rb") as stream:
            head = stream.read(16)
    except OSError as error:
        raise ImageFileError(f"{printable(source)}: cannot be read ({error.strerror or error})") from None
    for format_ in _FORMATS:
        if head.startswith(format_.magic) and (format_.name != "WebP" or head[8:12] == b"WEBP"):
            return format_
    other = _known_otherwise(head)
    what = "is empty" if not head else "is not an image file that can be read"
    if other:
        what = f"is a {other} file, which cannot be read: convert it to PNG or TIFF first"
    raise ImageFileError(f"{printable(source)} {what}; available: {', '.join(format_.name for format_ in _FORMATS)}")


def _known_otherwise(head: bytes) -> str:
    """Return the name of a format that is recognised but not read; empty if it is none."""
    return next((name for name, start, magic in _OTHERS if head[start:].startswith(magic)), "")


def _named(target: Path) -> _Format:
    for format_ in _FORMATS:
        if target.suffix.lower() in format_.suffixes:
            return format_
    raise ImageFileError(
        f"{printable(target)}: the ending {target.suffix!r} names no format that can be written; available: "
        f"{' '.join(suffixes())}"
    )


def _module(format_: _Format) -> Any:
    # Imported when needed: astropy is an extra, and no one should wait for decoders that are not used.
    return importlib.import_module(f"plugplay.io.{format_.module}")


def _fitted(image: ImageFile, format_: _Format, target: Path) -> ImageFile:
    """Return the image as the format can hold it, with a warning for whatever is lost."""
    name = printable(target)
    if image.metadata.parts and format_.name != "FITS":
        _warn(f"{name}: {format_.name} cannot hold the other parts of the FITS file, so they are left out")
    if image.stack_shape and not format_.stacks:
        if image.pages.shape[0] > 1:
            raise ImageFileError(
                f"{name}: {format_.name} holds one image, not {image.pages.shape[0]}; write TIFF, FITS or NPY"
            )
        alpha = None if image.alpha is None else image.alpha.reshape(image.pages.shape[1:3])
        image = replace(image, pixels=image.pages[0], alpha=alpha)
    channels = image.pixels.shape[-1] if image.colour else 1
    if channels not in (1, 3) and not format_.any_channels:
        raise ImageFileError(f"{name}: {format_.name} holds 1 or 3 channels, not {channels}; write TIFF or NPY")
    if image.alpha is not None and not format_.alpha:
        _warn(f"{name}: {format_.name} has no transparency, so it is left out")
        image = replace(image, alpha=None)
    if image.pixels.dtype.str[1:] not in format_.dtypes:
        fallback = np.dtype(format_.fallback)
        _warn(f"{name}: {format_.name} cannot hold {image.pixels.dtype} pixels, so they are stored as {fallback}")
        image = image.converted(fallback)
    marked = image.metadata.icc is not None and format_.name == "TIFF"
    if image.pixels.dtype.kind == "f" and image.transfer not in ("linear", "unknown") and not marked:
        # Floats without a word about it are read as light, so that is what they must be.
        _warn(f"{name}: floats are stored in proportion to light, without the curve of the file that was read")
        image = replace(image, pixels=linearise(image.pixels, image.transfer), transfer="linear")
    return image


def _warn(text: str) -> None:
    warnings.warn(ImageLossWarning(text), stacklevel=4)
