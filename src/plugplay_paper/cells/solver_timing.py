"""The cell that times the model's step of super-resolution: the closed form and conjugate gradients."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from plugplay import kernels
from plugplay.arrays.records import Fingerprinted
from plugplay.models import SuperResolution
from plugplay_paper.images import Picture

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray

__all__ = ["REPEATS", "RHO", "SolverTiming", "SolverTimingRecord"]

RHO = 1e-3
NOISE = 5 / 255
REPEATS = 7
MOST_STEPS = 300
# Conjugate gradients stop here, far below what a picture shows.
SMALLEST_RESIDUAL = 1e-8


@dataclass(frozen=True)
class SolverTimingRecord:
    """Seconds of the closed form; seconds and relative distance from the solution after each iteration of CG."""

    closed_form: float
    cg_seconds: tuple[float, ...]
    cg_distance: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SolverTiming(Fingerprinted):
    """Time both solvers on a picture."""

    picture: Picture
    factor: int

    @property
    def record(self) -> type[SolverTimingRecord]:
        """What `measure` returns."""
        return SolverTimingRecord

    @property
    def label(self) -> str:
        """Factor and picture."""
        return f"runtime of the model's step, x{self.factor}, {self.picture.name}"

    @property
    def cost(self) -> float:
        """By the number of pixels."""
        return 1.0 + 60 * self.picture.pixels.size / 1e6

    @property
    def alone(self) -> bool:
        """It measures time."""
        return True

    def measure(self) -> SolverTimingRecord:
        """Run both."""
        model = SuperResolution(self.factor, kernels.gaussian(9, sigma=1.0))
        truth = self.picture.pixels.astype(np.float64)
        y = model.simulate(truth, noise=NOISE, rng=0)
        term = model.data_term(y)
        v = term.start()
        solution = term.prox(v, RHO)
        closed = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            term.prox(v, RHO)
            closed.append(time.perf_counter() - began)
        runs = [_conjugate_gradients(model, y, v, solution) for _ in range(REPEATS)]
        seconds, distance = min(runs, key=lambda run: run[0][-1])
        return SolverTimingRecord(min(closed), tuple(seconds), tuple(distance))


def _conjugate_gradients(
    model: SuperResolution, y: FloatArray, v: FloatArray, solution: FloatArray
) -> tuple[list[float], list[float]]:
    """Return the seconds so far and the distance from the solution after each iteration."""
    blur = model.data_term(y).blur
    n = v.size

    def normal(x: FloatArray) -> FloatArray:
        image = x.reshape(v.shape)
        product: FloatArray = (blur.adjoint(blur.forward(image)) + RHO * image).ravel()
        return product

    operator = LinearOperator((n, n), normal, dtype=v.dtype)
    right = (blur.adjoint(y) + RHO * v).ravel()
    seconds, distance = [0.0], [_relative(v.ravel(), solution)]
    clock = time.perf_counter()

    def note(x: FloatArray) -> None:
        nonlocal clock
        seconds.append(seconds[-1] + time.perf_counter() - clock)
        distance.append(_relative(x, solution))
        clock = time.perf_counter()  # looking at the distance is not the solver's time

    cg(operator, right, x0=v.ravel(), rtol=SMALLEST_RESIDUAL, maxiter=MOST_STEPS, callback=note)
    return seconds, distance


def _relative(x: FloatArray, solution: FloatArray) -> float:
    return float(np.linalg.norm(x - solution.ravel()) / np.linalg.norm(solution))
