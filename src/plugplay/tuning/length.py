r"""How long a run is: the number of iterations, known before the first.

A run ends when delta, the change per iteration, is at most the tolerance. Near the end delta follows sigma,

.. math:: \delta \approx c\, a\, \sigma,

with a the decrease of the logarithm of sigma per iteration. The ratio c depends on the problem more than on the image,
which accounts for one to three iterations, over which PSNR hardly changes. So a run has the number of iterations that
follows from the usual ratio. It continues only if the change is then still above `SLACK` times the tolerance that the
plan was made for, which is rare; this multiple is the tolerance that is reported. The number of iterations is thus
known in advance, and with it the time left (`plugplay.pnp.forecast`).

``python benchmarks/lengths.py`` compares with runs that end where the change per iteration is small enough; 18 images,
20 problems each. The ratios were found on twelve of them (camera, gravel, motorcycle, brick, grass, coins, page,
coffee, chelsea, nuthatch, bridge, dragonfly):

================  ==========  =====================  ====================
problem           iterations  PSNR, twelve images    PSNR, six that check
================  ==========  =====================  ====================
deblurring        -1 %        +0.00 (-0.02, +0.02)   +0.01 (-0.03, +0.14)
super-resolution  +4 %        -0.01 (-0.24, +0.16)   +0.03 (-0.18, +0.94)
holes             -2 %        +0.01 (-0.04, +0.30)   +0.07 (-0.06, +0.57)
================  ==========  =====================  ====================

Of the 360 runs 10 lost more than 0.05 dB and 24 gained more. Most losses are of decimated data without noise, in which
aliased detail is mistaken for noise (`plugplay.tuning.decimation`). With total variation instead of BM3D the change is
+0.01 dB on average (48 runs).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from plugplay.pnp.driver import COARSE_TOLERANCE
from plugplay.traits import NEARLY_EXACT
from plugplay.tuning.mild_blur import leaves_nearly_white_noise

if TYPE_CHECKING:
    from plugplay.traits import Traits

__all__ = ["SLACK", "is_known", "planned_iterations"]

# The reported tolerance, in units of the tolerance that the number of iterations was planned for.
SLACK = 3.0
# The ratio c at this noise level, and the power of the noise with which it falls: for deblurring, ...
USUAL_NOISE = 3 / 255
BLUR_RATIO, BLUR_POWER = 1.25, 0.32
# ... for a blur so mild that the denoiser sees nearly white noise, ...
MILD_RATIO, MILD_POWER = 2.6, 0.15
# ... on the coarse grid, ...
COARSE_RATIO = 2.3
# ... where pixels are missing, ...
MISSING_RATIO, MISSING_POWER = 2.1, 0.35
# ... for super-resolution, falling with the factor, ...
DECIMATED_RATIO, RATIO_PER_FACTOR, MIN_DECIMATED_RATIO = 2.4, 0.3, 0.7
DECIMATED_NOISE, DECIMATED_POWER = 5 / 255, 0.2
# ... where the noise grows with the signal, and among photons.
GROWING_RATIO, PHOTON_RATIO = 0.8, 0.85


def is_known(traits: Traits) -> bool:
    """Tell whether the ratio c is known for problems like this one."""
    return traits.observes in ("intensities", "counts")


def planned_iterations(
    traits: Traits,
    noise: float,
    *,
    first_sigma: float,
    gamma: float,
    tol: float,
    turn: tuple[float, float] | None = None,
    coarse: bool = False,
    uniform: bool = True,
    min_sigma: float = 0.0,
) -> int:
    """Return the number of iterations after which a run has converged, at least one.

    Parameters
    ----------
    traits : Traits
        The properties of the model.
    noise : float
        Standard deviation of the noise.
    first_sigma, gamma : float
        The first sigma, and the growth of rho.
    tol : float
        The change per iteration that counts as convergence.
    turn : (float, float), optional
        The sigma from which on rho grows faster, and its growth from there on. Such a run ends at the same sigma as a
        run without the turn; the change per iteration is no criterion, because it is larger the faster sigma falls.
    coarse : bool
        Whether the run is one on the coarse grid, whose tolerance is larger.
    uniform : bool
        Whether the noise has the same level everywhere.
    min_sigma : float
        The least sigma that the denoiser is called with.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> traits = pp.models.Deblurring(pp.kernels.box(5)).traits(np.zeros((16, 16)))
    >>> planned_iterations(traits, 0.01, first_sigma=0.25, gamma=1.6, tol=3e-3)
    15
    """
    fall = math.log(gamma) / 2
    ratio = COARSE_RATIO / COARSE_TOLERANCE if coarse else _ratio(traits, noise, uniform)
    last_sigma = max(tol / (ratio * fall), min_sigma)
    slow = 0
    if turn is not None:
        settled, faster = turn
        slow = max(math.ceil(math.log(first_sigma / settled) / fall), 0)
        first_sigma, fall = first_sigma * math.exp(-slow * fall), math.log(faster) / 2
    return max(slow + round(math.log(first_sigma / last_sigma) / fall) + 1, 1)


def _ratio(traits: Traits, noise: float, uniform: bool) -> float:
    """Return the ratio c where runs end."""
    if traits.weight is not None:
        return PHOTON_RATIO
    if not uniform:
        return GROWING_RATIO
    if traits.decimation > 1:
        ratio = max(DECIMATED_RATIO - RATIO_PER_FACTOR * traits.decimation, MIN_DECIMATED_RATIO)
        return ratio if noise < NEARLY_EXACT else ratio * math.pow(DECIMATED_NOISE / noise, DECIMATED_POWER)
    if traits.pointwise and traits.unknowns_per_sample > 1:
        return MISSING_RATIO * math.pow(USUAL_NOISE / noise, MISSING_POWER)
    if leaves_nearly_white_noise(traits, noise):
        return MILD_RATIO * math.pow(USUAL_NOISE / noise, MILD_POWER)
    return BLUR_RATIO * math.pow(USUAL_NOISE / noise, BLUR_POWER)
