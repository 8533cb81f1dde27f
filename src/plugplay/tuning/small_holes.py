r"""Observations with small holes, made whole: what their spectrum says about the noise and the kernel.

Spectra need every pixel. A blurred image is smooth, so that a pixel that was not observed is known from its neighbours
but for little more than the noise, as long as these are near: `plugplay.models.filling` bends a plate through them.
Where single pixels and lines are missing, a tenth of all, coins, coffee and dragonfly hold up to 1.19
times the noise at the zeros of seven right kernels, at noise of 0.5, 2 and 10/255, which is as much as whole images do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.masks import mask_for, share_inside
from plugplay.models.filling import fill_holes

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.traits import Traits

__all__ = ["without_holes"]

# Of all pixels, those that have to be observed; and of the others, those that may be further from one than this.
MIN_OBSERVED, MAX_FAR, REACH = 0.8, 0.02, 1


def without_holes(y: FloatArray, traits: Traits) -> tuple[FloatArray, Traits]:
    """Return an observation of which every pixel is known, and its traits; as they are if its holes are too large.

    Parameters
    ----------
    y : array
        The observation; what was not observed may be anything, also NaN.
    traits : Traits
        Of its model.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> y = np.add.outer(np.arange(32.0), np.arange(32.0)) / 64
    >>> observed = np.arange(32) % 8 != 3
    >>> model = pp.models.Deblurring(pp.kernels.box(3), mask=np.tile(observed, (32, 1)))
    >>> whole, traits = without_holes(np.where(observed, y, np.nan), model.traits(y))
    >>> bool(np.abs(whole - y).max() < 2e-3), traits.observed is None
    (True, True)
    """
    observed = traits.observed
    if observed is None or traits.spatial_ndim != 2 or float(np.mean(observed)) < MIN_OBSERVED:
        return y, traits
    if share_inside(observed, traits.spatial_ndim, REACH) > MAX_FAR:
        return y, traits
    return fill_holes(y, mask_for(y, observed)), replace(traits, observed=None)
