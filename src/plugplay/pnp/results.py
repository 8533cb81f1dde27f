"""Records of a restoration: where the loop stands (`State`), how it went (`History`), what came out (`Result`)."""

from __future__ import annotations

import os
import tempfile
import zipfile
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.arrays.records import Fingerprinted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from plugplay.noise.growing import PoissonGaussian
    from plugplay.pnp.schedules import Schedule

__all__ = ["History", "Iteration", "Parameters", "Result", "State", "Status"]


class Status(Enum):
    """Why the loop ended; ``str(status)`` says what to make of it."""

    CONVERGED = "The iterates have settled: the change per iteration fell below the tolerance."
    MAX_ITERATIONS = (
        "The iteration limit was reached before the iterates settled. The image may already be good: look at "
        "history.delta; otherwise raise max_iter or gamma, or continue with start=result.state."
    )
    STOPPED = "The callback stopped the loop. Continue with start=result.state."
    DIVERGED = (
        "The iterates grew without bound, and the last sound one was returned. The denoiser is probably not "
        "bounded, or not made for this sigma: use a schedule with a larger rho0 or gamma, or another denoiser."
    )

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Iteration:
    """The figures of one iteration; RMS is the norm divided by the square root of the number of elements.

    Attributes
    ----------
    rho, sigma : float
        The penalty and the denoiser's strength, ``sigma = sqrt(lam / rho)``.
    delta, dx, dv, du : float
        The RMS changes of x, v and u, and their sum.
    fidelity : float
        f(x).
    seconds : float
        Duration of the iteration.
    model_move : float
        RMS of ``x - (v - u)``: what the model's step did.
    denoiser_move : float
        RMS of ``D(w) - w`` with w the denoiser's input, after clipping.
    clip_move : float
        RMS of ``w - clip(w)`` with ``w = x + u``.
    dual : float
        RMS of u.
    psnr : float
        Of the image against the reference, both clipped to [0, 1]; NaN without one.
    """

    rho: float
    sigma: float
    delta: float
    dx: float
    dv: float
    du: float
    fidelity: float
    seconds: float
    model_move: float
    denoiser_move: float
    clip_move: float
    dual: float
    psnr: float


@dataclass(frozen=True, eq=False)
class History(Fingerprinted):
    """The figures of all iterations, an array for each; `Iteration` says what they are.

    Examples
    --------
    >>> len(History.of([]))
    0
    """

    rho: NDArray[np.float64]
    sigma: NDArray[np.float64]
    delta: NDArray[np.float64]
    dx: NDArray[np.float64]
    dv: NDArray[np.float64]
    du: NDArray[np.float64]
    fidelity: NDArray[np.float64]
    seconds: NDArray[np.float64]
    model_move: NDArray[np.float64]
    denoiser_move: NDArray[np.float64]
    clip_move: NDArray[np.float64]
    dual: NDArray[np.float64]
    psnr: NDArray[np.float64]

    @classmethod
    def of(cls, iterations: Iterable[Iteration]) -> History:
        """Make the arrays from single iterations."""
        rows = list(iterations)
        columns = {f.name: np.array([getattr(row, f.name) for row in rows], np.float64) for f in fields(Iteration)}
        for column in columns.values():
            column.setflags(write=False)
        return cls(**columns)

    def __len__(self) -> int:
        return len(self.rho)

    def iterations(self) -> list[Iteration]:
        """Return the single iterations."""
        names = [f.name for f in fields(Iteration)]
        return [Iteration(**{name: float(getattr(self, name)[k]) for name in names}) for k in range(len(self))]


@dataclass(frozen=True, eq=False)
class State(Fingerprinted):
    """Where the loop stands: what a callback sees and what a checkpoint stores.

    Attributes
    ----------
    iteration : int
        How many iterations have been done.
    x, v, u : arrays
        The iterates.
    rho : float
        The penalty of the next iteration.
    history : History
        All iterations so far.
    image : array
        The restored image as it is now: the part of v that lies in the frame. Empty after loading.
    """

    iteration: int
    x: FloatArray
    v: FloatArray
    u: FloatArray
    rho: float
    history: History
    image: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint (npz); an existing file is replaced only when the new one is complete."""
        target = Path(path)
        columns = {f"history_{f.name}": getattr(self.history, f.name) for f in fields(Iteration)}
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".npz")
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez(
                    stream,
                    iteration=np.int64(self.iteration),
                    rho=np.float64(self.rho),
                    x=self.x,
                    v=self.v,
                    u=self.u,
                    image=self.image,
                    **columns,
                )
            Path(temporary).replace(target)
        finally:
            Path(temporary).unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> State:
        """Read a checkpoint written by `save`."""
        try:
            with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                history = History(**{f.name: _read_only(stored[f"history_{f.name}"]) for f in fields(Iteration)})
                arrays = {name: _read_only(stored[name]) for name in ("x", "v", "u", "image")}
                return cls(iteration=int(stored["iteration"]), rho=float(stored["rho"]), history=history, **arrays)
        except (KeyError, ValueError, TypeError, EOFError, AttributeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{os.fspath(path)!r} is not a checkpoint written by State.save: {error}") from None


@dataclass(frozen=True)
class Parameters:
    """Everything that was used, given or chosen.

    Attributes
    ----------
    denoiser : str
        Its name.
    schedule, lam, tol, max_iter, stop_rule, clip
        As `plugplay.pnp_admm` takes them.
    model : object, optional
        The model, if `plugplay.restore` was called with one.
    noise : float or PoissonGaussian, optional
        The noise, on the scale [0, 1].
    data_range : (float, float), optional
        The values of the input that became 0 and 1.
    chosen : tuple of str
        The names of the parameters that were chosen automatically.
    tune : str, optional
        How lambda was refined, if it was.
    """

    denoiser: str
    schedule: Schedule
    lam: float
    tol: float
    max_iter: int
    stop_rule: str
    clip: tuple[float, float] | None
    model: object = None
    noise: float | PoissonGaussian | None = None
    data_range: tuple[float, float] | None = None
    chosen: tuple[str, ...] = ()
    tune: str | None = None


@dataclass(frozen=True, eq=False)
class Result(Fingerprinted):
    """What a restoration returns.

    Attributes
    ----------
    image : array
        The restored image: float, unclipped, in the units of float input and on [0, 1] for integers.
    status : Status
        Why the loop ended; ``str(result.status)`` is advice.
    history : History
        The figures of all iterations.
    parameters : Parameters
        What was used, including what was chosen automatically.
    state : State
        Where the loop stands; pass it as ``start=`` to continue.
    """

    image: FloatArray
    status: Status
    history: History
    parameters: Parameters
    state: State

    def plot(self) -> Figure:
        """Draw the convergence curves; the figure is returned, not shown.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``figure.savefig(path)``.
        """
        from plugplay.plots import convergence_figure

        return convergence_figure(self.history, self.parameters)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
