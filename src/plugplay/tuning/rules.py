r"""Automatic parameters: lambda, schedule and tolerance for a model, its noise and a denoiser.

**Lambda.** If the prior were known exactly, the posterior would be :math:`f(x)/s^2 + g(x)` with s the standard
deviation of the noise and :math:`f = \tfrac12 \|G x - y\|^2`, that is, :math:`\lambda = s^2`. Two effects change it.

*A lower limit.* The noise in x has the spectrum :math:`s^2 |\hat h|^2 / (|\hat h|^2 + \rho)^2`, whose peak, at
:math:`|\hat h|^2 = \rho`, is :math:`s^2 / 4 \rho`. The denoiser removes noise of variance
:math:`\sigma^2 = \lambda / \rho`. Below :math:`\lambda = s^2 / 4` the peak is stronger than that, passes the threshold
of the denoiser and accumulates in u: quality drops as at a cliff, and all rules keep a distance from it.

*A smaller value for strong blur.* A denoiser removes white noise of variance sigma². If only a share e of all
frequencies carries noise, because the blur has removed the others, there is that much less to remove, and lambda may be
smaller. Let e be the share of the frequencies of a natural image that the observation decides
(`plugplay.tuning.transmission`). Then

.. math:: \lambda = (0.35 + 0.70\, e\, t)\, s^2, \qquad t = \sqrt{s / s_0}, \quad 0.5 \le t \le 1, \quad s_0 = 2/255,

goes from a third of s² for strong blur and noise to s² for a blur close to the identity. The factor t lowers lambda
where there is little noise, as the fourth stage of BM3D requires.

For images with little detail, and for those that repeat, this lambda is too small: the prior is one for natural images.
`plugplay.tuning.rehearsal` corrects it by restoring a part of the image. Images with missing pixels, other denoisers,
and runs with a given schedule or number of iterations are not corrected. Operators without a spectrum get 0.45 s². A
blur close to the identity has rules of its own (`plugplay.tuning.mild_blur`).

A complete likelihood, such as that of photons, has s = 1; its best lambda rises with the number n of jots (binary
pixels) that observe a pixel, as 0.6 + 0.026 sqrt(n) up to 1. Without noise the data alone decide, and any small lambda
will do; `MIN_NOISE` keeps it above zero.

**First sigma.** The first denoising decides structure. It must bridge what the observation lacks: 0.075 K^1.5 if one
pixel in K² is observed, or 0.06 K² for counts, between 0.2 and 1.5. Missing pixels are first filled in by a spline
(`plugplay.models.filling`), which has the coarse structure already: 0.2 for missing lines, which the denoiser must
reach across, 0.15 if more than half of all pixels are missing, which are then scattered, and 0.1 for holes as wide as
objects, most of which are out of its reach.

**Gamma.** rho grows by a third per iteration, so sigma falls by a factor of 1.15: 20 to 35 calls of the denoiser from
first to last. If fewer iterations are allowed, rho grows faster, so that sigma still reaches its end.

**Plain deblurring.** For images of some size with uniform noise, rho grows by 1.6 per iteration, and lambda is 1.15
times as large, because each of fewer denoisings has to remove more; where there is hardly any noise and the observation
decides nearly everything, these are 1.45 and 1.07. The first sigma is half as large again, except with hardly any noise
(`plugplay.tuning.first_sigma`), and once more by half if black and white come from the blurred data: the image then
exceeds them, and the same sigma is less of its contrast. The run on a coarse grid that comes first if the blur is wide
(`plugplay.levels`) has rho growing by 2.5 and a lambda a fifth larger, because its details are restored again.

**Super-resolution.** BM3D uses its third and fourth stages (`plugplay.denoisers.bm3d.denoiser`). With noise of 1.5/255
or more, rho grows by 1.87 - 0.135 K from a sigma of at least 0.28, with lambda = (0.6 - 0.025 K) s², and the tolerance
is 4e-3: 14 calls for K = 2 and 22 for K = 4. With less noise there are two speeds: rho grows by `GAMMA` until sigma is
`SETTLED_SIGMA`, because structure takes time, and by `SETTLED_GAMMA` from there on, where few calls with dense blocks
are as good as many with sparse ones (`plugplay.denoisers.bm3d.loop`). The tolerance must then not exceed the noise.
Aliased detail must not be mistaken for noise: see `plugplay.tuning.decimation`.

**Tolerance.** 2e-3; 4e-3 for plain deblurring; 1e-3 for photons. The number of iterations follows from it and is
planned in advance, and the reported tolerance is three times as large (`plugplay.tuning.length`).

**Half-quadratic splitting** has no multiplier that returns what the denoiser removed: lambda is 0.23 s², and sigma
falls from 49/255 to s, evenly on a logarithmic scale, in a dozen iterations.

The constants come from sweeps with BM3D on crops of scikit-image's images (astronaut, coffee, camera, motorcycle, cat,
coins, bricks); "Lambda and the schedule" in ``docs/automatic-experiments.md`` has the figures. Where a sweep was flat,
the choice within it was made with an eye on the paper's ten images: the slope of lambda for photons, and dividing
estimates of noise by 1 + 0.05 (K - 1). Results on those ten images are therefore not held out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.masks import share_inside
from plugplay.pnp.schedules import Constant, Monotone, Schedule, TwoSpeed
from plugplay.traits import NEARLY_EXACT, SETTLED_SIGMA
from plugplay.tuning.case import Case, Choice
from plugplay.tuning.first_sigma import first_sigma_share, how_fast
from plugplay.tuning.length import SLACK, is_known, planned_iterations
from plugplay.tuning.mild_blur import is_mild_throughout, leaves_nearly_white_noise, rho_after_denoising
from plugplay.tuning.transmission import transmission

if TYPE_CHECKING:
    from plugplay.traits import Traits

__all__ = ["MIN_NOISE", "choose", "leaves_white_noise"]

MIN_NOISE = 0.6 / 255
# By how much of the level an uncertain estimate is raised at most.
MAX_SHARE_OF_MARGIN = 0.1
MAX_ITER = 40
# The tolerance of a single step, which ends the run whatever it changes.
ANY_CHANGE = 1e3

# lambda / s²: without a spectrum, and as a + b e t with one.
LAMBDA_PER_VARIANCE = 0.45
MIN_LAMBDA_PER_VARIANCE, LAMBDA_PER_TRANSMISSION = 0.35, 0.70
# s_0 and the least t.
LITTLE_NOISE, MIN_TRUST = 2 / 255, 0.5
GAMMA = 1.33
TOLERANCE, BLUR_TOLERANCE = 2e-3, 4e-3
# The last sigma, as a multiple of the noise: runs that converge do so near it.
LAST_SIGMA_PER_NOISE = 0.5

# The first sigma: per missing pixel with uniform noise, its power, and among photons; its limits.
FIRST_SIGMA_PER_MISSING, FIRST_SIGMA_POWER, FIRST_SIGMA_AMONG_PHOTONS = 0.075, 0.75, 0.06
FIRST_SIGMAS = (0.2, 1.5)
LINES_FIRST_SIGMA, SCATTERED_FIRST_SIGMA, OBJECTS_FIRST_SIGMA = 0.2, 0.15, 0.1
# Holes are as wide as objects if this share of the missing pixels has no observed one within so many pixels.
MIN_INSIDE, INSIDE_REACH = 0.25, 4

# Behind a mild blur even weak detail is seen, and less of it may be lost.
MILD_LAMBDA = 0.9
# If the observation decides nearly all frequencies, the image is as exact as its data: a change of the size of their
# noise is not convergence. With less of them it is, and ending three calls earlier gains 0.06 dB (36 cases, -0.15 dB at
# least). The tolerance in units of the noise, and between which shares e it falls.
MILD_TOLERANCES_PER_NOISE, NEARLY_ALL = (2.0, 0.75), (0.85, 0.95)

# Plain deblurring, on the coarse grid and on the full one.
COARSE_GAMMA, COARSE_LAMBDA = 2.5, 1.2
FINE_GAMMA, FINE_LAMBDA = 1.6, 1.15
# The first sigma is larger if the range comes from blurred data, which the image exceeds.
FIRST_SIGMA_BEYOND = 1.5

# Super-resolution by K: gamma and lambda / s² as a - b K.
DECIMATED_GAMMA, GAMMA_PER_FACTOR = 1.87, 0.135
DECIMATED_LAMBDA, LAMBDA_PER_FACTOR = 0.6, 0.025
DECIMATED_FIRST_SIGMA, DECIMATED_TOLERANCE = 0.28, 4e-3
# Gamma of nearly exact data, from `SETTLED_SIGMA` on.
SETTLED_GAMMA = 1.5

# Photons: lambda = a + b sqrt(n), at most this.
PHOTON_LAMBDA, PHOTON_LAMBDA_PER_ROOT, MAX_PHOTON_LAMBDA = 0.6, 0.026, 1.0
PHOTON_FIRST_SIGMA, PHOTON_GAMMA, PHOTON_TOLERANCE = 0.2, 1.5, 1e-3
PHOTON_SIGMA_RANGE = 50

HQS_LAMBDA_PER_VARIANCE, HQS_FIRST_SIGMA, HQS_ITERATIONS = 0.23, 49 / 255, 12


def choose(case: Case, *, lam: float | None = None) -> Choice:
    """Choose the parameters for a case.

    Parameters
    ----------
    case : Case
        Model, noise and denoiser.
    lam : float, optional
        Lambda, if it is given; the schedule then follows from it.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> traits = pp.models.SuperResolution(2).traits(np.zeros((8, 8)))
    >>> round(choose(Case(traits=traits, noise=0.02)).lam, 6)
    0.00022
    """
    traits, noise = case.traits, case.noise
    if case.iteration == "denoise-first" and traits.spectrum is not None:
        rho = rho_after_denoising(traits.spectrum, noise)
        return Choice(case.strength * rho * noise**2, Constant(rho), ANY_CHANGE, 1, None)
    if case.one_step and leaves_white_noise(traits):
        # One step from y with rho = 1 is the denoiser itself, v = D(y) with sigma = sqrt(lam); there is nothing to
        # iterate. Clipping y first would make its noise asymmetric.
        weight = case.strength * max(noise, 1e-9) ** 2 if lam is None else lam
        return Choice(weight, Constant(1.0), ANY_CHANGE, 1, None)
    mild = leaves_nearly_white_noise(traits, noise)
    # An estimate may be too low, which is the side of the cliff; on the other side little is lost. Behind a mild blur
    # as much is lost on either side.
    level = max(noise + (0.0 if mild else min(case.noise_margin, MAX_SHARE_OF_MARGIN * noise)), MIN_NOISE)
    course = _course_of(case, level, mild=mild)
    lam = case.strength * course.lam if lam is None else lam
    gamma, first_sigma = course.gamma, course.first_sigma
    if case.max_iter is not None:
        last_sigma = max(course.last_sigma, case.min_sigma)
        gamma = max(gamma, _gamma_within(case.max_iter, first_sigma, last_sigma))
        if case.max_iter == 1:  # a single denoising should be the last one of a longer run
            first_sigma = last_sigma
    two_speeds = course.settled_gamma > gamma
    schedule: Schedule = Monotone(lam / first_sigma**2, gamma)
    if two_speeds:
        schedule = TwoSpeed(lam / first_sigma**2, gamma, turn=lam / SETTLED_SIGMA**2, faster=course.settled_gamma)
    limit = course.limit if case.max_iter is None else case.max_iter
    choice = Choice(lam, schedule, course.tol, limit, last_sigma=case.min_sigma)
    if not (case.planned and case.iteration == "admm" and is_known(traits)):
        return choice
    count = planned_iterations(
        traits,
        level,
        first_sigma=first_sigma,
        gamma=gamma,
        turn=(SETTLED_SIGMA, course.settled_gamma) if two_speeds else None,
        tol=course.tol,
        coarse=case.grid == "coarse",
        uniform=case.uniform,
        min_sigma=case.min_sigma,
    )
    return replace(choice, tol=SLACK * course.tol, min_iter=min(count, limit))


@dataclass(frozen=True, kw_only=True)
class _Course:
    """How a run of several iterations goes, before `strength`, a given lambda and a given limit are considered.

    From `SETTLED_SIGMA` on, rho grows by `settled_gamma` if that is larger than `gamma`.
    """

    lam: float
    first_sigma: float
    last_sigma: float
    tol: float
    gamma: float = GAMMA
    settled_gamma: float = 1.0
    limit: int = MAX_ITER


def _course_of(case: Case, noise: float, *, mild: bool) -> _Course:
    if case.traits.weight is not None:
        return _photon_course(case.traits.weight, case.traits)
    tol = TOLERANCE if case.grid == "only" else BLUR_TOLERANCE
    if mild:
        share = _decided(case.traits, noise) if is_mild_throughout(case.traits, case.noise) else 1.0
        tol = min(tol, float(np.interp(share, NEARLY_ALL, MILD_TOLERANCES_PER_NOISE)) * noise)
    if case.iteration == "hqs":
        return _hqs_course(case, noise, tol)
    course = _Course(
        lam=(MILD_LAMBDA if mild else 1.0) * _lambda_per_variance(case.traits, noise) * noise**2,
        first_sigma=_first_sigma(case.traits, case.uniform),
        last_sigma=LAST_SIGMA_PER_NOISE * noise,
        tol=tol,
    )
    if case.grid == "coarse":
        return replace(course, lam=COARSE_LAMBDA * course.lam, gamma=COARSE_GAMMA)
    if case.traits.decimation > 1 and case.uniform:
        return _decimated_course(course, case.traits.decimation, noise)
    if case.grid == "fine":
        decided = _decided(case.traits, noise)
        first_sigma = course.first_sigma * first_sigma_share(decided, noise)
        fast = how_fast(decided, noise)
        return replace(
            course,
            lam=FINE_LAMBDA**fast * course.lam,
            gamma=GAMMA * (FINE_GAMMA / GAMMA) ** fast,
            first_sigma=first_sigma * (FIRST_SIGMA_BEYOND if case.beyond else 1.0),
        )
    return course


def _photon_course(weight: float, traits: Traits) -> _Course:
    samples = round(1 / traits.unknowns_per_sample)
    return _Course(
        lam=weight * min(PHOTON_LAMBDA + PHOTON_LAMBDA_PER_ROOT * samples**0.5, MAX_PHOTON_LAMBDA),
        first_sigma=PHOTON_FIRST_SIGMA,
        last_sigma=PHOTON_FIRST_SIGMA / PHOTON_SIGMA_RANGE,
        tol=PHOTON_TOLERANCE,
        gamma=PHOTON_GAMMA,
    )


def _hqs_course(case: Case, noise: float, tol: float) -> _Course:
    limit = HQS_ITERATIONS if case.max_iter is None else case.max_iter
    first_sigma = max(HQS_FIRST_SIGMA, 2 * noise)
    gamma = _gamma_within(limit, first_sigma, noise)
    lam = HQS_LAMBDA_PER_VARIANCE * noise**2
    return _Course(lam=lam, first_sigma=first_sigma, last_sigma=noise, tol=tol, gamma=gamma, limit=limit)


def _decimated_course(course: _Course, factor: float, noise: float) -> _Course:
    course = replace(course, tol=min(DECIMATED_TOLERANCE, noise))
    if noise < NEARLY_EXACT:
        return replace(course, settled_gamma=SETTLED_GAMMA)
    return replace(
        course,
        lam=max(DECIMATED_LAMBDA - LAMBDA_PER_FACTOR * factor, LAMBDA_PER_VARIANCE) * noise**2,
        gamma=max(DECIMATED_GAMMA - GAMMA_PER_FACTOR * factor, GAMMA),
        first_sigma=max(course.first_sigma, DECIMATED_FIRST_SIGMA),
    )


def leaves_white_noise(traits: Traits) -> bool:
    """Tell whether there is nothing to invert, so that a single denoising is enough."""
    return traits.unknowns_per_sample == 1 and traits.weight is None and traits.leaves == "white"


def _lambda_per_variance(traits: Traits, noise: float) -> float:
    if traits.spectrum is None or traits.decimation > 1:
        return LAMBDA_PER_VARIANCE
    share = _decided(traits, noise)
    trust = float(np.clip(math.sqrt(noise / LITTLE_NOISE), MIN_TRUST, 1))
    return MIN_LAMBDA_PER_VARIANCE + LAMBDA_PER_TRANSMISSION * share * trust


def _decided(traits: Traits, noise: float) -> float:
    """Return the share of all frequencies that the observation decides; missing pixels decide nothing."""
    return 0.0 if traits.spectrum is None else transmission(traits.spectrum, noise) / traits.unknowns_per_sample


def _first_sigma(traits: Traits, uniform: bool) -> float:
    if traits.pointwise and traits.unknowns_per_sample > 1:
        inside = 0.0
        if traits.observed is not None:
            inside = share_inside(traits.observed, traits.spatial_ndim, INSIDE_REACH)
        if inside > MIN_INSIDE:
            return OBJECTS_FIRST_SIGMA
        return LINES_FIRST_SIGMA if traits.unknowns_per_sample <= 2 else SCATTERED_FIRST_SIGMA
    share, power = (FIRST_SIGMA_PER_MISSING, FIRST_SIGMA_POWER) if uniform else (FIRST_SIGMA_AMONG_PHOTONS, 1.0)
    return float(np.clip(share * traits.unknowns_per_sample**power, *FIRST_SIGMAS))


def _gamma_within(iterations: int, first_sigma: float, last_sigma: float) -> float:
    """Return the growth of rho that brings sigma from first to last in so many iterations."""
    return math.exp(2 * math.log(max(first_sigma / last_sigma, 1.0)) / max(iterations - 1, 1))
