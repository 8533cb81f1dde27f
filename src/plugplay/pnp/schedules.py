"""Schedules: how rho grows from iteration to iteration, which is what makes Algorithm 1 converge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from plugplay.arrays.checks import check_number

__all__ = ["Adaptive", "Constant", "Monotone", "Schedule", "TwoSpeed"]

# With such a rho both steps of the algorithm have long stopped changing anything, and nothing overflows, even in single
# precision.
_MAX_RHO = 1e30


class Schedule(Protocol):
    """The first rho, and the rule that gives the next one."""

    @property
    def rho0(self) -> float:
        """The first rho."""
        ...

    def next_rho(self, rho: float, delta: float, previous_delta: float | None) -> float:
        """Return the next rho.

        Parameters
        ----------
        rho : float
            The rho of the iteration that has just ended.
        delta : float
            How much that iteration changed x, v and u.
        previous_delta : float or None
            The same of the iteration before; None for the first iteration.
        """
        ...


@dataclass(frozen=True)
class Constant:
    """The original Plug-and-Play ADMM: rho is constant.

    Convergence is not guaranteed for denoisers that are only bounded.

    Parameters
    ----------
    rho0 : float
        The rho of every iteration.
    """

    rho0: float

    def __post_init__(self) -> None:
        check_number(self.rho0, "rho0", above=0)

    def next_rho(self, rho: float, delta: float, previous_delta: float | None) -> float:  # noqa: ARG002
        """Return rho."""
        return rho


@dataclass(frozen=True)
class Monotone:
    """The paper's monotone rule: rho is multiplied by gamma at every iteration.

    Parameters
    ----------
    rho0 : float
        The first rho.
    gamma : float
        The factor, at least 1.

    Examples
    --------
    >>> Monotone(rho0=1e-3, gamma=2.0).next_rho(0.25, delta=0.1, previous_delta=None)
    0.5
    """

    rho0: float
    gamma: float

    def __post_init__(self) -> None:
        check_number(self.rho0, "rho0", above=0)
        check_number(self.gamma, "gamma", minimum=1)

    def next_rho(self, rho: float, delta: float, previous_delta: float | None) -> float:  # noqa: ARG002
        """Return gamma rho."""
        return _raised(rho, self.gamma)


@dataclass(frozen=True)
class TwoSpeed:
    """The monotone rule with two factors: slow while the denoiser decides structure, faster once that is settled.

    rho never grows by less than `gamma`, so the convergence of `Monotone` with that factor carries over.

    Parameters
    ----------
    rho0 : float
        The first rho.
    gamma : float
        The factor while rho is below `turn`, at least 1.
    turn : float
        The rho from which on it grows faster.
    faster : float
        The factor from there on, at least `gamma`.

    Examples
    --------
    >>> rule = TwoSpeed(rho0=1e-3, gamma=1.5, turn=0.1, faster=2.0)
    >>> [rule.next_rho(rho, delta=0.1, previous_delta=None) for rho in (0.08, 0.125)]
    [0.12, 0.25]
    """

    rho0: float
    gamma: float
    turn: float
    faster: float

    def __post_init__(self) -> None:
        check_number(self.rho0, "rho0", above=0)
        check_number(self.gamma, "gamma", minimum=1)
        check_number(self.turn, "turn", above=0)
        check_number(self.faster, "faster", minimum=self.gamma)

    def next_rho(self, rho: float, delta: float, previous_delta: float | None) -> float:  # noqa: ARG002
        """Return gamma rho below the turn, and `faster` times rho from there on."""
        return _raised(rho, self.gamma if rho < self.turn else self.faster)


@dataclass(frozen=True)
class Adaptive:
    """The paper's adaptive rule: rho is multiplied by gamma unless the iterates converge by themselves.

    Parameters
    ----------
    rho0 : float
        The first rho.
    gamma : float
        The factor, at least 1.
    eta : float
        rho stays while each delta is below eta times the one before; ``0 <= eta < 1``.

    Examples
    --------
    >>> rule = Adaptive(rho0=1e-3, gamma=2.0, eta=0.9)
    >>> rule.next_rho(0.25, delta=0.1, previous_delta=0.2), rule.next_rho(0.25, delta=0.2, previous_delta=0.2)
    (0.25, 0.5)
    """

    rho0: float
    gamma: float
    eta: float

    def __post_init__(self) -> None:
        check_number(self.rho0, "rho0", above=0)
        check_number(self.gamma, "gamma", minimum=1)
        check_number(self.eta, "eta", minimum=0, below=1)

    def next_rho(self, rho: float, delta: float, previous_delta: float | None) -> float:
        """Return gamma rho if ``delta >= eta previous_delta`` or if there is no previous delta, else rho."""
        if previous_delta is None or delta >= self.eta * previous_delta:
            return _raised(rho, self.gamma)
        return rho


def _raised(rho: float, gamma: float) -> float:
    return max(rho, min(gamma * check_number(rho, "rho", above=0), _MAX_RHO))
