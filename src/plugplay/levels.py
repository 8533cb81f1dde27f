"""Coarse to fine: restore with pixels twice as wide first, and begin the full run from that result.

While sigma is large, the loop decides structure that a grid with a quarter of the pixels can hold as well. The full run
begins with the image of the coarse run, but with a large sigma again: with the sigma that the coarse run has reached,
detail that the coarse grid cannot hold would never come back.

The coarse run is only worth its time if the blur is very wide. On the paper's ten images, which were not used to set
the limit, it gains 0.12 dB on average with motion of 29 pixels and 0.42 dB with 41; with narrower blur it gains nothing
(``python benchmarks/levels.py``, and "Coarse to fine" in ``docs/automatic-experiments.md``).
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
    from plugplay.tuning.case import Case

__all__ = ["Coarse", "Pace", "coarse_of", "is_coarse", "is_large", "is_plain"]

# Images with fewer pixels along an axis are restored on the full grid only: there is little to save.
MIN_SIDE = 128
# Kernels with a smaller standard deviation along their longest axis, in pixels, need no coarse grid.
MIN_SPREAD = 5.5
# The interpolation needs this many pixels beyond the frame.
_MARGIN = 2


@dataclass(frozen=True)
class Pace:
    """Parameters of a run on the coarse grid, taken from an earlier run, on the working scale.

    Attributes
    ----------
    lam : float
        Lambda.
    schedule : Schedule
        How rho grows.
    max_iter : int
        Number of iterations.
    """

    lam: float
    schedule: Schedule
    max_iter: int

    @classmethod
    def of(cls, history: History, max_iter: int, *, share: float = 1.0) -> Pace | None:
        """Return the pace of a run from its history; None if it began on the full grid.

        The number of iterations is `max_iter`, and lambda and rho are multiplied by `share`.
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
        The data term for means of `FACTOR` x `FACTOR` pixels.
    traits : Traits
        Traits of the coarse model.
    frame : tuple of int
        Spatial shape of the full image.
    pace : Pace, optional
        Parameters of the run; chosen by default.
    """

    data_term: DataTerm
    traits: Traits
    frame: tuple[int, ...]
    pace: Pace | None = None

    def driver(self, case: Case | None, full: Driver, start: FloatArray | State | None) -> Driver:
        """Return the driver of the run on the coarse grid.

        It is derived from the driver of the full run and, without a pace, from its case.
        """
        pace = self.pace
        if pace is not None:
            more: dict[str, Any] = {"lam": pace.lam, "schedule": pace.schedule, "max_iter": pace.max_iter}
            return full.coarser(self.data_term, start=start, enlarge=self.enlarged, **more)
        assert case is not None  # else nothing can be chosen, and there is no coarse grid
        # The mean of n pixels has noise that is lower by the root of n.
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
        """Let the full run begin where the coarse one has ended; if that was stopped, the full run ends at once."""
        if len(before.state.history):
            first = entered(full.data_term, self.enlarged(before.state.image))
            full.begin(first, before.state.history, stopped=before.status is Status.STOPPED)

    def shown(self, state: State) -> State:
        """Return a state of the coarse run with an image of the full size."""
        image = state.image
        for axis in range(len(self.frame)):
            image = np.repeat(image, FACTOR, axis=axis)
        return replace(state, image=self._framed(image))

    def enlarged(self, image: FloatArray) -> FloatArray:
        """Return an image on the coarse grid interpolated to the full one."""
        spatial = len(self.frame)
        widths = [(_MARGIN, _MARGIN)] * spatial + [(0, 0)] * (image.ndim - spatial)
        # A coarse pixel lies in the middle of the pixels that it is the mean of.
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
        The properties of the model.
    data_term : DataTerm
        The data term on the full grid. One on a nonlinear stretch, on which means of pixels are not meaningful, is not
        plain.
    noise : object
        The noise on the nominal scale. Only for uniform white noise is that of the means of pixels known.
    """
    if not isinstance(noise, int | float) or possible_range_of(data_term) is not None:
        return False
    return traits.unknowns_per_sample == 1 and traits.decimation == 1 and traits.spatial_ndim == 2


def is_large(y: NDArray[Any]) -> bool:
    """Tell whether an image is large enough for the fast schedule of plain problems (`plugplay.tuning.rules`)."""
    return bool(min(y.shape[:2]) >= MIN_SIDE)


def coarse_of(y: NDArray[Any], model: Model, traits: Traits, *, pace: Pace | None = None) -> Coarse | None:
    """Return the problem on the coarse grid; None if the blur is narrow, or if the model cannot be made coarser.

    Parameters
    ----------
    y : array
        The observation on the working scale.
    model : Model
        The model on the full grid.
    traits : Traits
        Its properties.
    pace : Pace, optional
        Parameters of the run. With these, the width of the blur does not matter.
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
    """Tell whether a first guess is a state of a run on the coarse grid."""
    return isinstance(start, State) and len(start.history) > 0 and bool(start.history.level[-1] > 0)


def _means(y: FloatArray, spatial: int) -> FloatArray:
    """Return the means of `FACTOR` pixels along each spatial axis; a rest at the end is dropped."""
    for axis in range(spatial):
        count = y.shape[axis] // FACTOR
        parts = [np.take(y, np.arange(count) * FACTOR + k, axis=axis) for k in range(FACTOR)]
        y = sum(parts[1:], start=parts[0]) / y.dtype.type(FACTOR)
    return y
