"""What the observation alone says against the noise and the kernel that a restoration is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from plugplay.models.description import reshaped, traits_of
from plugplay.models.operators.reshaping import Reshaping
from plugplay.tuning.evidence import kernel_mismatch
from plugplay.tuning.nulls import noise_at_nulls
from plugplay.tuning.small_holes import without_holes

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.models.base import Model
    from plugplay.traits import Traits

__all__ = ["Suspicion", "suspect"]

UNCHANGED = Reshaping()


@dataclass(frozen=True, eq=False)
class Suspicion:
    """More noise than was assumed, or another kernel.

    Attributes
    ----------
    model, traits : Model, Traits
        What to restore with: those that were given, or with another kernel.
    noise : float, optional
        What to assume instead; None if nothing is said against the noise.
    reshaping : Reshaping
        How the kernel was changed.
    reasons : tuple of str
        What else a user should know, in plain sentences.
    """

    model: Model
    traits: Traits
    noise: float | None = None
    reshaping: Reshaping = UNCHANGED
    reasons: tuple[str, ...] = ()


def suspect(
    y: FloatArray, model: Model, traits: Traits, noise: float, told: float | None = None, *, reshape: bool = True
) -> Suspicion:
    """Return what contradicts the assumed noise and the kernel before anything is restored.

    Parameters
    ----------
    y : array
        The observation.
    model, traits : Model, Traits
        What happened to it.
    noise : float
        What is assumed.
    told : float, optional
        What an estimate says against a level that was given.
    reshape : bool
        Whether another kernel may be used.
    """
    level = noise if told is None else told
    whole, known = without_holes(y, traits)
    mismatch = kernel_mismatch(whole, known, level)
    other = reshaped(model, mismatch.reshaping) if reshape and mismatch is not None and mismatch.is_clear else None
    if mismatch is not None and other is not None:
        changed = traits_of(other, y, spatial_ndim=traits.spatial_ndim)
        # Where something is left at its zeros, too, it is not the kernel that is wrong: a curve of brightness, perhaps.
        if noise_at_nulls(whole, replace(changed, observed=known.observed), level) is None:
            reason = f"{mismatch}, so it was used; exact_kernel=True, or --exact-kernel, keeps the given one"
            return Suspicion(other, changed, told, mismatch.reshaping, (reason,))
    higher = _highest(told, noise_at_nulls(whole, known, level), None if mismatch is None else mismatch.noise)
    return Suspicion(model, traits, higher, reasons=() if mismatch is None else (str(mismatch),))


def _highest(*levels: float | None) -> float | None:
    return max((level for level in levels if level is not None), default=None)
