"""Whether the observation contradicts the assumed noise or the given kernel, before anything is restored."""

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
    """A higher noise level than was assumed, or another kernel.

    Attributes
    ----------
    model, traits : Model, Traits
        The model to restore with: the given one, or one with another kernel.
    noise : float, optional
        The noise to assume instead; None if the data do not contradict the noise.
    reshaping : Reshaping
        How the kernel was changed.
    reasons : tuple of str
        Warnings.
    """

    model: Model
    traits: Traits
    noise: float | None = None
    reshaping: Reshaping = UNCHANGED
    reasons: tuple[str, ...] = ()


def suspect(
    y: FloatArray,
    model: Model,
    traits: Traits,
    noise: float,
    told: float | None = None,
    *,
    reshape: bool = True,
    hidden: float = 0.0,
) -> Suspicion:
    """Compare the observation with the assumed noise and the kernel.

    Parameters
    ----------
    y : array
        The observation.
    model, traits : Model, Traits
        The given model and its properties.
    noise : float
        The assumed noise.
    told : float, optional
        The estimate that contradicts a given level, if there is one.
    reshape : bool
        Whether the kernel may be replaced.
    hidden : float
        The standard deviation of what compression may have made zero.
    """
    level = noise if told is None else told
    whole, known = without_holes(y, traits)
    mismatch = kernel_mismatch(whole, known, level, hidden=hidden)
    other = reshaped(model, mismatch.reshaping) if reshape and mismatch is not None and mismatch.is_clear else None
    if mismatch is not None and other is not None:
        changed = traits_of(other, y, spatial_ndim=traits.spatial_ndim)
        # If there is power at the zeros of the other kernel as well, something else is wrong, perhaps a transfer curve.
        if noise_at_nulls(whole, replace(changed, observed=known.observed), level) is None:
            reason = f"{mismatch}, so it was used; exact_kernel=True, or --exact-kernel, keeps the given one"
            return Suspicion(other, changed, told, mismatch.reshaping, (reason,))
    higher = _highest(told, noise_at_nulls(whole, known, level), None if mismatch is None else mismatch.noise)
    return Suspicion(model, traits, higher, reasons=() if mismatch is None else (str(mismatch),))


def _highest(*levels: float | None) -> float | None:
    return max((level for level in levels if level is not None), default=None)
