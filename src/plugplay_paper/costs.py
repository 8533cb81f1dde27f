"""About how long methods take, for the estimate of a run's duration; no number in a table depends on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from plugplay_paper.methods import (
    Automatic,
    ConvolutionalNetwork,
    FirstGuess,
    GaussianProcess,
    ImagesFromBits,
    PlugAndPlay,
    SelfExemplars,
    SparseCoding,
    StatisticalPrediction,
    TotalVariationADMM,
)
from plugplay_paper.model_steps import ClosedForm
from plugplay_paper.problems import Photons

if TYPE_CHECKING:
    from plugplay_paper.methods import Method
    from plugplay_paper.problems import Problem

__all__ = ["seconds_per_megapixel"]

# Seconds that a denoising of a megapixel takes on one core, about, within a restoration.
SECONDS = {
    "bm3d": 0.45,
    "tv": 0.4,
    "nlm": 0.7,
    "dsg-nlm": 1.3,
    "wavelet": 0.5,
    "recursive": 0.15,
    "bilateral": 0.4,
    "median": 0.3,
    "gaussian": 0.05,
}
# Drawing the bits of a megapixel and counting them.
PHOTONS = 3.0


def seconds_per_megapixel(method: Method, problem: Problem) -> float:
    """Return about how many seconds a method takes for a megapixel, on one core."""
    match method:
        case FirstGuess():
            return PHOTONS if isinstance(problem, Photons) else 0.2
        case PlugAndPlay():
            solving = 0.0 if isinstance(method.step, ClosedForm) else 0.5
            memory = 1.0 if method.sessions else 1.6
            return _iterations(method) * (memory * _iteration(method.denoiser, problem) + solving)
        case Automatic() if isinstance(problem, Photons):
            return PHOTONS + 3 * _iteration(method.denoiser, problem)
        case Automatic():
            return 28 * _iteration(method.denoiser, problem)
        case TotalVariationADMM():
            return 40 * _iteration("tv", problem)
        case ImagesFromBits():
            return PHOTONS + _iteration(method.denoiser, problem)
        case GaussianProcess():
            return 30.0
        case SparseCoding():
            return 4.0
        case ConvolutionalNetwork():
            return 3.0
        case StatisticalPrediction():
            return 2.5
        case SelfExemplars():
            return 12.0
        case _:
            return 10.0


def _iterations(method: PlugAndPlay) -> float:
    gamma = getattr(method.schedule, "gamma", 1.0)
    if gamma <= 1:
        return method.max_iter
    # Sigma falls from its first value to where nothing moves any more, by sqrt(gamma) an iteration.
    fall = math.log(method.lam / method.schedule.rho0 / 1e-5) / math.log(gamma)
    return min(max(fall, 5.0), method.max_iter)


def _iteration(denoiser: str, problem: Problem) -> float:
    return SECONDS.get(denoiser, 0.5) + (0.6 if isinstance(problem, Photons) else 0.1)
