"""The noise of demosaicked photographs behind a blur: what quiet blocks show of it, within bounds from the spectrum.

Smoothed noise is stronger at low and middle frequencies than where quiet blocks show it (`plugplay.noise.strongest`).
Some of those frequencies the blur has emptied of the image, and what they hold bounds white noise from above
(`plugplay.tuning.empty_frequencies`). Smoothed noise is stronger there, too: the noise of 76 photographs
(``benchmarks/demosaicked.py --images fit``) was 0.9 to 1.5 times that bound at the lowest frequencies with Malvar's
filters, and 1.3 to 4 times with bilinear interpolation.

* Where the differences of colours show that the image was demosaicked, their level counts, at least `MARGIN` times that
  bound, because quiet blocks are often dark ones, which have less photon noise, and at most `MAX_OF_CAMERA` times.
* In a JPEG file only luma shows it, and texture looks alike: at most `MAX_OF_FILE` times the bound counts. It binds in
  12 of 50 such files, and leaves 0.7 to 1.5 times the true level.

A blur that leaves most frequencies amplifies nothing but high ones, where such noise is weak. So the level counts as
far as the blur takes nine tenths of the power of many frequencies: nothing below the first share of `EMPTIED`, all
above the second (Gaussians of 0.6 and 0.7 pixels).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from plugplay.noise.finding import FoundNoise
    from plugplay.traits import Traits

__all__ = ["smoothed_noise", "told_of"]

MARGIN = 1.15
MAX_OF_CAMERA, MAX_OF_FILE = 4.0, 2.2
# Of all frequencies, the share that keeps less than this of its power.
KEPT, EMPTIED = 0.1, (0.3, 0.6)
# From this multiple of what else would be assumed on, a user is told.
TOLD = 1.3


def smoothed_noise(found: FoundNoise, most: float, traits: Traits) -> float:
    """Return the noise to assume behind a blur if it is stronger at low frequencies; else 0.

    Parameters
    ----------
    found : FoundNoise
        What quiet blocks show.
    most : float
        The most that white noise can be; infinite if that is not known.
    traits : Traits
        Of the model; nothing but a blur amplifies noise.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> from plugplay.noise.finding import FoundNoise
    >>> traits = pp.models.Deblurring(pp.kernels.disk(3)).traits(np.zeros((64, 64)))
    >>> camera, file = (FoundNoise(0.01, 0.001, strongest=0.05, compression=c) for c in (0.0, 0.01))
    >>> smoothed_noise(camera, 0.03, traits), round(smoothed_noise(file, 0.02, traits), 3)
    (0.05, 0.044)
    """
    if not found.strongest or traits.spectrum is None or traits.decimation > 1 or traits.pointwise:
        return 0.0
    first, last = EMPTIED
    emptied = float(np.mean(np.square(np.abs(traits.spectrum)) < KEPT))
    share = float(np.clip((emptied - first) / (last - first), 0, 1))
    if not share:
        return 0.0
    if found.compression:
        level = min(found.strongest, MAX_OF_FILE * most)
    elif math.isinf(most):
        level = found.strongest
    else:
        level = min(max(found.strongest, MARGIN * most), MAX_OF_CAMERA * most)
    level = math.pow(found.level, 1 - share) * math.pow(level, share)
    return level if level > found.level else 0.0


def told_of(smoothed: float, otherwise: float) -> tuple[str, ...]:
    """Return what a user should know about noise that is assumed to be `smoothed`, and would be less otherwise.

    Examples
    --------
    >>> len(told_of(0.05, 0.02)), told_of(0.02, 0.02)
    (1, ())
    """
    if smoothed <= TOLD * otherwise:
        return ()
    return (
        "the noise seems stronger at low frequencies than at high ones, as after demosaicking: the stronger level was "
        "assumed",
    )
