"""Noise that grows with the signal, where a transform of the values makes it uniform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.models.base import DataTerm

__all__ = ["StabilisedTerm"]


class Stabiliser(Protocol):
    """A transform that makes noise uniform, and its unbiased inverse."""

    def forward(self, image: FloatArray, /) -> FloatArray:
        """Return the transformed values."""
        ...

    def inverse(self, image: FloatArray, /) -> FloatArray:
        """Return the values whose transform has this mean."""
        ...


@dataclass(frozen=True, eq=False)
class StabilisedTerm:
    """A data term in the transformed domain; what it shows of x is transformed back."""

    term: DataTerm
    stabiliser: Stabiliser

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""
        return self.term.shape

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Take the step of the data term."""
        return self.term.prox(v, rho)

    def value(self, x: FloatArray) -> float:
        """Return f(x) of the data term."""
        return self.term.value(x)

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of the data term."""
        return self.term.gradient(x)

    def start(self) -> FloatArray:
        """Return the start of the data term."""
        return self.term.start()

    def enter(self, image: FloatArray) -> FloatArray:
        """Return the image, transformed."""
        return self.stabiliser.forward(image)

    def residual(self, x: FloatArray) -> FloatArray | None:
        """Return G x - y in the transformed domain, where the noise is uniform."""
        own = getattr(self.term, "residual", None)
        return None if own is None else own(x)

    def even(self, image: FloatArray) -> FloatArray:
        """Return an image, or an observation, as it is where the noise is uniform."""
        return self.stabiliser.forward(image)

    def crop(self, x: FloatArray) -> FloatArray:
        """Return the image, transformed back."""
        return self.stabiliser.inverse(self.term.crop(x))
