"""What the observation alone says against the noise and the kernel that a restoration is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay.tuning.evidence import kernel_mismatch
from plugplay.tuning.nulls import noise_at_nulls

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.traits import Traits

__all__ = ["Suspicion", "suspect"]


@dataclass(frozen=True)
class Suspicion:
    """More noise than was assumed.

    Attributes
    ----------
    noise : float
        What to assume instead.
    reasons : tuple of str
        What else a user should know, in plain sentences.
    """

    noise: float
    reasons: tuple[str, ...] = ()


def suspect(y: FloatArray, traits: Traits, noise: float, told: float | None = None) -> Suspicion | None:
    """Return what contradicts the assumed noise and the kernel before anything is restored; None if nothing does.

    Parameters
    ----------
    y : array
        The observation.
    traits : Traits
        Of the model.
    noise : float
        What is assumed.
    told : float, optional
        What an estimate says against a level that was given.
    """
    level = noise if told is None else told
    hidden = noise_at_nulls(y, traits, level)
    mismatch = kernel_mismatch(y, traits, level)
    found = [one for one in (told, hidden, None if mismatch is None else mismatch.noise) if one is not None]
    return Suspicion(max(found), () if mismatch is None else (str(mismatch),)) if found else None
