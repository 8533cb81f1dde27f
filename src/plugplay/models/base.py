"""Protocols of models and data terms, and the base class of linear models with Gaussian noise.

A **model** describes physics and knows no observation. A **data term** is a model bound to an observation y: the
function f that Algorithm 1 minimises together with the prior. To write a model of your own, give it ``forward``,
``adjoint``, ``simulate`` and ``data_term``; `plugplay.check_model` tests it. Optional members that it leaves out are
replaced by measurements or cautious assumptions: see `plugplay.models.description`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from plugplay.arrays.checks import FloatArray, check_number, check_same_shape, float_image, generator
from plugplay.arrays.records import Fingerprinted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from plugplay.traits import Traits

__all__ = [
    "DataTerm",
    "LinearGaussianModel",
    "Model",
    "PoissonDataTerm",
    "ProxSession",
    "WarmDataTerm",
    "check_step",
    "observation",
]


class DataTerm(Protocol):
    """The data term f of the objective, with its gradient and its proximal step.

    Attributes
    ----------
    shape : tuple of int
        Shape of the unknown image x, possibly larger than the frame that was observed.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the unknown image x."""
        ...

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return ``argmin_x f(x) + rho/2 ||x - v||²``."""
        ...

    def value(self, x: FloatArray) -> float:
        """Return f(x)."""
        ...

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of f at x."""
        ...

    def start(self) -> FloatArray:
        """Return a finite first guess of x."""
        ...

    def crop(self, x: FloatArray) -> FloatArray:
        """Return the part of x that lies in the observed frame."""
        ...

    def enter(self, image: FloatArray) -> FloatArray:
        """Return an x whose crop is `image`; the inverse of `crop`."""
        ...


class ProxSession(Protocol):
    """The proximal steps of one restoration, which may start from the solution of the previous step."""

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return ``argmin_x f(x) + rho/2 ||x - v||²``."""
        ...

    def warnings(self) -> tuple[str, ...]:
        """Return what a user should know about the steps so far, in plain sentences."""
        ...


@runtime_checkable
class WarmDataTerm(Protocol):
    """A data term with sessions: its proximal steps use the previous one, or yield more than x."""

    def session(self, rtol: float = ...) -> ProxSession:
        """Return the proximal steps of one restoration, with their own memory, to this relative residual."""
        ...


class PoissonDataTerm(DataTerm, Protocol):
    """A data term for noise that grows with the signal, scaled like ``½ ||G x - y||²`` with a uniform noise level."""

    @property
    def noise(self) -> float:
        """The noise level: the root of the mean variance."""
        ...


class Model(Protocol):
    """The forward model: how an image becomes an observation."""

    def forward(self, x: FloatArray) -> FloatArray:
        """Return the noiseless observation of x."""
        ...

    def data_term(self, y: FloatArray) -> DataTerm:
        """Bind the model to an observation."""
        ...


class LinearGaussianModel(ABC, Fingerprinted):
    """Base of the models y = G x + Gaussian noise."""

    #: Axes of an observation before the spatial ones, such as that of frames.
    leading_axes: ClassVar[int] = 0
    #: Number of spatial axes, 2 or 3.
    spatial_ndim: int

    @abstractmethod
    def traits(self, y: FloatArray) -> Traits:
        """Return the properties of this model and the observation `y`, whose channels come last."""

    @abstractmethod
    def forward(self, x: FloatArray) -> FloatArray:
        """Return G x."""

    @abstractmethod
    def adjoint(self, y: FloatArray) -> FloatArray:
        """Return Gᵀ y, the transpose of `forward`."""

    @abstractmethod
    def data_term(self, y: FloatArray) -> DataTerm:
        """Return ``f(x) = ½ ||G x - y||²``, with everything precomputed that does not change with x."""

    def simulate(self, x: ArrayLike, *, noise: float = 0.0, rng: np.random.Generator | int | None = None) -> FloatArray:
        """Observe x through the model.

        Parameters
        ----------
        x : array
            The image, floats on the scale [0, 1].
        noise : float
            Standard deviation of the Gaussian noise.
        rng : numpy.random.Generator or int, optional
            Source of the noise; needed if ``noise > 0``.

        Returns
        -------
        array
            The observation, neither clipped nor quantised.
        """
        noise = check_number(noise, "noise", minimum=0)
        clean = self.forward(float_image(x, "x", spatial_ndim=self.spatial_ndim))
        if noise == 0:
            return clean
        drawn = generator(rng, "noise").standard_normal(clean.shape, dtype=np.float64)
        return clean + self._observed((noise * drawn).astype(clean.dtype))

    def _observed(self, noise: FloatArray) -> FloatArray:
        """Return the noise, set to zero where nothing is observed; models with a mask override this."""
        return noise


# The sum of squares of an image with such values does not overflow.
MAX_PIXEL = 1e140


def observation(y: ArrayLike, *, finite: bool = True, spatial_ndim: int = 2) -> FloatArray:
    """Return an observation as floats, or raise if it is not an image or its squares would overflow."""
    image = float_image(y, "y", finite=finite, spatial_ndim=spatial_ndim)
    if image.dtype == np.float64 and np.nanmax(np.abs(image), initial=0.0) > MAX_PIXEL:
        raise ValueError(f"y has values beyond {MAX_PIXEL:g}, whose squares overflow")
    return image


# Below this, 1 / rho overflows in single precision.
MIN_RHO = 1e-30


def check_step(v: FloatArray, rho: float, shape: tuple[int, ...]) -> float:
    """Check the arguments of a proximal step, and return rho as a float."""
    weight = check_number(rho, "rho", above=0)
    if weight < MIN_RHO:
        raise ValueError(f"rho must be at least {MIN_RHO:g}; got {rho!r}")
    check_same_shape(v, shape, "v", "the unknown image")
    return weight
