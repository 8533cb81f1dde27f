"""What a run may suggest: another noise level, and the sign for it (see `plugplay.tuning.watch`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Sign", "Suggestion"]

Sign: TypeAlias = Literal["winding", "residual", "ringing", "structure", "noise", "excess"]


@dataclass(frozen=True)
class Suggestion:
    """A noise level other than the assumed one.

    Attributes
    ----------
    noise : float
        The suggested level.
    sign : str
        The sign that led to it.
    weak : float
        The RMS of the residual where the image is weakest, for the sign "excess".
    reason : str
        An additional warning.
    """

    noise: float
    sign: Sign
    weak: float = math.nan
    reason: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether the sign is unambiguous; texture and lines cause some signs, too, and a second run has to decide."""
        return self.sign not in ("ringing", "noise", "excess", "structure")
