"""The scale of images: what the user's numbers mean, and the range in which denoisers see them.

Two ranges. The **nominal** one gives numbers their meaning: ``data_range``, else the range of an integer dtype, else
(0, 1). Noise levels, lambda and restored images of integers refer to it. The **working** one is what the denoiser
sees as [0, 1]: the nominal range, unless the data lie in a corner of it or far outside. Then it follows from the data,
so that counts of 86 to 250 in 16 bits are not a black image. It never clips the data.

Numbers with a transfer curve, as those of photographs, are turned into light: black and white stay, what lies between
moves. Noise levels still refer to the numbers; `Scale.noise_gain` is what they become in light, on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray, check_interval
from plugplay.arrays.transfer import check_transfer, encode, linearise, mean_slope

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Scale", "nominal_range"]

# Data that fill less of the nominal range than this share get a working range of their own.
MIN_SHARE = 0.25
# Its ends are quantiles, which a few hot or dead pixels do not move, and a margin beyond them, as a share of the width.
QUANTILES = (0.001, 0.999)
MARGIN = 0.1
# How far floats may lie beyond black and white, as means of blocks of so many pixels, where noise is small: the share
# of the range, and the standard errors of such a mean.
MAX_BEYOND, BLOCK, BEYOND_ERRORS = 0.05, 8, 5.0
# Integers that fill less of their range than this cannot be told apart when the range is [0, 1].
MIN_RESOLVED = 1e-12
# The squares of a whole image of such values still have a sum.
MAX_VALUE = 1e140
# Smaller values have fewer digits, and what divides by them overflows.
MIN_VALUE = float(np.finfo(np.float64).tiny)
# More pixels do not change the quantiles.
MAX_SAMPLES = 1_000_000


def nominal_range(dtype: np.dtype[Any], data_range: tuple[float, float] | None = None) -> tuple[float, float]:
    """Return the values that mean black and white: those given, the range of integers, (0, 1) for floats.

    Examples
    --------
    >>> nominal_range(np.dtype(np.uint8)), nominal_range(np.dtype(np.float32))
    ((0.0, 255.0), (0.0, 1.0))
    """
    if data_range is not None:
        low, high = check_interval(data_range, "data_range")
        if not math.isfinite(high - low) or (dtype == np.float32 and high - low > float(np.finfo(np.float32).max)):
            raise ValueError(f"data_range must be a range that {dtype} can hold; got {data_range!r}")
        return low, high
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return float(limits.min), float(limits.max)
    return 0.0, 1.0


@dataclass(frozen=True)
class Scale:
    """The values that become 0 and 1, as the user means them and as the denoiser sees them.

    Attributes
    ----------
    low, high : float
        The nominal range.
    integer : bool
        Whether the input had integers; the restored image then comes back on [0, 1].
    offset, gain : float
        A value t on the nominal scale becomes ``gain * t + offset`` on the working scale.
    transfer : str
        The curve between light and the numbers: `plugplay.arrays.transfer`. Other than ``"linear"``, the working scale
        is light, and offset and gain are 0 and 1.
    slope : float
        By how much noise grows from the numbers to light.
    limits : (float, float), optional
        The smallest and the largest value of the whole image on the working scale, if only a part of it is seen.
    clipped : (float, float), optional
        The standard deviation of noise that was clipped at black and at white in the whole image, 0 where none was; if
        only a part of it is seen.

    Examples
    --------
    >>> import numpy as np
    >>> scale = Scale.of(np.array([[0, 51, 255]], np.uint8))
    >>> scale.to_working(np.array([[0, 51, 255]], np.uint8))
    array([[0. , 0.2, 1. ]], dtype=float32)
    """

    low: float
    high: float
    integer: bool
    offset: float = 0.0
    gain: float = 1.0
    transfer: str = "linear"
    slope: float = 1.0
    limits: tuple[float, float] | None = None
    clipped: tuple[float, float] | None = None

    @classmethod
    def of_light(
        cls, array: NDArray[Any], transfer: str, data_range: tuple[float, float] | None, observed: BoolArray | None
    ) -> Scale:
        """Return the scale that turns numbers with a transfer curve into light."""
        plain = cls.nominal_of(array.dtype, data_range)
        unit = plain.to_working(array if observed is None else array[observed])
        return replace(plain, transfer=check_transfer(transfer), slope=mean_slope(unit, transfer))

    @classmethod
    def nominal_of(cls, dtype: np.dtype[Any], data_range: tuple[float, float] | None = None) -> Scale:
        """Return the scale whose working range is the nominal one."""
        return cls(*nominal_range(dtype, data_range), integer=dtype.kind in "biu")

    @classmethod
    def of(
        cls,
        array: NDArray[Any],
        data_range: tuple[float, float] | None = None,
        *,
        observed: BoolArray | None = None,
        movable: bool = True,
    ) -> Scale:
        """Find both ranges.

        Parameters
        ----------
        array : array
            The observation.
        data_range : (float, float), optional
            The values that mean black and white.
        observed : array of bool, optional
            True where the observation counts.
        movable : bool
            Whether black may move to another value: only if the model maps constants to themselves. Without it the
            working range begins at the nominal black.
        """
        nominal = cls.nominal_of(array.dtype, data_range)
        low, high = nominal.low, nominal.high
        found = _quantiles(array, observed)
        if found is None or array.dtype == np.bool_:
            return nominal
        if max(map(abs, found)) > MAX_VALUE:
            raise ValueError(f"y has values beyond {MAX_VALUE:g}, whose squares overflow")
        if 0 < (largest := max(map(abs, found))) < MIN_VALUE:
            raise ValueError(
                f"y has values of at most {largest:.2g}, below the smallest normal float, {MIN_VALUE:.2g}: multiply "
                "them by a constant first"
            )
        first, last = ((value - low) / (high - low) for value in found)
        if nominal.integer and found[0] < found[1] and last - first < MIN_RESOLVED:
            raise ValueError(
                f"y has values from {found[0]:.0f} to {found[1]:.0f}, a tiny part of the range of {array.dtype}: "
                "give data_range=(black, white), or convert them, for instance to uint8 or float"
            )
        within = first >= -1 and last <= 2
        if data_range is None and within and (first < -MAX_BEYOND or last > 1 + MAX_BEYOND):
            within = not _reaches_beyond(array, observed)
        if last - first >= MIN_SHARE and within:
            return nominal
        if not movable:
            peak = max(abs(first), abs(last))
            return nominal if peak == 0 else cls(low, high, nominal.integer, 0.0, 1 / ((1 + MARGIN) * peak))
        width = last - first
        if width <= 1e-9 * max(abs(first), abs(last)):  # a constant image has no range of its own
            return nominal if 0 <= first <= 1 else cls(low, high, nominal.integer, 0.5 - first, 1.0)
        black, white = first - MARGIN * width, last + MARGIN * width
        return cls(low, high, nominal.integer, -black / (white - black), 1 / (white - black))

    def of_values(self) -> Scale:
        """Return the scale whose working values are the encoded ones, not light."""
        return replace(self, transfer="linear", slope=1.0)

    @property
    def nominal(self) -> tuple[float, float]:
        """The values that mean black and white."""
        return self.low, self.high

    @property
    def working(self) -> tuple[float, float]:
        """The values that the denoiser sees as 0 and 1."""
        width = self.high - self.low
        return (self.low - self.offset / self.gain * width, self.low + (1 - self.offset) / self.gain * width)

    @property
    def noise_gain(self) -> float:
        """By how much a standard deviation grows from the nominal to the working scale."""
        return self.gain * self.slope

    @property
    def is_nominal(self) -> bool:
        """Whether both ranges have the same black and white."""
        return (self.offset, self.gain) == (0.0, 1.0)

    @property
    def holds_data(self) -> bool:
        """Whether all but a few of the data, from which the working range was found, are between black and white."""
        low, high = self.working
        margin = MARGIN / (1 + 2 * MARGIN) * (high - low)
        slack = 1e-6 * (self.high - self.low)
        return low + margin >= self.low - slack and high - margin <= self.high + slack

    def to_working(self, array: NDArray[Any], *, frozen: bool = False) -> FloatArray:
        """Return the array as floats on the working scale; small integers become float32, wider ones float64.

        If it is to be `frozen`, it is read-only, and whoever keeps it needs no copy.
        """
        working = self._working(array)
        working.setflags(write=not frozen)
        return working

    def _working(self, array: NDArray[Any]) -> FloatArray:
        if array.dtype.kind in "biu":
            dtype = np.dtype(np.float32 if array.dtype.itemsize <= 2 else np.float64)
        else:
            dtype = np.dtype(np.float32 if array.dtype.itemsize <= 4 else np.float64)
        if (self.low, self.high) == (0.0, 1.0) and self.is_nominal:
            return self._light(array.astype(dtype))
        # In double precision, so that the ends of the range become exactly 0 and 1.
        unit = (array.astype(np.float64) - self.low) / (self.high - self.low)
        if not self.is_nominal:
            unit = unit * self.gain + self.offset
        return self._light(unit.astype(dtype))

    def interval_to_working(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return an interval of the nominal scale on the working one."""
        if self.transfer != "linear":
            low, high = linearise(np.array(interval, np.float64), self.transfer)
            return float(low), float(high)
        return self.gain * interval[0] + self.offset, self.gain * interval[1] + self.offset

    def interval_to_nominal(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return an interval of the working scale on the nominal one."""
        if self.transfer != "linear":
            low, high = encode(np.array(interval, np.float64), self.transfer)
            return float(low), float(high)
        return (interval[0] - self.offset) / self.gain, (interval[1] - self.offset) / self.gain

    def nominal_to_working(self, unit: FloatArray) -> FloatArray:
        """Return values of the nominal scale on the working one."""
        if self.is_nominal:
            return self._light(unit)
        return (unit.astype(np.float64) * self.gain + self.offset).astype(unit.dtype)

    def to_nominal(self, image: FloatArray) -> FloatArray:
        """Return an image of the working scale on the nominal one."""
        if self.is_nominal:
            return image if self.transfer == "linear" else encode(image, self.transfer)
        return ((image.astype(np.float64) - self.offset) / self.gain).astype(image.dtype)

    def from_working(self, image: FloatArray) -> FloatArray:
        """Return an image of the working scale in the units of float input, or on [0, 1] for integers."""
        unit = self.to_nominal(image)
        if self.integer or (self.low, self.high) == (0.0, 1.0):
            return unit
        return (unit * (self.high - self.low) + self.low).astype(image.dtype)

    def _light(self, unit: FloatArray) -> FloatArray:
        return unit if self.transfer == "linear" else linearise(unit, self.transfer)


def _quantiles(array: NDArray[Any], observed: BoolArray | None) -> tuple[float, float] | None:
    """Return a low and a high quantile of what was observed and is finite; None if there is nothing."""
    step = max(1, array.size // MAX_SAMPLES)
    values = array.ravel()[::step]
    if observed is not None:
        values = values[observed.ravel()[::step]]
    values = values[np.isfinite(values)].astype(np.float64)
    if values.size == 0:
        return None
    low, high = np.quantile(values, QUANTILES)
    return float(low), float(high)


def _reaches_beyond(array: NDArray[Any], observed: BoolArray | None) -> bool:
    """Tell whether floats lie beyond [0, 1] by more than noise does, so that clipping would cut off what was seen."""
    rows, columns = (n // BLOCK * BLOCK for n in array.shape[:2])
    if not rows or not columns:
        return True  # no blocks to tell noise from light: nothing is clipped
    values = array[:rows, :columns].astype(np.float64)
    seen = np.isfinite(values) if observed is None else observed[:rows, :columns] & np.isfinite(values)
    blocks = (rows // BLOCK, BLOCK, columns // BLOCK, BLOCK, *values.shape[2:])
    counts = seen.reshape(blocks).sum(axis=(1, 3))
    sums = np.where(seen, values, 0.0).reshape(blocks).sum(axis=(1, 3))
    full = counts >= BLOCK**2 // 2
    if not full.any():
        return True
    steps = np.abs(np.diff(np.where(seen, values, np.nan), axis=1))
    noise = float(np.nanmedian(steps)) / 0.954 if np.isfinite(steps).any() else 0.0  # as is usual for a Gaussian
    low, high = np.quantile(sums[full] / counts[full], (0.01, 0.99))
    limit = max(MAX_BEYOND, BEYOND_ERRORS * noise / BLOCK)
    return bool(low < -limit or high > 1 + limit)
