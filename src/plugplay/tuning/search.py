"""The search for the lambda of least risk, by trial restorations."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import check_choice, generator
from plugplay.models.description import residual_of
from plugplay.pnp.driver import Driver
from plugplay.tuning.case import Case
from plugplay.tuning.risk import FACTORS, inverse_weight, least_risk
from plugplay.tuning.rules import choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugplay.arrays.checks import FloatArray
    from plugplay.models.base import Model
    from plugplay.pnp.iterations import Iteration
    from plugplay.pnp.results import Parameters

__all__ = ["LambdaSearch", "search_for"]


@dataclass(frozen=True, eq=False)
class LambdaSearch:
    """A search that is done when the run begins, so that it reports progress and can be cancelled.

    Attributes
    ----------
    model : Model
        The model.
    y : array
        The observation, zero where nothing was observed.
    case : Case
        What the automatic parameters depend on.
    rng : numpy.random.Generator
        Source of the random direction.
    """

    model: Model
    y: FloatArray
    case: Case
    rng: np.random.Generator

    def best(self, parameters: Parameters, iteration: Iteration, progress: Callable[[float], object] | None) -> float:
        """Return the lambda of least risk; `progress` may raise `Cancelled` at any time."""
        trials = 2 * len(FACTORS)
        done = 0

        def tell(share: float) -> None:
            if progress is not None:
                progress((done + share) / trials)

        def predict(y: FloatArray, lam: float) -> FloatArray:
            nonlocal done
            term = self.model.data_term(y)
            trial = replace(parameters, lam=lam, schedule=choose(self.case, lam=lam).schedule)
            driver = Driver(term, parameters.prepared, iteration, trial)  # type: ignore[arg-type]
            limit = max(trial.min_iter or trial.max_iter, 1)
            for state in driver.states():
                tell(min(state.iteration / limit, 1.0))
            done += 1
            residual = residual_of(term, iteration.image(driver.state))
            if residual is None:
                raise ValueError(f"tune='sure' needs a data term with residual(x); {type(term).__name__} has none")
            observed = self.case.traits.observed
            return y + residual if observed is None else np.where(observed, y + residual, y.dtype.type(0))

        def deconvolve(y: FloatArray) -> FloatArray:
            term = self.model.data_term(y)
            return term.prox(np.zeros(term.shape, y.dtype), inverse_weight(self.case.noise))

        # A copy, so that the same plan finds the same lambda again.
        rng = copy.deepcopy(self.rng)
        return least_risk(predict, deconvolve, self.y, noise=self.case.noise, lam=parameters.lam, rng=rng)


def search_for(
    tune: str,
    lam: float | None,
    model: Model,
    y: FloatArray,
    case: Case,
    described: object,
    rng: np.random.Generator | int | None,
) -> LambdaSearch:
    """Return the search that was asked for, or raise if there can be none."""
    check_choice(tune, "tune", ("sure",))
    if lam is not None:
        raise ValueError(f"tune={tune!r} searches for lambda, but lam={lam!r} was given: give only one of them")
    if not isinstance(described, float):
        raise ValueError(f"tune='sure' needs Gaussian noise on a linear model; got {type(model).__name__}")
    observed = case.traits.observed
    values = y if observed is None else np.where(observed, y, y.dtype.type(0))
    return LambdaSearch(model, values, case, generator(rng, "tune='sure'"))
