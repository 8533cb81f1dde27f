"""The depth in which restored pages are stored: that of the file, unless its integers would lose information.

Deblurring concentrates light: a star that was spread over a hundred pixels becomes a peak far above all observed
values, and perhaps above the range of the file's integers. Without noise, low counts have values between whole numbers.
Measurements are then stored as floats; photographs are clipped at white, as intended.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plugplay.arrays.scale import Scale
from plugplay.io.errors import ImageLossWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.io.record import ImageFile

__all__ = ["Floats", "Integers", "full_range", "in_units", "is_measured", "stored_as", "stored_pages"]

# When integers become floats.
Floats = Literal["never", "needed", "always"]

# Photographs as 16-bit measurements, deblurred, were up to 1.1 % of their range above white.
MAX_EXCESS = 0.02
# Saturated pixels do not count: this many more pixels must be beyond the range, or one by more than its width, as stars
# are that were reconstructed.
MORE_THAN_SATURATED, FAR_BEYOND = 2, 1.0
# An image with fewer levels shows terraces, if rounding to them moves pixels by more than this share of a step.
MIN_LEVELS, MAX_ROUNDED = 64, 0.1
LEVEL_QUANTILES = (0.001, 0.999)
# Single precision.
ROUNDED_OFF = 1e-6
MAX_SAMPLES = 100_000


@dataclass(frozen=True)
class Integers:
    """The integers of a file of measurements, and what the restored pages so far would lose in them.

    Attributes
    ----------
    data_range : (float, float)
        The values that mean black and white.
    dtype : dtype
        Their type.
    excess : float
        How far beyond their range a value may lie, as a share of it.
    clipped : int
        Number of pixels beyond that.
    furthest : float
        The value furthest beyond the range.
    levels : int, optional
        Number of levels that a page spans, if they are so few that rounding is visible.
    """

    data_range: tuple[float, float]
    dtype: np.dtype[Any]
    excess: float
    clipped: int = 0
    furthest: float = 0.0
    levels: int | None = None

    @classmethod
    def of(cls, dtype: np.dtype[Any], data_range: tuple[float, float], *, fills_range: bool) -> Integers:
        """Return the record for a file before its first page."""
        # Counts in a corner of the range may well be stars, of which nothing beyond it is overshoot.
        return cls(data_range, dtype, MAX_EXCESS if fills_range else 0.0)

    @property
    def lose(self) -> bool:
        """Whether anything would be lost."""
        return self.clipped > 0 or self.levels is not None

    def losing(self, image: NDArray[Any], page: NDArray[Any]) -> Integers:
        """Return the record with a restored image, on [0, 1], and the page that it is from."""
        values = in_units(image, self.data_range)
        clipped, furthest = self._beyond(values, page)
        return replace(
            self,
            clipped=self.clipped + clipped,
            furthest=max(self.furthest, furthest, key=abs) if clipped else self.furthest,
            levels=self._levels(values) if self.levels is None else self.levels,
        )

    def told(self, *, kept: bool) -> str:
        """Describe what is lost, or was `kept` by storing floats."""
        least, most = full_range(self.dtype)
        if self.clipped:
            what = f"restored values reach {self.furthest:.4g}, beyond the {least:.0f} to {most:.0f} of {self.dtype}"
            lost = f"{what}: {self.clipped} pixel{'s were' if self.clipped > 1 else ' was'} clipped"
        else:
            what = f"the restored image spans {self.levels} levels of {self.dtype}, so few that rounding shows"
            lost = f"{what} as terraces"
        if kept:
            return f"{what}: the pixels are written as float32, in the units of the file"
        return f"{lost}; floats in a TIFF, FITS or NPY file would keep them"

    def _beyond(self, values: NDArray[np.float32], page: NDArray[Any]) -> tuple[int, float]:
        """Return how many values are beyond the range of the integers, and the one that is furthest."""
        least, most = full_range(self.dtype)
        slack = self.excess * (most - least) + ROUNDED_OFF * max(abs(least), most) + 0.5
        middle = (least + most) / 2
        found, furthest = 0, middle
        for end, outside in ((least, values < least - slack), (most, values > most + slack)):
            count = int(np.count_nonzero(outside))
            saturated = int(np.count_nonzero(page == end)) * (values.size // page.size)
            extreme = float(values.min() if end == least else values.max())
            far = abs(extreme - end) > FAR_BEYOND * (most - least)
            if count > MORE_THAN_SATURATED * saturated or (far and count):
                found, furthest = found + count, max(furthest, extreme, key=lambda value: abs(value - middle))
        return found, furthest

    def _levels(self, values: NDArray[np.float32]) -> int | None:
        """Return how many levels an image spans, if they are so few that rounding would show; else None."""
        sample = values.ravel()[:: max(1, values.size // MAX_SAMPLES)].astype(np.float64)
        first, last = np.quantile(sample, LEVEL_QUANTILES)
        if not MAX_ROUNDED < last - first < MIN_LEVELS:  # a constant has no terraces
            return None
        rounded = float(np.sqrt(np.mean(np.square(sample - np.rint(sample)))))
        return math.ceil(last - first) + 1 if rounded > MAX_ROUNDED else None


def is_measured(image: ImageFile) -> bool:
    """Tell whether a file holds measurements, such as counts or fluxes, and not a photograph.

    Measurements are proportional to light, or gray values in a small part of their range, which have no transfer curve.

    Examples
    --------
    >>> from plugplay.io import ImageFile
    >>> photograph, dim = np.array([[0, 255]], np.uint8), np.array([[3, 9]], np.uint8)
    >>> is_measured(ImageFile.of(photograph)), is_measured(ImageFile.of(dim)), is_measured(ImageFile.of(dim * 1.0))
    (False, True, True)
    """
    return image.transfer == "linear" or not (image.colour or _fills_range(image))


def stored_pages(
    images: Iterable[NDArray[Any]], source: ImageFile, *, floats: Floats = "never"
) -> tuple[NDArray[Any], bool]:
    """Return restored pages in the depth of the file that they are from, and whether they became floats instead.

    Parameters
    ----------
    images : iterable of arrays
        As `plugplay.restore` returns them, one for each page. Each is stored before the next is asked for.
    source : ImageFile
        The file.
    floats : {"never", "needed", "always"}
        Whether integers become float32 in the units of the file: ``"needed"`` is for measurements that would be
        clipped or get terraces. A warning says so, and what is lost otherwise.
    """
    dtype = source.pixels.dtype
    if dtype.kind == "f":
        return np.stack([image.astype(dtype) for image in images]), False
    wide = floats == "always"
    integers = None
    if not wide and is_measured(source):
        integers = Integers.of(dtype, source.data_range, fills_range=_fills_range(source))
    stored: list[NDArray[Any]] = []
    for number, image in enumerate(images):
        if integers is not None and not wide:
            integers = integers.losing(image, source.pages[number])
            if floats == "needed" and integers.lose:
                wide = True
                stored = [page.astype(np.float32) for page in stored]
        stored.append(in_units(image, source.data_range) if wide else stored_as(image, source.data_range, dtype))
    if integers is not None and integers.lose:
        warnings.warn(ImageLossWarning(integers.told(kept=wide)), stacklevel=3)
    return np.stack(stored), wide


def in_units(image: NDArray[Any], data_range: tuple[float, float]) -> NDArray[np.float32]:
    """Return a restored image, on [0, 1], in the units of the file."""
    low, high = data_range
    return (image.astype(np.float64) * (high - low) + low).astype(np.float32)


def full_range(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the ends of an integer type's range; 0 and 1 for floats."""
    if dtype.kind == "f":
        return 0.0, 1.0
    limits = np.iinfo(dtype)
    return float(limits.min), float(limits.max)


def stored_as(image: NDArray[Any], data_range: tuple[float, float], dtype: np.dtype[Any]) -> NDArray[Any]:
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


def _fills_range(image: ImageFile) -> bool:
    return Scale.of(image.pages[0], image.data_range).is_nominal
