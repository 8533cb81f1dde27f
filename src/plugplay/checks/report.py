"""Reports of checks: what was measured, what the limit is, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Check", "CheckFailedError", "Report"]


class CheckFailedError(AssertionError):
    """A report with a failed check; its text is the whole report."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes
    ----------
    name : str
        What was checked.
    passed : bool
        Whether it holds.
    detail : str
        The figures, in words.
    """

    name: str
    passed: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok    ' if self.passed else 'FAILED'} {self.name}: {self.detail}"


@dataclass(frozen=True)
class Report:
    """What `check_model` found; ``print(report)`` shows it.

    Attributes
    ----------
    subject : str
        What was checked.
    checks : tuple of Check
        The single checks.
    """

    subject: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether all checks hold."""
        return all(check.passed for check in self.checks)

    def raise_if_failed(self) -> None:
        """Raise `CheckFailedError` with the whole report if a check failed; for use in tests."""
        if not self.passed:
            raise CheckFailedError(str(self))

    def __str__(self) -> str:
        return "\n".join([f"{self.subject}: {'passed' if self.passed else 'FAILED'}", *map(str, self.checks)])
