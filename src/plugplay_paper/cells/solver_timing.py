"""The cell that times the model's step of super-resolution: the closed form and conjugate gradients."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay import kernels
from plugplay.models import SuperResolution
from plugplay_paper.conjugate_gradients import NormalEquations
from plugplay_paper.fingerprints import Fingerprinted
from plugplay_paper.images import TestImage

if TYPE_CHECKING:
    from plugplay.models import DataTerm
    from plugplay_paper.arrays import FloatArray

__all__ = ["REPEATS", "RHO", "SolverTiming", "SolverTimingRecord"]

RHO = 1e-3
NOISE = 5 / 255
REPEATS = 7
MAX_STEPS = 300
# Conjugate gradients stop here, far below what an image shows.
MIN_RESIDUAL = 1e-8


@dataclass(frozen=True)
class SolverTimingRecord:
    """Seconds of the closed form; seconds and relative distance from the solution after each iteration of CG."""

    closed_form: float
    cg_seconds: tuple[float, ...]
    cg_distance: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SolverTiming(Fingerprinted):
    """Time both solvers on an image."""

    image: TestImage
    factor: int

    @property
    def record(self) -> type[SolverTimingRecord]:
        """What `measure` returns."""
        return SolverTimingRecord

    @property
    def label(self) -> str:
        """Factor and image."""
        return f"runtime of the model's step, x{self.factor}, {self.image.name}"

    @property
    def cost(self) -> float:
        """By the number of pixels."""
        return 1.0 + 60 * self.image.pixels.size / 1e6

    @property
    def alone(self) -> bool:
        """It measures time."""
        return True

    def measure(self) -> SolverTimingRecord:
        """Run both."""
        model = SuperResolution(self.factor, kernels.gaussian(9, sigma=1.0))
        truth = self.image.pixels.astype(np.float64)
        y = model.simulate(truth, noise=NOISE, rng=0)
        term = model.data_term(y)
        v = term.start()
        solution = term.prox(v, RHO)
        closed = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            term.prox(v, RHO)
            closed.append(time.perf_counter() - began)
        runs = [_conjugate_gradients(term, v, solution) for _ in range(REPEATS)]
        seconds, distance = min(runs, key=lambda run: run[0][-1])
        return SolverTimingRecord(min(closed), tuple(seconds), tuple(distance))


def _conjugate_gradients(term: DataTerm, v: FloatArray, solution: FloatArray) -> tuple[list[float], list[float]]:
    """Return the seconds so far and the distance from the solution after each iteration."""
    equations = NormalEquations.of(term)
    seconds, distance = [0.0], [_relative(v, solution)]
    clock = time.perf_counter()

    def note(x: FloatArray) -> None:
        nonlocal clock
        seconds.append(seconds[-1] + time.perf_counter() - clock)
        distance.append(_relative(x, solution))
        clock = time.perf_counter()  # looking at the distance is not the solver's time

    equations.solve(v, RHO, start=v, rtol=MIN_RESIDUAL, max_iter=MAX_STEPS, callback=note)
    return seconds, distance


def _relative(x: FloatArray, solution: FloatArray) -> float:
    return float(np.linalg.norm(x.ravel() - solution.ravel()) / np.linalg.norm(solution))
