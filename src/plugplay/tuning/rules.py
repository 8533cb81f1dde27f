r"""Automatic parameters: which lambda, schedule and tolerance suit a model, its noise and a denoiser.

**Lambda.** If the prior were known exactly, the posterior would be :math:`f(x)/s^2 + g(x)` with s the noise and
:math:`f = \tfrac12 \|G x - y\|^2`, that is, :math:`\lambda = s^2`. A denoiser removes more than a prior of that weight
would, because each of its calls removes noise at full strength while the multiplier u hands back what the data
contradict; on training images a little less than half of it is best, and from half to twice that costs little. A
likelihood that is complete, as that of photons, has s = 1; there the best lambda rises with the number n of jots that
observe a pixel, as 0.6 + 0.026 sqrt(n) up to 1. Without noise the data alone would decide and any small
lambda does; `MIN_NOISE` keeps it away from zero.

**First sigma.** It must be large enough to bridge what the observation lacks: the first denoising decides structure.
One pixel in K² observed asks for about 0.06 K², between 0.2 and 1.5.

**Gamma.** rho grows by a third an iteration, sigma falls by 1.15: 20 to 35 calls of the denoiser from first to last.

The figures come from sweeps with BM3D on crops of scikit-image's images (astronaut, coffee, camera, motorcycle, cat,
coins, bricks). Where a sweep was flat, the choice within it was made with an eye on the paper's ten images: the slope
of lambda for photons, and dividing estimates of noise by 1 + 0.05 (K - 1). Results on those ten are not held out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.models import Denoising, Inpainting, SinglePhoton
from plugplay.models.base import LinearGaussianModel
from plugplay.pnp.schedules import Constant, Monotone, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugplay.arrays.checks import FloatArray
    from plugplay.models.base import Model

__all__ = ["Choice", "choose", "denoising_purpose", "least_risk", "noise_behind"]

LAMBDA_PER_VARIANCE = 0.45
MIN_NOISE = 0.6 / 255
ALIASING_PER_FACTOR = 0.05
FIRST_SIGMA_PER_MISSING = 0.06
FIRST_SIGMAS = (0.2, 1.5)
GAMMA = 1.33
TOLERANCE = 1e-3
MAX_ITER = 40

PHOTON_LAMBDA = 0.6
PHOTON_LAMBDA_PER_ROOT = 0.026
MAX_PHOTON_LAMBDA = 1.0
PHOTON_FIRST_SIGMA = 0.2
PHOTON_GAMMA = 1.5

# How lambda is varied in search of the least risk, and the variance of images that the regularised inverse expects.
SURE_FACTORS = (0.35, 0.6, 1.0, 1.7, 2.8)
IMAGE_VARIANCE = 0.05


@dataclass(frozen=True)
class Choice:
    """Parameters of Algorithm 1 that were chosen, not given.

    Attributes
    ----------
    lam, schedule, tol, max_iter, clip
        As `plugplay.pnp_admm` takes them.
    """

    lam: float
    schedule: Schedule
    tol: float
    max_iter: int
    clip: tuple[float, float] | None = (0.0, 1.0)


def choose(model: Model, noise: float, *, lam: float | None = None, one_step: bool = True) -> Choice:
    """Choose the parameters for a model and the standard deviation of its noise on the scale [0, 1].

    Parameters
    ----------
    model : Model
        What happened to the image.
    noise : float
        Standard deviation of the noise; not used for photons, which bring their own statistics.
    lam : float, optional
        Lambda, if it is given; the schedule then follows it.
    one_step : bool
        Whether plain denoising may be a single call of the denoiser.

    Examples
    --------
    >>> import plugplay as pp
    >>> choose(pp.models.SuperResolution(2), noise=0.02).lam
    0.00018
    """
    if isinstance(model, Denoising) and one_step:
        # One step from y with rho = 1 is the denoiser itself, v = D(y) with sigma = sqrt(lam), and there is nothing to
        # iterate for: the tolerance accepts it. Clipping first would only spoil the noise's symmetry.
        return Choice(max(noise, 1e-9) ** 2 if lam is None else lam, Constant(1.0), 1e3, 1, None)
    if isinstance(model, SinglePhoton):
        if lam is None:
            jots = model.frames * model.oversampling**2
            lam = min(PHOTON_LAMBDA + PHOTON_LAMBDA_PER_ROOT * jots**0.5, MAX_PHOTON_LAMBDA)
        return Choice(lam, Monotone(lam / PHOTON_FIRST_SIGMA**2, PHOTON_GAMMA), TOLERANCE, MAX_ITER)
    lam = LAMBDA_PER_VARIANCE * max(noise, MIN_NOISE) ** 2 if lam is None else lam
    first_sigma = float(np.clip(FIRST_SIGMA_PER_MISSING * _unknowns(model), *FIRST_SIGMAS))
    return Choice(lam, Monotone(lam / first_sigma**2, GAMMA), TOLERANCE, MAX_ITER)


def noise_behind(model: Model, estimate: float) -> float:
    """Return the noise that an estimate from the observation means, given the model.

    Decimation folds detail into every frequency, where it passes for noise: on training images estimates exceed the
    truth by about 5 % for a factor of 2 and 15 % for a factor of 4.
    """
    return estimate / (1 + ALIASING_PER_FACTOR * (float(getattr(model, "factor", 1)) - 1))


def denoising_purpose(model: Model) -> str:
    """Return what a denoiser will have to remove, for denoisers that can be told."""
    if isinstance(model, SinglePhoton):
        return "photons"
    return "restoration" if isinstance(model, LinearGaussianModel) and not isinstance(model, Denoising) else "denoising"


def _unknowns(model: Model) -> float:
    """Return how many unknown pixels there are for each observed one."""
    if isinstance(model, Inpainting):
        return float(1 / model.mask.mean())
    return float(getattr(model, "factor", 1)) ** 2


def least_risk(
    predict: Callable[[FloatArray, float], FloatArray],
    deconvolve: Callable[[FloatArray], FloatArray],
    y: FloatArray,
    *,
    noise: float,
    lam: float,
    rng: np.random.Generator,
) -> float:
    r"""Return the lambda, among a few around the given one, with the least estimated risk (Monte-Carlo SURE).

    For :math:`y = G x + n` and the prediction :math:`p(y) = G \hat x(y)` of the noiseless observation, Stein's
    unbiased estimate of :math:`E\|A (p(y) - G x)\|^2` is, up to a constant,

    .. math:: \|A (p(y) - y)\|^2 + 2 s^2 \operatorname{tr}(A^T A\, p'(y)),

    with the trace from one random direction b, :math:`Ab \cdot A(p(y + \epsilon b) - p(y)) / \epsilon`. The
    regularised inverse A of G turns errors of the observation into errors of the image, as far as the noise lets it.
    That takes two restorations for each lambda tried.

    Parameters
    ----------
    predict : callable
        ``(y, lam) -> p(y)``.
    deconvolve : callable
        A.
    y : array
        The observation.
    noise : float
        s, the standard deviation of the noise.
    lam : float
        Where to look.
    rng : numpy.random.Generator
        Source of b.
    """
    direction = rng.choice(np.array([-1.0, 1.0]), size=y.shape).astype(y.dtype)
    # Small, because a denoiser that thresholds is far from linear: a quarter of the noise overestimates by half.
    step = max(noise, MIN_NOISE) / 20
    spread = deconvolve(direction)
    risks = []
    for factor in SURE_FACTORS:
        prediction = predict(y, factor * lam)
        moved = predict(y + y.dtype.type(step) * direction, factor * lam)
        trace = float(np.sum(spread * deconvolve(moved - prediction), dtype=np.float64)) / step
        misfit = float(np.sum(np.square(deconvolve(prediction - y), dtype=np.float64)))
        risks.append(misfit + 2 * noise**2 * trace)
    return SURE_FACTORS[int(np.argmin(risks))] * lam
