r"""The first sigma of fast runs where there is hardly any noise.

The first denoising decides structure, and must be strong enough for what the observation lacks
(`plugplay.tuning.rules`). In fast runs the first sigma is half as large again as usual. With noise of 2/255 or more
that is right for nearly all images. With 0.5/255 it removes detail that is in the data, and later iterations do not
recover all of it, unless the blur is so strong that the data have little detail.

Therefore the factor falls from 1.5 to 1 with the logarithm of the noise and with the share e of the frequencies that
the observation decides (`plugplay.tuning.transmission`). Where it decides nearly all of them, as behind camera shake,
bricks would lose up to 1.5 dB by that even with hardly any noise, and cables lose as much without it. There the factor
falls to 1.15 only, and rho grows more slowly, by 1.45 per iteration, which is right for both.

Crops of 128 x 128 pixels of ``benchmarks/automatic.py``, compared with 1.5 throughout: on six unseen images
(moon, astronaut, retina, rocket, wine, seeding), noise 0.5/255 and ten kernels, +0.06 dB on average, from -0.33 to
+0.44 dB, in nine tenths of the time; on six images it was found on (bridge, page, motorcycle, brick, nuthatch, camera),
noise 1/255 and five kernels, +0.06 dB, from -0.24 to +0.62 dB. With noise of 0.5/255 bridge, whose cables were lost,
gains 3.7 dB behind motion of 15 pixels and 1.3 dB behind a disk of 2.5. With noise of 2/255 the usual first sigma would
lose up to 0.8 dB (brick, camera shake; motorcycle and page 0.5).
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["first_sigma_share", "how_fast"]

# The factor with noise, and with hardly any.
MAX_SHARE, MIN_SHARE = 1.5, 1.0
# With hardly any noise, where nearly all frequencies are decided: the factor, and which share of the step from usual to
# fast growth is taken (`plugplay.tuning.rules`).
NEARLY_ALL_SHARE, NEARLY_ALL_FASTER = 1.15, 0.47
# It changes between these levels, ...
MUCH_NOISE, HARDLY_ANY = 2 / 255, 0.6 / 255
# ... and between these values of e, falling at first and then rising again.
FALLING, RISING = (0.12, 0.42), (0.75, 0.85)


def first_sigma_share(decided: float, noise: float) -> float:
    """Return the first sigma of a fast run, in units of the usual one.

    Parameters
    ----------
    decided : float
        e, the share of all frequencies that the observation decides.
    noise : float
        Standard deviation of the noise.

    Examples
    --------
    >>> [first_sigma_share(0.5, noise / 255) for noise in (0.6, 2, 10)]
    [1.0, 1.5, 1.5]
    >>> [round(first_sigma_share(decided, 0.6 / 255), 2) for decided in (0.1, 0.27, 0.7, 0.8, 0.9)]
    [1.5, 1.25, 1.0, 1.07, 1.15]
    """
    known = float(np.clip((decided - FALLING[0]) / (FALLING[1] - FALLING[0]), 0, 1))
    least = MAX_SHARE - (MAX_SHARE - MIN_SHARE) * known
    least += (NEARLY_ALL_SHARE - MIN_SHARE) * _nearly_all(decided)
    return MAX_SHARE - (MAX_SHARE - least) * _little(noise)


def how_fast(decided: float, noise: float) -> float:
    """Return which share of the step from the usual growth of rho to that of fast runs is taken.

    Examples
    --------
    >>> [round(how_fast(decided, noise / 255), 2) for decided in (0.5, 0.8, 0.9) for noise in (0.6, 2)]
    [1.0, 1.0, 0.73, 1.0, 0.47, 1.0]
    """
    return 1 - (1 - NEARLY_ALL_FASTER) * _nearly_all(decided) * _little(noise)


def _little(noise: float) -> float:
    """Return 0 where there is noise, and 1 where there is hardly any."""
    little = math.log(MUCH_NOISE / max(noise, HARDLY_ANY)) / math.log(MUCH_NOISE / HARDLY_ANY)
    return float(np.clip(little, 0, 1))


def _nearly_all(decided: float) -> float:
    return float(np.clip((decided - RISING[0]) / (RISING[1] - RISING[0]), 0, 1))
