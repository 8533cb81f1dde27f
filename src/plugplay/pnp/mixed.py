"""The weighted mean of two runs, used if it cannot be told which of them is right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plugplay.pnp.driver import Driver
    from plugplay.pnp.results import Result

__all__ = ["Mixed"]

UNDECIDED = "noise and fine texture look alike here; the result is a mean of two runs that assume more and less noise"


@dataclass(frozen=True, eq=False)
class Mixed:
    """The weighted mean of two runs.

    Attributes
    ----------
    first, second : Driver
        The runs, both at their end.
    share : float
        The weight of the second.
    """

    first: Driver
    second: Driver
    share: float

    def result(self) -> Result:
        """Return the result of the first run with the mean of both images."""
        result, other = self.first.result(), self.second.result().image
        mean = result.image + result.image.dtype.type(self.share) * (other - result.image)
        return replace(result, image=mean, warnings=(*result.warnings, UNDECIDED))
