"""What an image file holds: pixels, what they mean, and what goes along with them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.records import Fingerprinted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

__all__ = ["ImageFile", "ImageFileError", "ImageLossWarning", "Metadata", "Resolution", "default_range"]


class ImageFileError(ValueError):
    """A file cannot be read or written; the message is one line."""

    def __init__(self, message: object) -> None:
        super().__init__(" ".join(str(message).split()))


class ImageLossWarning(UserWarning):
    """Something of the image does not fit into the format it is written to."""


@dataclass(frozen=True)
class Resolution:
    """How many pixels there are to a unit of length: ``"inch"``, ``"cm"`` or ``"none"``."""

    x: float
    y: float
    unit: str = "inch"

    def per_inch(self) -> tuple[float, float] | None:
        """Return pixels per inch, or None if the unit is not a length."""
        factor = {"inch": 1.0, "cm": 2.54}.get(self.unit)
        return None if factor is None else (self.x * factor, self.y * factor)

    def scaled(self, factor: float) -> Resolution:
        """Return the resolution of the image enlarged by `factor`."""
        return replace(self, x=self.x * factor, y=self.y * factor)


@dataclass(frozen=True)
class Metadata:
    """What goes along with the pixels.

    Attributes
    ----------
    icc : bytes, optional
        Colour profile.
    exif : bytes, optional
        EXIF block. Its orientation has been applied to the pixels and taken out.
    resolution : Resolution, optional
        Pixels per unit of length.
    description : str, optional
        TIFF's image description, which holds the metadata of OME-TIFF and of ImageJ.
    tags : tuple
        Further TIFF tags, ``(code, dtype, count, value)``.
    chunks : tuple
        PNG chunks kept as they are, ``(type, bytes)``: gamma, primaries, texts.
    header : str, optional
        FITS header.
    compression : str, optional
        Lossless compression of the TIFF file.
    """

    icc: bytes | None = None
    exif: bytes | None = None
    resolution: Resolution | None = None
    description: str | None = None
    tags: tuple[tuple[int, int, int, Any], ...] = ()
    chunks: tuple[tuple[bytes, bytes], ...] = ()
    header: str | None = None
    compression: str | None = None


@dataclass(frozen=True, eq=False)
class ImageFile(Fingerprinted):
    """An image, or a stack of images, with what goes along with it.

    Attributes
    ----------
    pixels : array
        ``(*stack, H, W)`` or, in colour, ``(*stack, H, W, C)``, of the depth of the file, without alpha.
    colour : bool
        Whether the last axis holds channels.
    alpha : array, optional
        ``(*stack, H, W)``: the opacity, which no restoration touches.
    data_range : (float, float)
        The values that mean black and white.
    metadata : Metadata
        The rest.

    Examples
    --------
    >>> import numpy as np
    >>> image = ImageFile.of(np.array([[0, 128, 255]], np.uint8))
    >>> image.data_range, image.converted(np.uint16).pixels.tolist()
    ((0.0, 255.0), [[0, 32896, 65535]])
    """

    pixels: NDArray[Any]
    colour: bool
    alpha: NDArray[Any] | None
    data_range: tuple[float, float]
    metadata: Metadata

    def __post_init__(self) -> None:
        object.__setattr__(self, "pixels", _read_only(self.pixels))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", _read_only(self.alpha))

    @classmethod
    def of(
        cls,
        pixels: NDArray[Any],
        *,
        colour: bool = False,
        alpha: NDArray[Any] | None = None,
        data_range: tuple[float, float] | None = None,
        metadata: Metadata | None = None,
    ) -> ImageFile:
        """Make the record from pixels; their range is found if it is not given."""
        pixels = _native(pixels)
        if pixels.dtype == np.bool_:
            pixels = pixels.astype(np.uint8) * np.uint8(255)
        if pixels.dtype.kind not in "iuf":
            raise ImageFileError(f"its pixels have the type {pixels.dtype}; integers or floats are needed")
        if pixels.ndim < 2 + colour or pixels.size == 0:
            raise ImageFileError(f"it holds an array of shape {pixels.shape}, which is no image")
        found = default_range(pixels) if data_range is None else data_range
        return cls(pixels, colour, None if alpha is None else _native(alpha), found, metadata or Metadata())

    @property
    def channel_axis(self) -> int | None:
        """The axis of the channels, as `plugplay.restore` takes it."""
        return -1 if self.colour else None

    @property
    def stack_shape(self) -> tuple[int, ...]:
        """The axes before height and width; empty for a single image."""
        return self.pixels.shape[: self.pixels.ndim - 2 - self.colour]

    @property
    def pages(self) -> NDArray[Any]:
        """The images, one after another: ``(N, H, W)`` or ``(N, H, W, C)``."""
        return self.pixels.reshape(-1, *self.pixels.shape[len(self.stack_shape) :])

    def unit_pages(self, data_range: tuple[float, float] | None = None) -> NDArray[np.float64]:
        """Return the pages as float64, with black at 0 and white at 1."""
        low, high = self.data_range if data_range is None else data_range
        unit: NDArray[np.float64] = (self.pages.astype(np.float64) - low) / (high - low)
        return unit

    def restored(self, images: Sequence[NDArray[Any]], *, factor: int = 1) -> ImageFile:
        """Return the file with restored pages, as `plugplay.restore` returns them, in the depth of this one.

        Parameters
        ----------
        images : sequence of arrays
            One for each page: on [0, 1] if the pixels are integers, in their units if they are floats.
        factor : int
            By how much the images were enlarged; alpha and resolution follow.
        """
        dtype = self.pixels.dtype
        stored = np.stack([_stored(image, self.data_range, dtype) for image in images])
        pixels = stored.reshape(*self.stack_shape, *stored.shape[1:])
        alpha = self.alpha
        if alpha is not None and factor > 1:
            alpha = np.repeat(np.repeat(alpha, factor, axis=-2), factor, axis=-1)
        resolution = self.metadata.resolution
        if resolution is not None:
            resolution = resolution.scaled(factor)
        return replace(self, pixels=pixels, alpha=alpha, metadata=replace(self.metadata, resolution=resolution))

    def converted(self, dtype: DTypeLike) -> ImageFile:
        """Return the image in another depth: black and white of one become black and white of the other."""
        wanted = np.dtype(dtype)
        if wanted == self.pixels.dtype:
            return self
        alpha = None if self.alpha is None else _rescaled(self.alpha, _full_range(self.alpha.dtype), wanted)
        if wanted.kind == "f" and self.pixels.dtype.kind == "f":
            return replace(self, pixels=self.pixels.astype(wanted), alpha=alpha)
        pixels = _rescaled(self.pixels, self.data_range, wanted)
        return replace(self, pixels=pixels, alpha=alpha, data_range=_full_range(wanted))


def default_range(pixels: NDArray[Any]) -> tuple[float, float]:
    """Return the values that mean black and white.

    8- and 16-bit unsigned integers use their whole range; floats use (0, 1) unless they lie outside it. What is
    left, counts and fluxes in 32 bits, has no agreed range: it is taken from the lowest to the highest value.
    """
    if pixels.dtype in (np.uint8, np.uint16):
        return _full_range(pixels.dtype)
    finite = pixels[np.isfinite(pixels)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    # A little noise below black or above white is no reason for another scale.
    if pixels.dtype.kind == "f" and low >= -0.5 and high <= 1.5:
        return 0.0, 1.0
    return (low, high) if math.isfinite(high - low) and high > low else (low, low + 1.0)


def _full_range(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype.kind == "f":
        return 0.0, 1.0
    limits = np.iinfo(dtype)
    return float(limits.min), float(limits.max)


def _rescaled(array: NDArray[Any], source: tuple[float, float], dtype: np.dtype[Any]) -> NDArray[Any]:
    low, high = source
    unit = (array.astype(np.float64) - low) / (high - low)
    return unit.astype(dtype) if dtype.kind == "f" else _stored(unit, _full_range(dtype), dtype)


def _stored(image: NDArray[Any], data_range: tuple[float, float], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a restored image in the file's depth, rounded and clipped."""
    if dtype.kind == "f":
        return image.astype(dtype)
    low, high = data_range
    limits = np.iinfo(dtype)
    # Small integers are exact in single precision, which halves the memory of a large photograph.
    exact = np.float32 if dtype.itemsize <= 2 and image.dtype == np.float32 else np.float64
    values: NDArray[Any] = image.astype(exact)
    values *= high - low
    values += low
    np.rint(values, out=values)
    # The highest 64-bit integer is not a float; the next float below it is.
    highest = float(limits.max) if dtype.itemsize <= 4 else float(np.nextafter(float(limits.max), 0))
    stored: NDArray[Any] = np.clip(values, float(limits.min), highest, out=values).astype(dtype)
    return stored


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to; a copy would cost a large photograph its memory once more."""
    view = array.view()
    view.setflags(write=False)
    return view


def _native(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in this machine's byte order: FITS is always the other one."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
