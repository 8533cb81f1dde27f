"""Automatic parameters: what noise there is, and which lambda, schedule and tolerance suit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay.schedules import Constant, Monotone, Schedule

if TYPE_CHECKING:
    from plugplay.models.base import Model

__all__ = ["Choice", "choose"]


@dataclass(frozen=True)
class Choice:
    """Parameters of Algorithm 1 that were chosen, not given."""

    lam: float
    schedule: Schedule
    tol: float
    max_iter: int
    clip: tuple[float, float] | None = (0.0, 1.0)


def choose(model: Model, noise: float) -> Choice:
    """Choose the parameters for a model and the standard deviation of its noise on the scale [0, 1]."""
    from plugplay.models import Denoising, SinglePhoton

    if isinstance(model, Denoising):
        # One step from y with rho = 1 is the denoiser itself: v = D(y), sigma = noise.
        return Choice(max(noise, 1e-6) ** 2, Constant(1.0), tol=1e3, max_iter=1, clip=None)
    if isinstance(model, SinglePhoton):
        lam = 0.5
        return Choice(lam, Monotone(lam / 0.3**2, 1.2), tol=1e-3, max_iter=40)
    lam = max(0.5 * noise**2, 1e-5)
    return Choice(lam, Monotone(lam / 0.2**2, 1.3), tol=1e-3, max_iter=40)
