"""What is known about a denoiser: the contract, the figures, and the theorem in one sentence."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.checks.report import Check, CheckFailedError

if TYPE_CHECKING:
    from plugplay.checks.boundedness import Boundedness
    from plugplay.checks.calibration import Calibration
    from plugplay.checks.expansiveness import Expansiveness

__all__ = ["DenoiserReport"]


@dataclass(frozen=True, eq=False)
class DenoiserReport:
    """What `check_denoiser` found; ``print(report)`` shows it.

    Attributes
    ----------
    name : str
        The denoiser's name.
    conformance : tuple of Check
        The contract; `passed` sums it up.
    boundedness : Boundedness or None
        Definition 1; None if the denoiser failed in the search.
    expansiveness : Expansiveness or None
        Appendix A.
    calibration : Calibration or None
        PSNR before and after.
    calls : int
        How often the denoiser was called.
    """

    name: str
    conformance: tuple[Check, ...]
    boundedness: Boundedness | None
    expansiveness: Expansiveness | None
    calibration: Calibration | None
    calls: int

    @property
    def passed(self) -> bool:
        """Whether the denoiser keeps the contract; boundedness and expansiveness are verdicts, not requirements."""
        return all(check.passed for check in self.conformance)

    @property
    def theorem(self) -> str:
        """Which theorem applies, and with which schedule convergence is guaranteed."""
        if not self.passed or self.boundedness is None:
            return "No theorem applies until the denoiser passes the checks of its interface."
        if not self.boundedness.bounded:
            return (
                "Theorem 1 does not apply, because the denoiser is not bounded: no schedule is guaranteed to converge "
                "(watch history.delta, or blend it as D(x) = x + min(1, c sigma / rms) (denoised - x) to bound it)."
            )
        promise = (
            "As far as could be tested, Theorem 1 applies: for a data term with bounded gradient, Monotone and "
            "Adaptive with gamma > 1 converge to a fixed point"
        )
        if self.expansiveness is not None and self.expansiveness.expansive:
            return f"{promise}; Constant has no guarantee, because the denoiser is expansive."
        return (
            f"{promise}; Constant has one only if the denoiser is a proximal map (non-expansive with a symmetric "
            "Jacobian), which the pairs that were tried do not contradict."
        )

    def raise_if_failed(self) -> None:
        """Raise `CheckFailedError` with the whole report if the contract is broken; for use in tests."""
        if not self.passed:
            raise CheckFailedError(str(self))

    def __str__(self) -> str:
        measured = {name: getattr(self, name) for name in ("boundedness", "expansiveness", "calibration")}
        lines = [f"check_denoiser({self.name}): {'passed' if self.passed else 'FAILED'} ({self.calls} calls)"]
        lines += map(str, self.conformance)
        for name, found in measured.items():
            lines.append(f"{name}: {'not measured, because the denoiser failed' if found is None else found}")
        return "\n".join([*lines, self.theorem])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain numbers, strings, lists and dicts, ready for JSON; images are left out."""
        b, e, c = self.boundedness, self.expansiveness, self.calibration
        return {
            "name": self.name,
            "passed": self.passed,
            "calls": self.calls,
            "theorem": self.theorem,
            "conformance": [{"name": i.name, "passed": i.passed, "detail": i.detail} for i in self.conformance],
            "boundedness": b
            and {
                "verdict": str(b),
                "bounded": b.bounded,
                "constant": b.constant,
                "sigma": b.sigma,
                "kind": b.kind,
                "exponent": b.exponent,
                "tends_to_identity": b.tends_to_identity,
                "identity_at_zero": b.identity_at_zero,
                "sigmas": list(b.sigmas),
                "constants": list(b.constants),
            },
            "expansiveness": e
            and {"verdict": str(e), "expansive": e.expansive, "kappa": e.kappa, "sigma": e.sigma, "tried": e.tried},
            "calibration": c
            and {
                "sigmas": list(c.sigmas),
                "psnr_noisy": [_finite(value) for value in c.noisy],
                "psnr_denoised": [_finite(value) for value in c.denoised],
                "best_multiple": c.best_multiple,
            },
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pair with the largest kappa and the image with the largest C (npz, no pickles).

        The arrays are ``x``, ``y``, ``denoised_x``, ``denoised_y``, ``sigma``, ``kappa`` of the pair and
        ``bound_image``, ``bound_sigma``, ``bound_constant``.
        """
        arrays: dict[str, Any] = {}
        if (e := self.expansiveness) is not None:
            arrays |= {name: getattr(e, name) for name in ("x", "y", "denoised_x", "denoised_y", "sigma", "kappa")}
        if (b := self.boundedness) is not None:
            arrays |= {"bound_image": b.image, "bound_sigma": b.sigma, "bound_constant": b.constant}
        if not arrays:
            raise ValueError(f"there is nothing to save: denoiser {self.name!r} failed before anything was measured")
        target = Path(path)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".npz")
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez(stream, **arrays)
            Path(temporary).replace(target)
        finally:
            Path(temporary).unlink(missing_ok=True)


def _finite(value: float) -> float | None:
    """Return None for what JSON has no number for."""
    return value if math.isfinite(value) else None
