"""Coarse to fine: the same problem with pixels twice as wide, whose result is where the full one begins.

While sigma is large, the loop decides structure that a grid with a quarter of the pixels can hold as well. What carries
over is the image, not sigma: with the sigma that the coarse run has reached, detail that it could not hold would never
come back. The full run therefore begins with a large sigma again, but with the structure decided.

Where the blur is very wide, that structure is not always found on the full grid alone. ``python
benchmarks/levels.py``, six images: with motion of 41 pixels the coarse grid gains 0.23 dB on average, but from -0.5
to +1.2 dB on single images; with motion of 29 pixels nothing on average (-0.3 to +0.2), with narrower blur nothing
but an eighth more time. The limit was set on other crops of camera, coffee and astronaut and on two photographs
(bridge, seeding), which lost 0.2 and 0.3 dB on average without it with motion of 29 and 41 pixels, and 0.02 dB with
21. On the paper's ten images (``--images DIR``), which had no say, the coarse grid gains 0.12 dB on average with motion
of 29 pixels and 0.42 dB with 41; against the slow schedule deblurring as it is by default changes by +0.05, +0.04,
0.00, -0.02, +0.12 and +0.36 dB with the six kernels, in their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.models.description import coarsened, entered, possible_range_of, traits_of
from plugplay.models.operators.interpolation import bicubic_upsample
from plugplay.pnp.driver import COARSE_FACTOR as FACTOR
from plugplay.pnp.results import Status
from plugplay.pnp.schedules import Monotone
from plugplay.pnp.state import State
from plugplay.tuning.rules import choose
from plugplay.tuning.spectra import taps_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models.base import DataTerm, Model
    from plugplay.pnp.driver import Driver
    from plugplay.pnp.schedules import Schedule
    from plugplay.pnp.state import History
    from plugplay.traits import Traits
    from plugplay.tuning.rules import Case

__all__ = ["Coarse", "Pace", "coarse_of", "is_coarse", "is_large", "is_plain"]

# Images below this many pixels along an axis are restored at once; there is little to save.
MIN_SIDE = 128
# Kernels with a smaller standard deviation along their longest axis, in pixels, need no coarse grid.
MIN_SPREAD = 5.5
# Interpolation sees so many pixels beyond the frame.
_MARGIN = 2


@dataclass(frozen=True)
class Pace:
    """How a run on the coarse grid goes, if another run has shown it; on the working scale.

    Attributes
    ----------
    lam : float
        Lambda.
    schedule : Schedule
        How rho grows.
    max_iter : int
        How many iterations there are.
    """

    lam: float
    schedule: Schedule
    max_iter: int

    @classmethod
    def of(cls, history: History, max_iter: int, *, share: float = 1.0) -> Pace | None:
        """Return the pace of a run, by its history; None if it was on the full grid from the beginning.

        The number of iterations is given, and lambda and rho are multiplied by `share`.
        """
        coarse = history.at_level(1)
        if not len(coarse):
            return None
        rho = [share * float(value) for value in coarse.rho]
        gamma = rho[1] / rho[0] if len(rho) > 1 else 1.0
        return cls(rho[0] * float(coarse.sigma[0]) ** 2, Monotone(rho[0], gamma), max_iter)


@dataclass(frozen=True, eq=False)
class Coarse:
    """The problem on the coarse grid.

    Attributes
    ----------
    data_term : DataTerm
        f for means of `FACTOR` x `FACTOR` pixels.
    traits : Traits
        Of the model that it comes from.
    frame : tuple of int
        Spatial shape of the full image.
    pace : Pace, optional
        How the run goes, if it is not to be chosen.
    """

    data_term: DataTerm
    traits: Traits
    frame: tuple[int, ...]
    pace: Pace | None = None

    def driver(self, case: Case | None, full: Driver, start: FloatArray | State | None) -> Driver:
        """Return the run on the coarse grid, given the driver of the full one and, without a pace, its case."""
        pace = self.pace
        if pace is not None:
            more: dict[str, Any] = {"lam": pace.lam, "schedule": pace.schedule, "max_iter": pace.max_iter}
            return full.coarser(self.data_term, start=start, enlarge=self.enlarged, **more)
        assert case is not None  # else it could not be chosen, and there is no coarse grid
        # The mean of n pixels has a noise that is lower by the root of n.
        own = replace(case, traits=self.traits, noise=case.noise / FACTOR ** (len(self.frame) / 2), grid="coarse")
        choice = choose(own)
        return full.coarser(
            self.data_term,
            lam=choice.lam,
            schedule=choice.schedule,
            start=start,
            enlarge=self.enlarged,
            min_iter=choice.min_iter,
        )

    def hand_over(self, before: Driver, full: Driver) -> None:
        """Let the full run begin where the coarse one has ended; if that was stopped, it ends there."""
        if len(before.state.history):
            first = entered(full.data_term, self.enlarged(before.state.image))
            full.begin(first, before.state.history, stopped=before.status is Status.STOPPED)

    def shown(self, state: State) -> State:
        """Return a state of the coarse run with an image that has the size of the full one."""
        image = state.image
        for axis in range(len(self.frame)):
            image = np.repeat(image, FACTOR, axis=axis)
        return replace(state, image=self._framed(image))

    def enlarged(self, image: FloatArray) -> FloatArray:
        """Return an image of the coarse frame, interpolated to the full one."""
        spatial = len(self.frame)
        widths = [(_MARGIN, _MARGIN)] * spatial + [(0, 0)] * (image.ndim - spatial)
        # A coarse pixel lies in the middle of those that it is the mean of.
        large = bicubic_upsample(np.pad(image, widths, mode="symmetric"), FACTOR, ((FACTOR - 1) / 2,) * spatial)
        inner = slice(_MARGIN * FACTOR, -_MARGIN * FACTOR)
        return self._framed(large[(inner,) * spatial])

    def _framed(self, image: FloatArray) -> FloatArray:
        """Repeat the last row and column where the full image has one more."""
        missing = [(0, long - short) for long, short in zip(self.frame, image.shape, strict=False)]
        if not any(more for _, more in missing):
            return image
        return np.pad(image, missing + [(0, 0)] * (image.ndim - len(missing)), mode="edge")


def is_plain(traits: Traits, data_term: DataTerm, noise: object) -> bool:
    """Tell whether a problem is the deblurring of an image with uniform noise.

    Parameters
    ----------
    traits : Traits
        What the model says about itself.
    data_term : DataTerm
        The problem on the full grid; stretched values have no means.
    noise : object
        The noise, as users know it; only that of a uniform and white one is known for the means of pixels.
    """
    if not isinstance(noise, int | float) or possible_range_of(data_term) is not None:
        return False
    return traits.unknowns_per_sample == 1 and traits.decimation == 1 and traits.spatial_ndim == 2


def is_large(y: NDArray[Any]) -> bool:
    """Tell whether an image is of some size: `plugplay.tuning.rules` then knows a faster schedule for a plain one."""
    return bool(min(y.shape[:2]) >= MIN_SIDE)


def coarse_of(y: NDArray[Any], model: Model, traits: Traits, *, pace: Pace | None = None) -> Coarse | None:
    """Return the problem on the coarse grid; None if the blur is not wide, or if the model cannot be made coarser.

    Parameters
    ----------
    y : array
        The observation on the working scale.
    model : Model
        What it was observed with.
    traits : Traits
        What the model says about itself.
    pace : Pace, optional
        How the run goes, if it is not to be chosen; the kernel does not matter then.
    """
    if pace is None and (traits.spectrum is None or _spread(traits.spectrum) < MIN_SPREAD):
        return None
    frame = y.shape[: traits.spatial_ndim]
    coarser = coarsened(model, FACTOR)
    if coarser is None or min(frame) < FACTOR:
        return None
    means = _means(y, len(frame))
    return Coarse(coarser.data_term(means), traits_of(coarser, means, spatial_ndim=len(frame)), frame, pace)


def _spread(spectrum: NDArray[np.complex128]) -> float:
    """Return the standard deviation of a kernel along its longest axis, in pixels."""
    taps = np.abs(taps_of(spectrum))
    weights = taps / taps.sum()
    places = np.indices(taps.shape) - np.array(taps.shape).reshape(-1, 1, 1) // 2
    offsets = places - (weights * places).sum(axis=(1, 2), keepdims=True)
    moments = np.einsum("imn,jmn,mn->ij", offsets, offsets, weights)
    return math.sqrt(max(float(np.linalg.eigvalsh(moments)[-1]), 0.0))


def is_coarse(start: object) -> bool:
    """Tell whether a first guess is a state on the coarse grid."""
    return isinstance(start, State) and len(start.history) > 0 and bool(start.history.level[-1] > 0)


def _means(y: FloatArray, spatial: int) -> FloatArray:
    """Return the means of `FACTOR` pixels along each spatial axis; what is left over at the end is dropped."""
    for axis in range(spatial):
        count = y.shape[axis] // FACTOR
        parts = [np.take(y, np.arange(count) * FACTOR + k, axis=axis) for k in range(FACTOR)]
        y = sum(parts[1:], start=parts[0]) / y.dtype.type(FACTOR)
    return y
