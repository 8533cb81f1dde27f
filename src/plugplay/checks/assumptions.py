"""Whether the assumptions of Theorem 1 hold: of the data term, the denoiser and the schedule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plugplay.checks.report import Check
from plugplay.models.description import declared_lipschitz
from plugplay.pnp.schedules import Adaptive, Monotone, TwoSpeed

if TYPE_CHECKING:
    from plugplay.checks.boundedness import Boundedness
    from plugplay.models.base import DataTerm
    from plugplay.pnp.schedules import Schedule

__all__ = ["bounded_denoiser", "bounded_gradient", "growing_rho"]

# How near to the ends of [0, 1] the gradient is looked at.
DISTANCES = (1e-2, 1e-4, 1e-6, 1e-8)
# A gradient that grows by this factor over the last three of them has no bound: 1 / x grows by 10 000.
FACTOR = 10.0


def bounded_gradient(data_term: DataTerm) -> Check:
    """Check Assumption 1: the gradient of f is bounded on [0, 1]."""
    name = "Assumption 1, the gradient of f is bounded on [0, 1]"
    constant = declared_lipschitz(data_term)
    if constant is not None and math.isfinite(constant):
        return Check(name, True, f"the model says that it has the Lipschitz constant {constant:.4g}")
    for end, inward in ((0.0, 1.0), (1.0, -1.0)):
        sizes = [_gradient(data_term, end + inward * distance) for distance in DISTANCES]
        if not np.isfinite([_gradient(data_term, end), *sizes]).all() or sizes[-1] > FACTOR * sizes[1]:
            return Check(name, False, f"its RMS on flat images grows without bound near {end:g}: {_listed(sizes)}")
    return Check(name, True, "it is on flat images, up to the ends of the range")


def bounded_denoiser(found: Boundedness | None) -> Check:
    """Check Definition 1, as far as a search can tell."""
    name = "Definition 1, the denoiser is bounded"
    if found is None:
        return Check(name, False, "the denoiser failed when it was tried: see plugplay.check_denoiser")
    return Check(name, found.bounded, str(found))


def growing_rho(schedule: Schedule) -> Check:
    """Tell whether the schedule is a continuation scheme: rho grows by a factor above 1."""
    name = "rho grows"
    if isinstance(schedule, Monotone | TwoSpeed | Adaptive):
        return Check(name, schedule.gamma > 1, f"gamma is {schedule.gamma:g}")
    return Check(name, False, f"{type(schedule).__name__} is not one of the rules that the theorem is about")


def _gradient(data_term: DataTerm, level: float) -> float:
    gradient = data_term.gradient(np.full(data_term.shape, level))
    return float(np.sqrt(np.mean(np.square(gradient, dtype=np.float64))))


def _listed(sizes: list[float]) -> str:
    return ", ".join(
        f"{size:.3g} at a distance of {distance:g}" for size, distance in zip(sizes, DISTANCES, strict=True)
    )
