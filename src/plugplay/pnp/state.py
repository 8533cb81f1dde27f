"""The state of a run (`State`) and the figures of its iterations (`History`)."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray, check_number
from plugplay.arrays.records import Fingerprinted
from plugplay.io import load_arrays, save_arrays

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Figures", "History", "State"]

# Checkpoints of version 0.1 have no format number; they hold ADMM's arrays and all figures except `level`.
CHECKPOINT_FORMAT = 2


@dataclass(frozen=True)
class Figures:
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
        RMS of ``x - (v - u)``, what the model's step did. This and the next three are ADMM's, and NaN for others.
    denoiser_move : float
        RMS of ``D(w) - w`` with w the denoiser's input, after clipping.
    clip_move : float
        RMS of ``w - clip(w)`` with ``w = x + u``.
    dual : float
        RMS of u.
    psnr : float
        PSNR of the image, both it and the reference clipped to [0, 1]; NaN without a reference.
    level : float
        0 for full resolution, 1 for half of it, and so on.
    """

    rho: float
    sigma: float
    delta: float
    dx: float
    dv: float
    du: float
    fidelity: float
    seconds: float
    model_move: float = math.nan
    denoiser_move: float = math.nan
    clip_move: float = math.nan
    dual: float = math.nan
    psnr: float = math.nan
    level: float = 0.0


@dataclass(frozen=True, eq=False)
class History(Fingerprinted):
    """The figures of all iterations: one array for each field of `Figures`, which documents them.

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
    level: NDArray[np.float64]

    @classmethod
    def of(cls, iterations: Iterable[Figures]) -> History:
        """Make the arrays from single iterations."""
        rows = list(iterations)
        return cls(**{f.name: _read_only(np.array([getattr(row, f.name) for row in rows])) for f in fields(Figures)})

    def __len__(self) -> int:
        return len(self.rho)

    def at_level(self, level: int) -> History:
        """Return the iterations that were done on one grid; 0 is the full resolution."""
        return History(**{f.name: _read_only(getattr(self, f.name)[self.level == level]) for f in fields(Figures)})

    def iterations(self) -> list[Figures]:
        """Return the single iterations."""
        names = [f.name for f in fields(Figures)]
        return [Figures(**{name: float(getattr(self, name)[k]) for name in names}) for k in range(len(self))]


@dataclass(frozen=True, eq=False)
class State(Fingerprinted):
    """The state of the loop: what a callback gets and what a checkpoint stores.

    Attributes
    ----------
    iteration : int
        How many iterations have been done.
    x, v, u : arrays
        The iterates: x after the model's step, v after the denoiser, and u, what the iteration carries from pass to
        pass (for ADMM the multiplier).
    rho : float
        The penalty of the next iteration.
    history : History
        All iterations so far.
    image : array
        The current restored image, cropped to the frame. Empty after loading.
    planned : int
        Planned number of iterations on this grid; 0 if it is not planned, and after loading.
    """

    iteration: int
    x: FloatArray
    v: FloatArray
    u: FloatArray
    rho: float
    history: History
    image: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    planned: int = field(default=0, metadata={"fingerprinted": False})

    def __post_init__(self) -> None:
        check_number(self.rho, "State.rho", above=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint (npz); an existing file is replaced only when the new one is complete."""
        columns = {f"history_{f.name}": getattr(self.history, f.name) for f in fields(Figures)}
        arrays = {"x": self.x, "v": self.v, "u": self.u, "image": self.image, "rho": np.array(self.rho)}
        numbers = {"format": np.array(CHECKPOINT_FORMAT), "iteration": np.array(self.iteration)}
        save_arrays(path, {**numbers, **arrays, **columns})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, limit: int | None = None) -> State:
        """Read a checkpoint written by `save`, now or by version 0.1.

        Parameters
        ----------
        path : path
            The file.
        limit : int, optional
            The limit of the unpacked size in bytes, if the default is too low.
        """
        try:
            stored = load_arrays(path, limit=limit)
            written = int(stored.get("format", 1))
            if written > CHECKPOINT_FORMAT:
                raise ValueError(f"it was written by a later version of plugplay (format {written})")
            columns = {f.name: stored.get(f"history_{f.name}") for f in fields(Figures)}
            if written == 1:
                columns["level"] = np.zeros_like(columns["rho"])
            history = History(**{name: _read_only(_present(column, name)) for name, column in columns.items()})
            x, v, u, image = (_read_only(stored[name]) for name in ("x", "v", "u", "image"))
            return cls(int(stored["iteration"]), x, v, u, float(stored["rho"]), history, image)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{os.fspath(path)!r} is not a checkpoint written by State.save: {error}") from None


def _present(column: NDArray[Any] | None, name: str) -> NDArray[Any]:
    if column is None:
        raise KeyError(f"history_{name}")
    return column


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
