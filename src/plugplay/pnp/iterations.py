"""Iterations: how one pass of the loop combines the model's step and the denoiser's.

To add one: write a module in this package with a frozen dataclass that has ``name``, ``init``, ``step`` and ``image``,
and add one line to `ITERATIONS`.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from plugplay.arrays.checks import FloatArray, check_choice
from plugplay.arrays.sums import sum_of_squared_differences, sum_of_squares
from plugplay.models.base import DataTerm, ProxSession
from plugplay.models.description import known_fidelity, lipschitz_of
from plugplay.pnp.state import History, State

__all__ = ["ITERATIONS", "Diverged", "Iteration", "Pass", "Problem", "get_iteration", "rms", "rms_difference"]

# Iterates are on the scale [0, 1]; an RMS beyond this means divergence.
EXPLODED = 1e3


class Diverged(Exception):  # noqa: N818 - internal, no error for users
    """The iterates have exploded."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays the same from pass to pass.

    Attributes
    ----------
    data_term : DataTerm
        f.
    steps : ProxSession
        Its proximal steps, which may remember the last one.
    denoise : callable
        ``(image, sigma) -> image``, with its result checked.
    lam : float
        Lambda.
    clip : (float, float) or None
        The denoiser's input is clipped to this range.
    """

    data_term: DataTerm
    steps: ProxSession
    denoise: Callable[[FloatArray, float], FloatArray]
    lam: float
    clip: tuple[float, float] | None

    def sigma(self, rho: float) -> float:
        """Return ``sqrt(lambda / rho)``, the strength of the denoiser."""
        return math.sqrt(self.lam / rho)

    @functools.cached_property
    def lipschitz(self) -> float:
        """Lipschitz constant of the gradient of f, for iterations that follow it."""
        constant = lipschitz_of(self.data_term)
        if not math.isfinite(constant):
            raise ValueError(
                "this iteration follows the gradient of f, which is not bounded for this model: use iteration='admm' "
                "or 'hqs'"
            )
        return constant

    def prox(self, target: FloatArray, rho: float) -> FloatArray:
        """Take the model's step, ``argmin f(x) + rho/2 ||x - target||²``."""
        return np.array(self.steps.prox(target, rho))  # a copy: the session may reuse its memory

    def known_fidelity(self) -> float:
        """Return f(x) after the last model's step if it is known without computing it; else NaN."""
        return known_fidelity(self.steps)

    def clipped(self, w: FloatArray) -> FloatArray:
        """Return the denoiser's input."""
        return w if self.clip is None else np.clip(w, *self.clip)


@dataclass(frozen=True, eq=False)
class Pass:
    """The new x, v and u of one pass, f(x) if it is known already, and figures that only ADMM has."""

    x: FloatArray
    v: FloatArray
    u: FloatArray
    model_move: float = math.nan
    denoiser_move: float = math.nan
    clip_move: float = math.nan
    dual: float = math.nan
    fidelity: float = math.nan


class Iteration(Protocol):
    """How one pass combines data term and denoiser; the driver does the rest."""

    @property
    def name(self) -> str:
        """Name of the iteration."""
        ...

    def init(self, first: FloatArray, rho: float) -> State:
        """Return the state before the first pass, from a first guess of the image and the first rho."""
        ...

    def step(self, problem: Problem, state: State) -> Pass:
        """Do one pass; raise `Diverged` if the iterates explode."""
        ...

    def image(self, state: State) -> FloatArray:
        """Return the iterate that is the restored image, before cropping."""
        ...


ITERATIONS: Mapping[str, str] = {
    "admm": "plugplay.pnp.admm:ADMM",
    "hqs": "plugplay.pnp.hqs:HQS",
    "pgd": "plugplay.pnp.gradient:PGD",
    "fista": "plugplay.pnp.gradient:FISTA",
    "red": "plugplay.pnp.red:RED",
}


def get_iteration(name: str | Iteration) -> Iteration:
    """Return the iteration of this name; iteration objects are returned as they are.

    Examples
    --------
    >>> get_iteration("hqs").name
    'hqs'
    """
    if not isinstance(name, str):
        if not all(hasattr(name, member) for member in ("name", "init", "step", "image")):
            raise TypeError(f"iteration must be a name or have name, init, step and image; got {name!r}")
        return name
    module, _, attribute = ITERATIONS[check_choice(name, "iteration", tuple(ITERATIONS))].partition(":")
    made: Iteration = getattr(importlib.import_module(module), attribute)()
    return made


def first_state(first: FloatArray, rho: float) -> State:
    """Return the state x = v = first, u = 0, with which most iterations begin."""
    first = first.copy()
    zero = np.zeros_like(first)
    for array in (first, zero):
        array.setflags(write=False)
    return State(0, first, first, zero, rho, History.of([]))


def check_bounded(*arrays: FloatArray) -> None:
    """Raise `Diverged` if one of the arrays has exploded."""
    check_sizes(*(rms(array) for array in arrays))


def check_sizes(*sizes: float) -> None:
    """Raise `Diverged` if one of these root mean squares is that of an array that has exploded."""
    if not all(size <= EXPLODED for size in sizes):  # written so that NaN counts
        raise Diverged


def rms(array: FloatArray) -> float:
    """Return the root mean square, summed in a fixed order whatever the number of threads."""
    with np.errstate(over="ignore"):
        return math.sqrt(sum_of_squares(array) / array.size)


def rms_difference(a: FloatArray, b: FloatArray) -> float:
    """Return the root mean square of a difference, summed in a fixed order."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.sqrt(sum_of_squared_differences(a, b) / a.size)
