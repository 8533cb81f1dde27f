"""`ImageFile`: the pixels of an image file, their range and transfer curve, and the metadata."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.records import Fingerprinted
from plugplay.io.depths import Floats, full_range, stored_as, stored_pages
from plugplay.io.errors import ImageFileError, ImageLossWarning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import DTypeLike, NDArray

# Of strong compression most coefficients are zero, and off by less than rounding would be.
MAX_NOISE_FLOOR = 4.0

__all__ = [
    "ImageFile",
    "ImageFileError",
    "ImageLossWarning",
    "Metadata",
    "Resolution",
    "default_range",
    "default_transfer",
]


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
    """The metadata of an image file.

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
    parts : tuple
        The parts of a FITS file with several, as they are stored; None in the place of the image.
    compression : str, optional
        Lossless compression of the TIFF file.
    quantisation : tuple
        JPEG's quantisation tables, luminance first, 64 steps each, in rows of eight: the coefficient of each cosine
        was rounded to a multiple of its step, on the scale of 0 to 255.
    lossy_webp : bool
        Whether it is a WebP file whose pixels are not quite those that were saved.
    stack_axes : str
        What a TIFF file calls the axes before height and width, a letter for each: Z for slices, C for channels, T for
        times; others say nothing. Empty if the file does not tell.
    planar : bool
        Whether the channels of a TIFF file are stored one after another, as three slices may be by mistake.
    """

    icc: bytes | None = None
    exif: bytes | None = None
    resolution: Resolution | None = None
    description: str | None = None
    tags: tuple[tuple[int, int, int, Any], ...] = ()
    chunks: tuple[tuple[bytes, bytes], ...] = ()
    header: str | None = None
    parts: tuple[bytes | None, ...] = ()
    compression: str | None = None
    quantisation: tuple[tuple[int, ...], ...] = ()
    lossy_webp: bool = False
    stack_axes: str = ""
    planar: bool = False

    @property
    def is_lossy(self) -> bool:
        """Whether the file was compressed in a way that changes pixels."""
        return bool(self.quantisation) or self.lossy_webp

    @property
    def jpeg_quality(self) -> int | None:
        """The quality, 1 to 100, whose standard luminance table is nearest to the file's; None if it is no JPEG.

        Examples
        --------
        >>> Metadata(quantisation=((16,) * 64,)).jpeg_quality, Metadata().jpeg_quality
        (86, None)
        """
        if not self.quantisation:
            return None
        # libjpeg multiplies the standard's table by 2 - quality / 50, or by 50 / quality for qualities below 50. The
        # standard's steps add up to 3,688; the 4 x 4 finest, which are cut off at 255 below quality 6 only, to 259.
        table = self.quantisation[0]
        finest = [table[8 * row + column] for row in range(4) for column in range(4)]
        scale = sum(table) / 3688 if max(table) < 255 else sum(finest) / 259
        quality = 100 - 50 * scale if scale <= 1 else 50 / scale
        return int(min(max(round(quality), 1), 100))

    @property
    def noise_floor(self) -> float:
        r"""The standard deviation of what JPEG rounded away, on [0, 1]; 0 if it is no JPEG.

        A coefficient that was rounded to a multiple of q is off by :math:`q / \sqrt{12}`, unless it became zero.

        Examples
        --------
        >>> round(255 * Metadata(quantisation=((6,) * 64,)).noise_floor, 3), Metadata().noise_floor
        (1.732, 0.0)
        """
        if not self.quantisation:
            return 0.0
        steps = np.array(self.quantisation[0], np.float64)
        return min(math.sqrt(float(np.mean(np.square(steps))) / 12), MAX_NOISE_FLOOR) / 255


@dataclass(frozen=True, eq=False)
class ImageFile(Fingerprinted):
    """An image, or a stack of images, with its metadata.

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
    transfer : str
        The curve between light and the numbers of the file: ``"srgb"``, ``"linear"``, ``"gamma:2.2"`` or
        ``"unknown"``; see `plugplay.io.linearise`.

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
    transfer: str = "linear"

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
        transfer: str | None = None,
    ) -> ImageFile:
        """Make the record from pixels; their range and transfer curve are found if they are not given."""
        pixels = _native(pixels)
        if pixels.dtype == np.bool_:
            pixels = pixels.astype(np.uint8) * np.uint8(255)
        if pixels.dtype.kind not in "iuf":
            raise ImageFileError(f"its pixels have the type {pixels.dtype}; integers or floats are needed")
        if pixels.ndim < 2 + colour or pixels.size == 0:
            raise ImageFileError(f"it holds an array of shape {pixels.shape}, which is not an image")
        found = default_range(pixels) if data_range is None else data_range
        opacity = None if alpha is None else _native(alpha)
        curve = default_transfer(pixels.dtype, colour=colour) if transfer is None else transfer
        return cls(pixels, colour, opacity, found, metadata or Metadata(), curve)

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

    @property
    def quality_mask(self) -> NDArray[np.bool_] | None:
        """Where the file's own flags (DQ in FITS) call no pixel bad, True as in every mask; None without flags."""
        if not self.metadata.parts:
            return None
        from plugplay.io.fits_parts import quality_mask

        return quality_mask(self.metadata.parts, self.pixels.shape)

    def restored(
        self,
        images: Iterable[NDArray[Any]],
        *,
        factor: int = 1,
        offset: float | None = None,
        floats: Floats = "never",
    ) -> ImageFile:
        """Return the file with restored pages, as `plugplay.restore` returns them, in the depth of this one.

        Parameters
        ----------
        images : iterable of arrays
            One for each page: on [0, 1] if the pixels are integers, in their units if they are floats.
        factor : int
            By how much the images were enlarged; alpha, resolution and FITS coordinates follow.
        offset : float, optional
            Where pixel 0 lies in the enlarged image: by default in the middle of those that take its place.
        floats : {"never", "needed", "always"}
            Whether integers become float32, in the units of the file. ``"needed"``: if they are counts that were
            restored beyond what the integers hold, or span so few levels that rounding would show. A warning says so,
            and, with ``"never"``, what was lost.
        """
        stored, widened = stored_pages(images, self, floats=floats)
        pixels = stored.reshape(*self.stack_shape, *stored.shape[1:])
        alpha = self.alpha
        if alpha is not None and factor > 1:
            alpha = np.repeat(np.repeat(alpha, factor, axis=-2), factor, axis=-1)
        if alpha is not None and widened:
            alpha = _rescaled(alpha, full_range(alpha.dtype), pixels.dtype)
        metadata = replace(self.metadata, quantisation=(), lossy_webp=False)  # the new pixels have not been rounded
        if metadata.resolution is not None:
            metadata = replace(metadata, resolution=metadata.resolution.scaled(factor))
        if metadata.header is not None:
            from plugplay.io.fits_parts import restored_parts, scaled_header

            header = metadata.header if factor == 1 else scaled_header(metadata.header, factor, offset=offset)
            size = self.pages.shape[1:3]
            metadata = replace(
                metadata, header=header, parts=restored_parts(metadata.parts, size, factor, offset=offset)
            )
        transfer = "linear" if widened else self.transfer  # or else the numbers would be taken for a photograph's
        return replace(self, pixels=pixels, alpha=alpha, metadata=metadata, transfer=transfer)

    def converted(self, dtype: DTypeLike) -> ImageFile:
        """Return the image in another depth: black and white of one become black and white of the other."""
        wanted = np.dtype(dtype)
        if wanted == self.pixels.dtype:
            return self
        alpha = None if self.alpha is None else _rescaled(self.alpha, full_range(self.alpha.dtype), wanted)
        if wanted.kind == "f" and self.pixels.dtype.kind == "f":
            return replace(self, pixels=self.pixels.astype(wanted), alpha=alpha)
        pixels = _rescaled(self.pixels, self.data_range, wanted)
        return replace(self, pixels=pixels, alpha=alpha, data_range=full_range(wanted))


def default_range(pixels: NDArray[Any]) -> tuple[float, float]:
    """Return the values that mean black and white.

    8- and 16-bit unsigned integers use their whole range; floats use (0, 1) unless they lie outside it. What is
    left, counts and fluxes in 32 bits, has no agreed range: it is taken from the lowest to the highest value.
    """
    if pixels.dtype in (np.uint8, np.uint16):
        return full_range(pixels.dtype)
    finite = pixels[np.isfinite(pixels)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    # A little noise below black or above white is no reason for another scale.
    if pixels.dtype.kind == "f" and low >= -0.5 and high <= 1.5:
        return 0.0, 1.0
    return (low, high) if math.isfinite(high - low) and high > low else (low, low + 1.0)


def default_transfer(dtype: np.dtype[Any], *, colour: bool) -> str:
    """Return the transfer curve of pixels without information about it.

    8-bit images, and 16-bit colour, are photographs with the sRGB curve; floats, 16-bit gray images and wider integers
    are measurements, in proportion to light.
    """
    photograph = dtype == np.uint8 or (dtype == np.uint16 and colour)
    return "srgb" if photograph else "linear"


def _rescaled(array: NDArray[Any], source: tuple[float, float], dtype: np.dtype[Any]) -> NDArray[Any]:
    low, high = source
    unit = (array.astype(np.float64) - low) / (high - low)
    return unit.astype(dtype) if dtype.kind == "f" else stored_as(unit, full_range(dtype), dtype)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to; a copy would cost a large photograph its memory once more."""
    view = array.view()
    view.setflags(write=False)
    return view


def _native(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in this machine's byte order: FITS is always the other one."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
