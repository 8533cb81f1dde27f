"""Pixels of a blurred photograph that do not follow the blur: bars, frames, stamps and captions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from plugplay.models.description import part_of, takes_mask
from plugplay.tuning.borders import borders
from plugplay.tuning.overlays import overlaid
from plugplay.tuning.spectra import taps_of

if TYPE_CHECKING:
    from plugplay.arrays.checks import BoolArray, FloatArray
    from plugplay.models.base import Model
    from plugplay.traits import Traits

__all__ = ["foreign_pixels", "where_foreign"]

# Pixels closer together than this form one place; if there are more places than this, the warning counts the others.
TOGETHER, MAX_PLACES = 25, 3
THEY = "they were left as they are"


def foreign_pixels(
    y: FloatArray, model: Model, traits: Traits, noise: float | None, *, linear: bool
) -> BoolArray | None:
    """Return the pixels that must be left as they are; None if all follow the blur.

    Parameters
    ----------
    y : array
        The observation, black being 0 and white 1.
    model, traits : Model, Traits
        The model and its properties; only convolutions of 2-D images without missing pixels can be judged.
    noise : float, optional
        Standard deviation of the noise, if it is known.
    linear : bool
        Whether the values are known to be proportional to light.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> blur = pp.models.Deblurring(pp.kernels.box(5), boundary="unknown")
    >>> y = blur.simulate(np.random.default_rng(0).random((68, 68)) / 4 + 0.4, noise=0.01, rng=0)
    >>> y[:8] = 0
    >>> where_foreign(foreign_pixels(y, blur, blur.traits(y), 0.01, linear=False))
    ('rows 0 to 7 do not follow the blur: they were left as they are',)
    """
    if traits.spectrum is None or traits.pointwise or traits.decimation > 1 or traits.observed is not None:
        return None
    if traits.spatial_ndim != 2 or traits.observes != "intensities" or not takes_mask(model):
        return None
    taps = taps_of(traits.spectrum)
    if min(y.shape[:2]) < 2 * max(taps.shape):
        return None
    around = borders(y, taps, linear=linear)
    inside = y if around is None else y[_inside(around)]
    drawn = overlaid(inside, part_of(model, None, whole=around is None), noise)
    if drawn is None:
        return around
    found = np.zeros(y.shape[:2], np.bool_) if around is None else around.copy()
    found[slice(None) if around is None else _inside(around)] |= drawn
    return found


def where_foreign(found: BoolArray | None) -> tuple[str, ...]:
    """Return a warning that says which pixels were left as they are, if there are any."""
    if found is None:
        return ()
    inside = _inside(found)
    parts = [_ranges(name, np.asarray(found.all(axis=1 - axis))) for axis, name in enumerate(("rows", "columns"))]
    places, _ = ndimage.label(ndimage.maximum_filter(found[inside], TOGETHER))
    drawn = ndimage.find_objects(np.where(found[inside], places, 0))
    for box in drawn[:MAX_PLACES]:
        down, along = (slice(b.start + i.start, b.stop + i.start) for b, i in zip(box, inside, strict=True))
        parts.append(f"a place in rows {down.start} to {down.stop - 1}, columns {along.start} to {along.stop - 1}")
    if len(drawn) > MAX_PLACES:
        parts.append(f"{len(drawn) - MAX_PLACES} more")
    named = " and ".join(part for part in parts if part)
    one = named.startswith("a place") and len(drawn) == 1
    return (f"{named} {'does' if one else 'do'} not follow the blur: {'it was left as it is' if one else THEY}",)


def _inside(found: BoolArray) -> tuple[slice, slice]:
    """Return the rectangle inside the foreign rows and columns."""
    rows, columns = (np.flatnonzero(~found.all(axis=axis)) for axis in (1, 0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _ranges(name: str, foreign: BoolArray) -> str:
    """Return the foreign rows or columns in words."""
    runs, count = ndimage.label(foreign)
    ends = [np.flatnonzero(runs == number)[[0, -1]] for number in range(1, count + 1)]
    return f"{name} {' and '.join(f'{first} to {last}' for first, last in ends)}" if ends else ""
