"""What a run says: another noise than was assumed, and by which sign (`plugplay.tuning.watch` tells them)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Sign", "Suggestion"]

Sign: TypeAlias = Literal["winding", "residual", "ringing", "structure", "noise", "excess"]


@dataclass(frozen=True)
class Suggestion:
    """Another noise than was assumed.

    Attributes
    ----------
    noise : float
        What to assume instead.
    sign : str
        What says so.
    weak : float
        The RMS of the residual where the image is weakest, if that says so.
    reason : str
        What a user should know beside the noise.
    """

    noise: float
    sign: Sign
    weak: float = math.nan
    reason: str = ""

    @property
    def is_certain(self) -> bool:
        """False if it may be texture, or lines: the run with the other noise then has to show that it was not."""
        return self.sign not in ("ringing", "noise", "excess", "structure")
