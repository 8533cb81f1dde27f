"""What a run says about itself: the bounds behind Theorem 1, its assumptions, and a verdict in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from plugplay.checks.report import Check
from plugplay.pnp.results import Status

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """What `certify` found; ``print(certificate)`` shows it.

    Attributes
    ----------
    iteration : str
        The iteration that the certificate speaks of; the theorem is about ``"admm"``.
    rule : str
        The schedule's name.
    status : Status
        How the run ended.
    constant, slope : float
        C and L: the largest over the run, or C as it was given.
    c_prime, largest : float
        C' of ``delta <= C'/sqrt(rho)``, and the largest ``delta sqrt(rho)`` of the run from the fourth iteration on,
        where the bound begins.
    rate : float
        The factor by which delta fell per iteration in the second half of the run; NaN for fewer than 8 iterations.
    promised_rate : float
        ``1/sqrt(gamma)`` for the monotone rule, by which its bound falls; NaN for the other rules, for which no rate
        is proved.
    bounds : tuple of Check
        The single bounds.
    assumptions : tuple of Check
        What the theorem assumes.
    """

    iteration: str
    rule: str
    status: Status
    constant: float
    slope: float
    c_prime: float
    largest: float
    rate: float
    promised_rate: float
    bounds: tuple[Check, ...]
    assumptions: tuple[Check, ...]

    @property
    def behaved(self) -> bool:
        """Whether all bounds hold at every recorded step, and the run did not diverge after them."""
        return self.status is not Status.DIVERGED and all(check.passed for check in self.bounds)

    @property
    def covered(self) -> bool:
        """Whether all assumptions hold, as far as can be told, so that the theorem promises convergence."""
        return all(check.passed for check in self.assumptions)

    @property
    def verdict(self) -> str:
        """What to make of it."""
        steps = "all bounds hold at every step" if self.behaved else "not all bounds hold, or it diverged"
        if not self.assumptions[-1].passed:
            return f"The theorem promises nothing for this schedule ({self.assumptions[-1].detail}); {steps}."
        failed = [check.name for check in self.assumptions if not check.passed]
        if failed:
            return f"The theorem does not cover this run: it violates {'; and '.join(failed)}. In the run, {steps}."
        if not self.behaved:
            return "The assumptions seem to hold, but the run did not behave as Theorem 1 says: see the bounds."
        return f"The run behaved as Theorem 1 says, and its assumptions hold as far as can be told: {self._promise()}."

    def _promise(self) -> str:
        if math.isnan(self.promised_rate):
            return "delta stays below C'/sqrt(rho), whose sum is finite; no rate per iteration is proved for this rule"
        promised = f"delta stays below a bound that falls by the factor {self.promised_rate:.3g} per iteration"
        if math.isnan(self.rate):
            return promised
        pace = (
            "as fast or faster" if self.rate <= self.promised_rate * 1.01 else "slower so far, which the bound allows"
        )
        return f"{promised}, and its own factor in the second half of the run is {self.rate:.3g} ({pace})"

    def __str__(self) -> str:
        lines = [f"certify ({self.iteration}): {self.verdict}"]
        lines += [
            f"C = {self.constant:.3g}, L = {self.slope:.3g}, C' = {self.c_prime:.3g}; "
            f"the largest delta sqrt(rho) is {self.largest:.3g}"
        ]
        return "\n".join([*lines, *map(str, self.bounds), *map(str, self.assumptions)])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings, lists and dicts, ready for JSON."""
        figures = ("constant", "slope", "c_prime", "largest", "rate", "promised_rate")
        return {
            "verdict": self.verdict,
            "behaved": self.behaved,
            "covered": self.covered,
            "iteration": self.iteration,
            "rule": self.rule,
            "status": self.status.name,
            **{name: value if math.isfinite(value := getattr(self, name)) else None for name in figures},
            "bounds": [asdict(check) for check in self.bounds],
            "assumptions": [asdict(check) for check in self.assumptions],
        }
