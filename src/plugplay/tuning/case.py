"""What automatic parameters follow from, and what they are: input and output of `plugplay.tuning.rules`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from plugplay.pnp.schedules import Schedule
    from plugplay.traits import Traits

__all__ = ["Case", "Choice"]


@dataclass(frozen=True)
class Choice:
    """The chosen parameters.

    Attributes
    ----------
    lam, schedule, tol, max_iter, clip
        As `plugplay.pnp_admm` takes them.
    last_sigma : float
        The level below which sigma must not fall; the run ends before.
    min_iter : int
        The planned number of iterations, before which the tolerance does not end the run; 0 if it is not planned.
    """

    lam: float
    schedule: Schedule
    tol: float
    max_iter: int
    clip: tuple[float, float] | None = (0.0, 1.0)
    last_sigma: float = 0.0
    min_iter: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """Everything that the choice depends on.

    Attributes
    ----------
    traits : Traits
        The properties of the model.
    noise : float
        Standard deviation of the noise on the working scale; not used for photons, which bring their own statistics.
    noise_margin : float
        By how much an estimated level is likely to be too low.
    iteration : str
        Name of the iteration.
    strength : float
        Multiplies the automatic lambda.
    max_iter : int, optional
        The given limit of iterations; the schedule then ends within it.
    one_step : bool
        Whether plain denoising may be a single call of the denoiser.
    min_sigma : float
        The level below which the denoiser no longer improves an image.
    grid : {"only", "coarse", "fine"}
        "coarse" for the run on a coarse grid that precedes the full one, "fine" for plain deblurring on the full grid,
        with or without such a run before it, and "only" for all other runs.
    uniform : bool
        Whether the noise has the same level everywhere, unlike that of photons.
    planned : bool
        Whether neither schedule nor tolerance is given, so that the number of iterations can be planned.
    beyond : bool
        Whether black and white come from the data, and the image may be darker and brighter.
    """

    traits: Traits
    noise: float
    noise_margin: float = 0.0
    iteration: str = "admm"
    strength: float = 1.0
    max_iter: int | None = None
    one_step: bool = True
    min_sigma: float = 0.0
    grid: Literal["only", "coarse", "fine"] = "only"
    uniform: bool = True
    planned: bool = True
    beyond: bool = False
