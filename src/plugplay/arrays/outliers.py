"""Values that cannot be light: hot pixels, and numbers that stand for missing data, such as -9999."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray

__all__ = ["far_from_all_others"]

# The values of nearly all pixels, and how many times their width a value that is no light lies beyond them.
NEARLY_ALL = (0.05, 0.95)
FAR = 30.0
# What is common is not an exception.
MAX_COMMON = 0.04
MAX_SAMPLES, MAX_ASKED = 1_000_000, 1000
AROUND = [(down, along) for down, along in itertools.product((-1, 0, 1), repeat=2) if down or along]


def far_from_all_others(y: NDArray[Any], observed: BoolArray | None) -> tuple[str, ...]:
    """Return a sentence about pixels that are far from all others, those beside them included, else nothing.

    What is bright because it is a star has bright neighbours.

    Examples
    --------
    >>> image = np.linspace(0, 1, 400).reshape(20, 20)
    >>> image[3, 4] = -9999
    >>> far_from_all_others(image, None)[0].partition(":")[0]
    '1 pixel is far from all others, which are about 0.04749 to 0.95'
    """
    values = y if observed is None else y[observed]
    sample = values.ravel()[:: max(1, values.size // MAX_SAMPLES)].astype(np.float64)
    if y.ndim < 2 or not sample.size:
        return ()
    low, high = np.quantile(sample, NEARLY_ALL)
    width = high - low
    if not width > 0 or (float(values.min()) > low - FAR * width and float(values.max()) < high + FAR * width):
        return ()
    far = (y < low - FAR * width) | (y > high + FAR * width)
    places = np.argwhere(far if observed is None else far & observed)
    if len(places) > MAX_COMMON * values.size:
        return ()
    asked = places[:: max(1, len(places) // MAX_ASKED)]
    beside = np.median([_beside(y, asked, step) for step in AROUND], axis=0)
    alone = float(np.mean((beside > low - width) & (beside < high + width)))
    count = round(alone * len(places))
    if count == 0:
        return ()
    return (
        f"{'1 pixel is' if count == 1 else f'{count} pixels are'} far from all others, which are about {low:.4g} to "
        f"{high:.4g}: if they are hot or stand for missing data, leave them out by a mask, or set them to NaN",
    )


def _beside(y: NDArray[Any], places: NDArray[np.intp], step: tuple[int, int]) -> NDArray[np.float64]:
    """Return the values beside some places, within the frame."""
    moved = places.copy()
    for axis, by in enumerate(step):
        moved[:, axis] = np.clip(places[:, axis] + by, 0, y.shape[axis] - 1)
    return np.asarray(y[tuple(moved.T)], np.float64)
