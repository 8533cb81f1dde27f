"""Problems: how an image is degraded, as a model with an observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plugplay.models import Inpainting, LinearGaussianModel, SinglePhoton

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models import DataTerm, Model
    from plugplay_paper.arrays import FloatArray

__all__ = ["Degraded", "Missing", "Observation", "Photons", "Problem"]


@dataclass(frozen=True, eq=False)
class Observation:
    """What a method gets to see.

    Attributes
    ----------
    y : array
        The observed data.
    model : Model
        How they came about.
    """

    y: NDArray[Any]
    model: Model

    def data_term(self) -> DataTerm:
        """Return the model bound to the data."""
        return self.model.data_term(self.y)


class Problem(Protocol):
    """A frozen dataclass that says how to degrade an image."""

    @property
    def name(self) -> str:
        """What the report calls it."""
        ...

    def observe(self, truth: FloatArray, *, seed: int) -> Observation:
        """Degrade an image; the seed says which realisation of the noise."""
        ...


@dataclass(frozen=True)
class Degraded:
    """A linear model and Gaussian noise of a standard deviation."""

    name: str
    model: LinearGaussianModel
    noise: float

    def observe(self, truth: FloatArray, *, seed: int) -> Observation:
        """Apply the model and add noise."""
        return Observation(self.model.simulate(truth, noise=self.noise, rng=seed), self.model)


@dataclass(frozen=True)
class Missing:
    """Pixels missing at random; what is left is exact."""

    name: str
    fraction: float

    def observe(self, truth: FloatArray, *, seed: int) -> Observation:
        """Draw the mask, the same for all channels."""
        model = Inpainting(np.random.default_rng(seed).random(truth.shape[:2]) >= self.fraction)
        return Observation(model.simulate(truth), model)


@dataclass(frozen=True)
class Photons:
    """The bits of a single-photon sensor."""

    name: str
    model: SinglePhoton

    def observe(self, truth: FloatArray, *, seed: int) -> Observation:
        """Draw the bits."""
        return Observation(self.model.simulate(truth, rng=seed), self.model)
