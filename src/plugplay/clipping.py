"""The range to which the denoiser's input is clipped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import check_choice, check_interval
from plugplay.models.description import brightest_of, darkest_of, possible_range_of
from plugplay.tuning.background import has_background
from plugplay.tuning.spectra import taps_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray
    from plugplay.arrays.scale import Scale
    from plugplay.posing import Posed
    from plugplay.traits import Traits

__all__ = ["clip_of", "goes_beyond"]


def clip_of(
    clip: object,
    chosen: tuple[float, float] | None,
    scale: Scale,
    unit: NDArray[Any],
    problem: Posed,
    traits: Traits,
) -> tuple[float, float] | None:
    """Return the range of the denoiser's input on the working scale.

    Parameters
    ----------
    clip : (float, float), "auto" or None
        The value that the user gave, on the nominal scale.
    chosen : (float, float) or None
        The value that the rules chose.
    scale : Scale
        Nominal and working range.
    unit : array
        The observation on the working scale.
    problem : Posed
        The data term and the noise.
    traits : Traits
        The properties of the model.
    """
    if clip is None:
        return None
    if not isinstance(clip, str):
        return scale.interval_to_working(check_interval(clip, "clip", endless=True))
    check_choice(clip, "clip", ("auto",))
    if chosen is None:
        return None
    possible = possible_range_of(problem.data_term)
    if possible is not None:
        return possible
    low, high = chosen
    if not scale.is_nominal:
        # If black and white come from the data, white is no limit: a star restored to a point is far above it.
        low, high = _darkest(unit, scale, problem, traits), math.inf
    return max(low, darkest_of(problem.data_term)), brightest_of(problem.data_term, high)


def goes_beyond(clip: tuple[float, float] | None, unit: NDArray[Any], observed: BoolArray | None = None) -> bool:
    """Tell whether an image may be darker than the darkest observed pixel, and has no upper limit.

    Parameters
    ----------
    clip : (float, float) or None
        The return value of `clip_of`.
    unit : array
        The observation on the working scale.
    observed : array of bool, optional
        True where a pixel was observed.
    """
    return clip is not None and clip[1] == math.inf and clip[0] < _range_of(unit, observed)[0]


def _darkest(unit: NDArray[Any], scale: Scale, problem: Posed, traits: Traits) -> float:
    """Return the lower limit of an image whose black comes from the data.

    On a dark background nothing is darker than the darkest observed pixel; a lower limit would allow dark rings around
    stars. Otherwise the blur has reduced contrast, so the limit is lower by the observed range, but not below black
    unless the data are.
    """
    low, high = _range_of(unit, traits.observed)
    # A likelihood of photons has its own limit.
    blurred = traits.spectrum is not None and not traits.pointwise and not math.isfinite(darkest_of(problem.data_term))
    if not blurred or _has_background(unit, problem.level, traits):
        return low
    black, _ = scale.interval_to_working((0.0, 1.0))
    darker = low - (high - low)
    return max(darker, black) if low >= black else darker


def _range_of(unit: NDArray[Any], observed: BoolArray | None) -> tuple[float, float]:
    """Return the darkest and the brightest observed value."""
    if observed is not None and observed.any():
        unit = unit[observed]
    return float(np.nanmin(unit)), float(np.nanmax(unit))


def _has_background(unit: NDArray[Any], noise: float, traits: Traits) -> bool:
    assert traits.spectrum is not None  # the caller makes sure
    # The kernel of a decimated image refers to finer pixels.
    taps = taps_of(traits.spectrum) if traits.decimation == 1 else None
    return has_background(unit, noise, taps=taps, observed=traits.observed)
