"""Super-resolution by statistical prediction from sparse representations (SPSR).

After Peleg and Elad (IEEE Trans. Image Processing, 2014): the small image is interpolated; the details that each patch
lacks are predicted from its sparse code; overlapping patches are averaged; and the prediction is repeated with the
result, at a second level of its own. See `plugplay_paper.baselines.prediction` for the model. The levels here are
trained by ``training/spsr.py``; back-projection after each makes the result agree with what was observed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from plugplay_paper.arrays import FloatArray, frozen
from plugplay_paper.baselines import stored_weights
from plugplay_paper.baselines.back_projection import back_project, check_gray, consistent_bicubic
from plugplay_paper.baselines.patches import average_patches, patches
from plugplay_paper.baselines.prediction import Level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["FACTORS", "SIDE", "STEP", "predicted", "save", "stage", "statistical_prediction", "trained_levels"]

#: Factors that levels were trained for; 4 is two steps of 2.
FACTORS = (2, 4)
#: The factor of one step.
STEP = 2
#: Cells of 2 x 2 pixels along each side of the patches that details are predicted from.
SIDE = 5


def statistical_prediction(y: ArrayLike, factor: int) -> FloatArray:
    """Enlarge a gray image, taken for the bicubic decimation of a larger one.

    Parameters
    ----------
    y : array, ``(h, w)``
        The small image, floats on [0, 1]; sample i is centred at pixel ``K i + (K-1)/2`` of the large one. The domain
        is circular.
    factor : int
        K, one of `FACTORS`.

    Returns
    -------
    array, ``(K h, K w)``
        The large image, in the dtype of y; not clipped. Details are predicted in single precision.

    Examples
    --------
    >>> statistical_prediction(np.eye(8), 2).shape
    (16, 16)
    """
    image, factor = check_gray(y, factor)
    if factor not in FACTORS:
        raise ValueError(f"there are trained levels for the factors {FACTORS}; got {factor}")
    observed, reached = image, 1
    while reached < factor:
        reached *= STEP
        image = stage(image, observed, reached, trained_levels(reached))
    return image


def stage(image: FloatArray, observed: FloatArray, reached: int, levels: Sequence[Level]) -> FloatArray:
    """Enlarge an image by one step, to `reached` times the size of what was observed."""
    image = consistent_bicubic(image, STEP)
    for level in levels:
        image = back_project(predicted(image, level), observed, reached)
    return image


def predicted(image: FloatArray, level: Level) -> FloatArray:
    """Add the details that a level predicts."""
    height, width = (side // STEP for side in image.shape)
    details = level.details(patches(image.astype(np.float32)[None], STEP, side=SIDE))
    return image + average_patches(details, (height, width), STEP).astype(image.dtype)


@functools.cache
def trained_levels(reached: int) -> tuple[Level, ...]:
    """Return the levels of the step to `reached` that come with the package, in single precision."""
    stored = stored_weights.read(_name(reached))
    count = 1 + max(int(name.rpartition(" ")[2]) for name in stored)
    return tuple(
        Level(*(frozen(stored[f"{field.name} {number}"].astype(np.float32)) for field in fields(Level)))
        for number in range(count)
    )


def save(levels: Sequence[Level], reached: int) -> None:
    """Write levels, in half precision, to where `trained_levels` reads them."""
    arrays = {
        f"{field.name} {number}": getattr(level, field.name).astype(np.float16)
        for number, level in enumerate(levels)
        for field in fields(Level)
    }
    stored_weights.write(_name(reached), arrays)


def _name(reached: int) -> str:
    return f"spsr-x{reached}"
