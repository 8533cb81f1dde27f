"""The range of images: what the denoiser's input is clipped to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import check_choice, check_interval
from plugplay.models.description import darkest_of, possible_range_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.scale import Scale
    from plugplay.models.base import DataTerm

__all__ = ["clip_of"]

# Where the median lies, from the darkest to the brightest: a tenth in a dark drawing, 0.23 to 0.57 in photographs.
DARK_BACKGROUND = 0.2


def clip_of(
    clip: object, chosen: tuple[float, float] | None, scale: Scale, unit: NDArray[Any], data_term: DataTerm
) -> tuple[float, float] | None:
    """Return the range of the denoiser's input on the working scale."""
    if clip is None:
        return None
    if not isinstance(clip, str):
        return scale.interval_to_working(check_interval(clip, "clip"))
    check_choice(clip, "clip", ("auto",))
    if chosen is None:
        return None
    possible = possible_range_of(data_term)
    if possible is not None:
        return possible
    low, high = chosen
    if not scale.is_nominal:
        # Where black and white come from the data, white is no limit: a star restored to a point is far above it.
        low, high = _darkest(unit), math.inf
    return max(low, darkest_of(data_term)), high


def _darkest(unit: NDArray[Any]) -> float:
    """Return how dark an image may be whose black comes from the data.

    On a dark background nothing is darker than the darkest that was seen, or else stars would have dark rings. Where
    most is brighter, blur takes the contrast of what is dark: stripes behind a disk of radius 5, clipped at the darkest
    that was left of them, lost 10 dB.
    """
    low, middle, high = (float(value) for value in np.nanquantile(unit, (0.0, 0.5, 1.0)))
    return low if middle - low < DARK_BACKGROUND * (high - low) else low - (high - low)
