"""How the built-ins are fitted to a problem: mixins for frozen dataclasses with the field `workers`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

if TYPE_CHECKING:
    from plugplay.denoisers.base import ProblemTraits

__all__ = ["Threaded", "Volumetric"]


class Threaded:
    """A denoiser of images that uses the threads it is given."""

    spatial_ndims: ClassVar[tuple[int, ...]] = (2,)

    if TYPE_CHECKING:

        @property
        def workers(self) -> int | None: ...

    def prepared(self, traits: ProblemTraits, workers: int) -> Self:  # noqa: ARG002
        """Return this denoiser with `workers` threads, unless it has been given a number already.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from plugplay.denoisers.nlm import NonLocalMeans
        >>> traits = SimpleNamespace(leaves="white", spatial_ndim=2)
        >>> NonLocalMeans(window=5).prepared(traits, 2), NonLocalMeans(workers=1).prepared(traits, 2)
        (NonLocalMeans(window=5, workers=2), NonLocalMeans(window=7, workers=1))
        """
        fitted: Self = replace(cast("Any", self), workers=workers if self.workers is None else self.workers)
        return fitted


class Volumetric(Threaded):
    """A denoiser of images and volumes, with the field `spatial_ndim` that says which of them it gets."""

    spatial_ndims: ClassVar[tuple[int, ...]] = (2, 3)

    def prepared(self, traits: ProblemTraits, workers: int) -> Self:
        """Return this denoiser for images or volumes, with `workers` threads if it has not been given a number."""
        fitted: Self = replace(cast("Any", super().prepared(traits, workers)), spatial_ndim=traits.spatial_ndim)
        return fitted
