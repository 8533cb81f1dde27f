r"""Automatic parameters: which lambda, schedule and tolerance suit a model, its noise and a denoiser.

**Lambda.** If the prior were known exactly, the posterior would be :math:`f(x)/s^2 + g(x)` with s the noise and
:math:`f = \tfrac12 \|G x - y\|^2`, that is, :math:`\lambda = s^2`. Two things move it.

*From below.* The noise in x has the spectrum :math:`s^2 |\hat h|^2 / (|\hat h|^2 + \rho)^2`, whose peak, at
:math:`|\hat h|^2 = \rho`, is :math:`s^2 / 4 \rho`. The denoiser is told :math:`\sigma^2 = \lambda / \rho`. Below
:math:`\lambda = s^2 / 4` the peak is stronger than what it is told, passes its threshold and winds up in u: a cliff,
from which every choice stays away.

*From above.* A denoiser removes white noise of variance sigma² in full, but where only a share e of all frequencies
carries noise (the others were wiped out by the blur) so much less is there, and lambda may be smaller. Let the
observation decide a share e of the frequencies of a natural image (`plugplay.tuning.transmission`). Then

.. math:: \lambda = (0.35 + 0.70\, e\, t)\, s^2, \qquad t = \sqrt{s / s_0}, \quad 0.5 \le t \le 1, \quad s_0 = 2/255,

goes from a third of s² for strong blur and noise to all of it for a blur close to the identity. Without t the line was
0.06 dB below the best lambda on average in a sweep over 15 kernels, 3 noise levels and 2 images, with two stages of
BM3D. With its fourth stage the best lambda is lower where there is little noise, which is what t is for: with noise of
0.5/255 it gains 0.03 to 0.25 dB for seven kernels, with 1/255 -0.05 to +0.09 dB (means over camera, chelsea, brick,
nuthatch, motorcycle and bridge, 128 x 128 pixels); on six images without a say (moon, astronaut, retina, rocket, wine,
seeding) -0.01 to +0.17 and -0.08 to +0.08 dB, single ones from -0.44 to +0.38 dB.

The line is too low for images with little detail, and for those that repeat: a denoiser keeps what it takes for detail,
and a prior for natural images is too weak for them. How much more they need is found in `plugplay.tuning.rehearsal`, by
restoring a part of the image; the power of the detail that the observation shows tells too little (77 cases of images
that had no say, two stages: the line alone is 0.21 dB below the best lambda, a rule of that power was 0.12, the
rehearsal is 0.09). Images with missing pixels, and runs with other denoisers or with a given schedule or number of
iterations, have the line. Operators without a spectrum get 0.45 s². Blur close to the identity is another matter:
`plugplay.tuning.mild_blur`.

A likelihood that is complete, as that of photons, has s = 1; there the best lambda rises with the number n of jots that
observe a pixel, as 0.6 + 0.026 sqrt(n) up to 1. Without noise the data alone would decide and any small
lambda does; `MIN_NOISE` keeps it away from zero.

**First sigma.** It must be large enough to bridge what the observation lacks: the first denoising decides structure.
One pixel in K² observed asks for about 0.075 K^1.5, or 0.06 K² of counts, between 0.2 and 1.5. Holes in an image
begin from a spline (`plugplay.models.filling`), which has the coarse structure already: 0.2 for lines, which the
denoiser must reach across, and 0.15 where more than half of all pixels are missing, which are then scattered and
never far from others. Most of a hole as wide as an object is out of its reach. There 0.1 is as good on average as 0.2
(15 images with two masks of ellipses each: six of scikit-image, and nine photographs that `benchmarks/holes.py` does
not use) and flattens smooth skies less.

**Gamma.** rho grows by a third an iteration, sigma falls by 1.15: 20 to 35 calls of the denoiser from first to last.
If fewer iterations are allowed than that takes, rho grows faster, so that the run ends where it should.

**Faster where it is known to be safe.** Deblurring images of some size with uniform noise, rho grows by 1.6 an
iteration and lambda is 1.15 times as large, because what is denoised less often is denoised more. The first sigma is
half as large again, but not with hardly any noise (`plugplay.tuning.first_sigma`): with the usual one a photograph of a
bridge loses 2.5 dB behind box blur with noise of 5/255. Once it was a quarter larger. The one iteration that the
difference takes gains 0.07 dB on average, from -0.23 to +1.05 dB (52 cases of ``benchmarks/automatic.py`` on nine
images that rules are found on); twice the usual one loses up to 0.8 dB. Lambda was a tenth larger with that one. With
0.85 of it these nine and three with holes gain 0.01 dB on average, and six images without a say lose 0.07 dB; now 1.15
is 0.01 dB worse than 1.1 on the twelve, but it is further away from the cliff, which a photograph of a retina (Gaussian
of 0.5 pixels, noise 20/255) comes close to, and that decided.
Where black and white come from blurred data, the image exceeds them and the same sigma is less of its contrast. Bricks,
squeezed to a fifth of the range, then settle for a wrong pattern (disk of 5 pixels: 3.8 dB below what they have at full
contrast); there the first sigma is half as large again, unless a background says that nothing is darker.
``python benchmarks/levels.py`` compares with the slow schedule. The run on a coarse grid
that comes first where the blur is wide (`plugplay.levels`) has rho growing by 2.5 and a lambda a fifth larger; its
details are done again.

**Super-resolution.** BM3D's third and fourth stages take part (`plugplay.denoisers.bm3d.denoiser`). With noise of
1.5/255 or more, rho grows by 1.87 - 0.135 K from a sigma of 0.28 at least, with lambda = (0.6 - 0.025 K) s², and the
run ends at 4e-3: 14 calls for K = 2 and 22 for K = 4. On eight crops with noise of 5 and 10/255 (camera, astronaut,
coffee, motorcycle, nuthatch, coins, brick, and bridge or dragonfly), growing by 1.7 from 0.21 would cost K = 2 0.05 dB
on average, growing by 1.6 would cost K = 4 0.08 dB, most of it on the repeating bricks.

Nearly exact data have two speeds. rho grows by `GAMMA` until sigma is `SETTLED_SIGMA`, as structure takes time: by 1.6
from the start camera would lose 0.1 dB, and bricks 0.9 dB by 4. From there on it grows by `SETTLED_GAMMA`, where few
calls with dense blocks are as good as many with sparse ones (`plugplay.denoisers.bm3d.loop`). Smooth images also need a
tolerance not above the noise. Slower schedules, other first sigmas, lambdas and thresholds change less than 0.05 dB
there, and so does averaging several runs. Where the noise is not told, folded detail must not pass for it: see
`plugplay.tuning.decimation`.

**Tolerance.** 2e-3 instead of 1e-3 ends runs four iterations sooner: on seven photographs inpainting gains
0.02 dB by it. 4e-3 is enough for plain deblurring: 3e-3 took one iteration more and changed PSNR by 0.00 dB on average
(18 images with four kernels and noise of 2 to 10/255, from -0.13 to +0.11 dB), and 2e-3 gained 0.01 dB over that.
Photons keep 1e-3. How many iterations it takes is planned for, and what is reported is three times as large:
`plugplay.tuning.length`.

**Half-quadratic splitting** has no multiplier that hands anything back: lambda is 0.23 s², and sigma falls from
49/255 to s, evenly on a logarithmic scale, in a dozen iterations.

The figures come from sweeps with BM3D on crops of scikit-image's images (astronaut, coffee, camera, motorcycle, cat,
coins, bricks). Where a sweep was flat, the choice within it was made with an eye on the paper's ten images: the slope
of lambda for photons, and dividing estimates of noise by 1 + 0.05 (K - 1). Results on those ten are not held out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from plugplay.arrays.masks import share_inside
from plugplay.pnp.schedules import Constant, Monotone, Schedule, TwoSpeed
from plugplay.traits import NEARLY_EXACT, SETTLED_SIGMA
from plugplay.tuning.first_sigma import first_sigma_share
from plugplay.tuning.length import SLACK, is_known, planned_iterations
from plugplay.tuning.mild_blur import leaves_nearly_white_noise, rho_after_denoising
from plugplay.tuning.transmission import transmission

if TYPE_CHECKING:
    from plugplay.traits import Traits

__all__ = [
    "MIN_NOISE",
    "Case",
    "Choice",
    "choose",
    "leaves_white_noise",
]

LAMBDA_PER_VARIANCE = 0.45
# The line from strong blur to the identity.
LAMBDA_OF_NOTHING, LAMBDA_PER_TRANSMISSION = 0.35, 0.70
LITTLE_NOISE, MIN_TRUST = 2 / 255, 0.5
MILD_LAMBDA = 0.9
MIN_NOISE = 0.6 / 255
MAX_SHARE_OF_MARGIN = 0.1
FIRST_SIGMA_PER_MISSING, FIRST_SIGMA_POWER, FIRST_SIGMA_AMONG_PHOTONS = 0.075, 0.75, 0.06
FIRST_SIGMAS = (0.2, 1.5)
LINES_FIRST_SIGMA, SCATTERED_FIRST_SIGMA, OBJECTS_FIRST_SIGMA = 0.2, 0.15, 0.1
# Of what is missing, the share with nothing observed within so many pixels.
MIN_INSIDE, INSIDE_REACH = 0.25, 4
GAMMA = 1.33
COARSE_GAMMA, COARSE_LAMBDA = 2.5, 1.2
FINE_GAMMA, FINE_LAMBDA = 1.6, 1.15
# Where a range comes from blurred data, the image exceeds it.
FIRST_SIGMA_BEYOND = 1.5
# The larger the factor, the slower; with nearly exact data as slowly as elsewhere.
DECIMATED_GAMMA, GAMMA_PER_FACTOR = 1.87, 0.135
DECIMATED_LAMBDA, LAMBDA_PER_FACTOR = 0.6, 0.025
DECIMATED_FIRST_SIGMA = 0.28
# With nearly exact data, from `SETTLED_SIGMA` on.
SETTLED_GAMMA = 1.5
TOLERANCE, BLUR_TOLERANCE, DECIMATED_TOLERANCE, PHOTON_TOLERANCE = 2e-3, 4e-3, 4e-3, 1e-3
# Behind a mild blur an image is as exact as its data, and what changes by their noise has not converged.
MILD_TOLERANCE_PER_NOISE = 0.75
MAX_ITER = 40
# Runs that converge do so near this multiple of the noise.
LAST_SIGMA_PER_NOISE = 0.5

PHOTON_LAMBDA = 0.6
PHOTON_LAMBDA_PER_ROOT = 0.026
MAX_PHOTON_LAMBDA = 1.0
PHOTON_FIRST_SIGMA = 0.2
PHOTON_GAMMA = 1.5

HQS_LAMBDA_PER_VARIANCE = 0.23
HQS_FIRST_SIGMA = 49 / 255
HQS_ITERATIONS = 12


@dataclass(frozen=True)
class Choice:
    """Parameters that were chosen, not given.

    Attributes
    ----------
    lam, schedule, tol, max_iter, clip
        As `plugplay.pnp_admm` takes them.
    last_sigma : float
        The run ends before sigma falls below this level.
    min_iter : int
        The iterations before which the tolerance does not count; 0 if the length of the run is not known.
    """

    lam: float
    schedule: Schedule
    tol: float
    max_iter: int
    clip: tuple[float, float] | None = (0.0, 1.0)
    last_sigma: float = 0.0
    min_iter: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """What the choice depends on, and nothing else.

    Attributes
    ----------
    traits : Traits
        What the model says about itself.
    noise : float
        Standard deviation of the noise on the working scale; not used for photons, which bring their own statistics.
    noise_margin : float
        By how much the noise may well be above that level, if it was estimated.
    iteration : str
        Name of the iteration.
    strength : float
        Multiplies the automatic lambda.
    max_iter : int, optional
        The limit of iterations, if it is given; the schedule then comes to its end within it.
    one_step : bool
        Whether plain denoising may be a single call of the denoiser.
    min_sigma : float
        The level below which the denoiser no longer improves an image.
    grid : {"only", "coarse", "fine"}
        "coarse" if the run prepares another on a coarse grid, "fine" for plain deblurring on the full one, after such a
        run or without, and "only" for all others.
    uniform : bool
        Whether the noise is the same everywhere, as that of photons is not.
    planned : bool
        Whether schedule and tolerance are both chosen, so that the length of the run can be.
    beyond : bool
        Whether black and white are those of the data, and the image may be darker and brighter.
    """

    traits: Traits
    noise: float
    noise_margin: float = 0.0
    iteration: str = "admm"
    strength: float = 1.0
    max_iter: int | None = None
    one_step: bool = True
    min_sigma: float = 0.0
    grid: Literal["only", "coarse", "fine"] = "only"
    uniform: bool = True
    planned: bool = True
    beyond: bool = False


def choose(case: Case, *, lam: float | None = None) -> Choice:
    """Choose the parameters for a case.

    Parameters
    ----------
    case : Case
        Model, noise and denoiser, as far as they matter.
    lam : float, optional
        Lambda, if it is given; the schedule then follows it.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> traits = pp.models.SuperResolution(2).traits(np.zeros((8, 8)))
    >>> round(choose(Case(traits=traits, noise=0.02)).lam, 6)
    0.00022
    """
    traits, noise, max_iter = case.traits, case.noise, case.max_iter
    if case.iteration == "denoise-first" and traits.spectrum is not None:
        rho = rho_after_denoising(traits.spectrum, noise)
        return Choice(case.strength * rho * noise**2, Constant(rho), 1e3, 1, None)
    if case.one_step and leaves_white_noise(traits):
        # One step from y with rho = 1 is the denoiser itself, v = D(y) with sigma = sqrt(lam), and there is nothing to
        # iterate for: the tolerance accepts it. Clipping first would only spoil the noise's symmetry.
        weight = case.strength * max(noise, 1e-9) ** 2 if lam is None else lam
        return Choice(weight, Constant(1.0), 1e3, 1, None)
    # An estimate may be too low, and the cliff lies there; on the other side little is lost. Behind a mild blur as much
    # is lost on either side.
    mild = leaves_nearly_white_noise(traits, noise)
    floor = max(noise + (0.0 if mild else min(case.noise_margin, MAX_SHARE_OF_MARGIN * noise)), MIN_NOISE)
    gamma, first_sigma, last_sigma = GAMMA, _first_sigma(traits, case.uniform), LAST_SIGMA_PER_NOISE * floor
    faster = 1.0
    tol = TOLERANCE if case.grid == "only" else BLUR_TOLERANCE
    if mild:
        tol = min(tol, MILD_TOLERANCE_PER_NOISE * floor)
    limit = MAX_ITER if max_iter is None else max_iter
    if traits.weight is not None:
        gamma, first_sigma, last_sigma = PHOTON_GAMMA, PHOTON_FIRST_SIGMA, PHOTON_FIRST_SIGMA / 50
        tol = PHOTON_TOLERANCE
        samples = round(1 / traits.unknowns_per_sample)
        weight = traits.weight * min(PHOTON_LAMBDA + PHOTON_LAMBDA_PER_ROOT * samples**0.5, MAX_PHOTON_LAMBDA)
    elif case.iteration == "hqs":
        weight, first_sigma, last_sigma = HQS_LAMBDA_PER_VARIANCE * floor**2, max(HQS_FIRST_SIGMA, 2 * floor), floor
        limit = HQS_ITERATIONS if max_iter is None else max_iter
        gamma = _gamma_within(limit, first_sigma, last_sigma)
    else:
        # Behind a mild blur detail that is weak is seen, too, and little of it should be lost.
        weight = (MILD_LAMBDA if mild else 1.0) * _lambda_per_variance(traits, floor) * floor**2
        if case.grid == "coarse":
            weight, gamma = COARSE_LAMBDA * weight, COARSE_GAMMA
        elif traits.decimation > 1 and case.uniform:
            tol = min(DECIMATED_TOLERANCE, floor)
            if floor >= NEARLY_EXACT:
                gamma = max(DECIMATED_GAMMA - GAMMA_PER_FACTOR * traits.decimation, GAMMA)
                share = max(DECIMATED_LAMBDA - LAMBDA_PER_FACTOR * traits.decimation, LAMBDA_PER_VARIANCE)
                weight = share * floor**2
                first_sigma = max(first_sigma, DECIMATED_FIRST_SIGMA)
            else:
                faster = SETTLED_GAMMA
        elif case.grid == "fine":
            weight, gamma = FINE_LAMBDA * weight, FINE_GAMMA
            first_sigma *= first_sigma_share(_decided(traits, floor), floor)
            first_sigma *= FIRST_SIGMA_BEYOND if case.beyond else 1.0
    lam = case.strength * weight if lam is None else lam
    last_sigma = max(last_sigma, case.min_sigma)
    if max_iter is not None:
        gamma = max(gamma, _gamma_within(limit, first_sigma, last_sigma))
        if limit == 1:  # a single denoising should be that of the end
            first_sigma = last_sigma
    schedule: Schedule = Monotone(lam / first_sigma**2, gamma)
    if faster > gamma:
        schedule = TwoSpeed(lam / first_sigma**2, gamma, turn=lam / SETTLED_SIGMA**2, faster=faster)
    choice = Choice(lam, schedule, tol, limit, last_sigma=case.min_sigma)
    if not (case.planned and case.iteration == "admm" and is_known(traits)):
        return choice
    count = planned_iterations(
        traits,
        floor,
        first_sigma=first_sigma,
        gamma=gamma,
        turn=(SETTLED_SIGMA, faster) if faster > gamma else None,
        tol=tol,
        coarse=case.grid == "coarse",
        uniform=case.uniform,
        min_sigma=case.min_sigma,
    )
    return replace(choice, tol=SLACK * tol, min_iter=min(count, limit))


def leaves_white_noise(traits: Traits) -> bool:
    """Tell whether there is nothing to invert, so that a single denoising is all that is needed."""
    return traits.unknowns_per_sample == 1 and traits.weight is None and traits.leaves == "white"


def _lambda_per_variance(traits: Traits, noise: float) -> float:
    if traits.spectrum is None or traits.decimation > 1:
        return LAMBDA_PER_VARIANCE
    share = _decided(traits, noise)
    trust = float(np.clip(math.sqrt(noise / LITTLE_NOISE), MIN_TRUST, 1))
    return LAMBDA_OF_NOTHING + LAMBDA_PER_TRANSMISSION * share * trust


def _decided(traits: Traits, noise: float) -> float:
    """Return the share of all frequencies that the observation decides; pixels that are missing decide nothing."""
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
