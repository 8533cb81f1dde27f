"""The cell that most tables and figures are made of: one image, degraded once and restored once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay import psnr
from plugplay_paper.costs import seconds_per_megapixel
from plugplay_paper.fingerprints import Fingerprinted
from plugplay_paper.images import TestImage
from plugplay_paper.methods import Method
from plugplay_paper.problems import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay import State
    from plugplay_paper.arrays import FloatArray

__all__ = ["Trial", "TrialRecord"]

# Side of the image that a method sees before its time is taken: compiling is not part of it.
WARM_UP = 48


@dataclass(frozen=True, eq=False)
class TrialRecord:
    """What a trial measured.

    Attributes
    ----------
    psnr : float
        Of the restored image, both clipped to [0, 1], in dB.
    seconds : float
        What the method took on one core, without simulation, compilation and training.
    iterations : int or None
        How many, for methods that iterate.
    psnr_curve, delta_curve : tuple of float
        PSNR and change by iteration, if they were asked for.
    image : array or None
        The restored image as uint8, if it was asked for.
    """

    psnr: float
    seconds: float
    iterations: int | None
    psnr_curve: tuple[float, ...] = ()
    delta_curve: tuple[float, ...] = ()
    image: NDArray[np.uint8] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Trial(Fingerprinted):
    """Degrade an image, restore it, compare.

    Attributes
    ----------
    image, problem, method
        What is restored from what by what.
    seed : int
        Which realisation of the noise.
    border : int
        Pixels that the PSNR leaves out along each side.
    curves : bool
        Whether to measure at every iteration.
    keep : bool
        Whether to keep the image.
    """

    image: TestImage
    problem: Problem
    method: Method
    seed: int
    border: int = 0
    curves: bool = False
    keep: bool = False

    @property
    def record(self) -> type[TrialRecord]:
        """What `measure` returns."""
        return TrialRecord

    @property
    def label(self) -> str:
        """Problem, image, method and realisation."""
        how = " ".join(filter(None, (type(self.method).__name__, getattr(self.method, "denoiser", ""))))
        return f"{self.problem.name}, {self.image.name}, {how}, seed {self.seed}"

    @property
    def cost(self) -> float:
        """By the number of pixels."""
        colours = 1.0 if self.image.pixels.ndim == 2 else 2.0
        height, width = self.image.pixels.shape[:2]
        megapixels: float = height * width / 1e6
        return 0.05 + colours * megapixels * seconds_per_megapixel(self.method, self.problem)

    @property
    def alone(self) -> bool:
        """Cells on one core each do not disturb one another much."""
        return False

    def measure(self) -> TrialRecord:
        """Run it."""
        truth = self.image.pixels
        _warm_up(self.problem, self.method, truth.ndim == 3)
        observation = self.problem.observe(truth, seed=self.seed)
        quality: list[float] = []
        deltas: list[float] = []

        watching = 0.0

        def watch(state: State) -> None:
            nonlocal watching
            began = time.perf_counter()
            quality.append(psnr(state.image, truth, border=self.border))
            deltas.append(float(state.history.delta[-1]))
            watching += time.perf_counter() - began

        began = time.perf_counter()
        restored = self.method.restore(observation, watch if self.curves else None)
        seconds = time.perf_counter() - began - watching
        image = None
        if self.keep:
            image = np.round(255 * np.clip(restored.image, 0, 1)).astype(np.uint8)
        return TrialRecord(
            psnr=psnr(restored.image, truth, border=self.border),
            seconds=seconds,
            iterations=restored.iterations,
            psnr_curve=tuple(quality),
            delta_curve=tuple(deltas),
            image=image,
        )


# What this process has warmed up already. It changes how long a cell takes, never what it measures.
_warm: set[tuple[str, ...]] = set()


def _warm_up(problem: Problem, method: Method, colour: bool) -> None:
    """Let the method compile, load and train what it needs, once in a process."""
    what = (type(method).__name__, getattr(method, "denoiser", ""), problem.name, str(colour))
    if what not in _warm:
        shape = (WARM_UP, WARM_UP, 3) if colour else (WARM_UP, WARM_UP)
        small: FloatArray = np.random.default_rng(0).random(shape, dtype=np.float32)
        method.restore(problem.observe(small, seed=0))
        _warm.add(what)
