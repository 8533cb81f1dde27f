"""The parameters of the loop: the chosen ones, replaced by those that were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugplay.arrays.checks import check_number
from plugplay.denoisers.base import name_of
from plugplay.pnp.results import Parameters

if TYPE_CHECKING:
    from plugplay.denoisers.base import Denoiser
    from plugplay.pnp.schedules import Schedule
    from plugplay.tuning.case import Choice

__all__ = ["loop_of"]


def loop_of(
    prior: Denoiser, choice: Choice, clip: tuple[float, float] | None, way: str, rho: Schedule | None, tol: float | None
) -> Parameters:
    """Return the parameters of the loop, with the schedule and the tolerance that were given."""
    return Parameters(
        denoiser=name_of(prior),
        prepared=prior,
        schedule=choice.schedule if rho is None else rho,
        lam=choice.lam,
        tol=choice.tol if tol is None else check_number(tol, "tol", minimum=0),
        max_iter=choice.max_iter,
        stop_rule="sum",
        clip=clip,
        iteration=way,
        last_sigma=choice.last_sigma,
        min_iter=choice.min_iter,
    )
