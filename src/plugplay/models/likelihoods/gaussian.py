"""Gaussian noise: the data terms ``f(x) = ½ ||G x - y||²``, by how their proximal step is solved."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray, check_same_shape, frozen
from plugplay.arrays.records import Fingerprinted
from plugplay.arrays.sums import sum_of_squares
from plugplay.models.base import check_step
from plugplay.models.filling import fill_holes
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.interpolation import Enlarged
from plugplay.models.operators.polyphase import SampledBlur

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CircularTerm", "LeastSquares", "PointwiseTerm"]


class LeastSquares(ABC, Fingerprinted):
    """Base of the data terms ``f(x) = ½ ||G x - y||²``; the paper leaves out the ½ but means it."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""

    @abstractmethod
    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return ``(GᵀG + rho I)⁻¹ (Gᵀy + rho v)``."""

    @abstractmethod
    def start(self) -> FloatArray:
        """Return a finite first guess of x."""

    @abstractmethod
    def _misfit(self, x: FloatArray) -> FloatArray:
        """Return G x - y on the whole domain, zero where nothing was observed."""

    @abstractmethod
    def _adjoint(self, residual: FloatArray) -> FloatArray:
        """Return Gᵀ of something that has the shape of y."""

    def crop(self, x: FloatArray) -> FloatArray:
        """Return the part of x that lies in the observed frame: all of it."""
        return x

    def enter(self, image: FloatArray) -> FloatArray:
        """Return an x whose crop is `image`: the image itself."""
        return image

    def residual(self, x: FloatArray) -> FloatArray:
        """Return G x - y in the shape of the observation, zero where nothing was observed."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        return self._misfit(x)

    def value(self, x: FloatArray) -> float:
        """Return ``½ ||G x - y||²``."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        return 0.5 * sum_of_squares(self._misfit(x))

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return ``Gᵀ (G x - y)``."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        return self._adjoint(self._misfit(x))


@dataclass(frozen=True, eq=False)
class PointwiseTerm(LeastSquares):
    """``f(x) = ½ ||S (x - y)||²``, with S the mask of what was observed, or everything."""

    y: FloatArray
    mask: BoolArray | None = None
    spatial_ndim: int = 2

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""
        return self.y.shape

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the gradient."""
        return 1.0

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return ``(S y + rho v) ./ (s + rho)`` with s the diagonal of S: v where nothing was observed."""
        rho = check_step(v, rho, self.shape)
        # Written from v, so that nothing is lost where rho is large.
        step = v + (self.y - v) / (1 + rho)
        return step if self.mask is None else np.where(self.mask, step, v)

    def start(self) -> FloatArray:
        """Return y, with a spline in tension where nothing was observed: see `plugplay.models.filling`."""
        if self.mask is None:
            return self.y.copy()
        return fill_holes(self.y, self.mask, spatial_ndim=self.spatial_ndim)

    def _misfit(self, x: FloatArray) -> FloatArray:
        return x - self.y if self.mask is None else np.where(self.mask, x - self.y, x.dtype.type(0))

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return residual


@dataclass(frozen=True, eq=False)
class CircularTerm(LeastSquares):
    """``f(x) = ½ ||S H x - y||²`` on a circular domain, of which the frame may be a part.

    Attributes
    ----------
    mirrored : bool
        Whether x beyond the frame is its mirror image, so that denoisers need not see it.
    """

    y_spectra: NDArray[np.complexfloating[Any, Any]]
    blur: SampledBlur
    frame: Frame
    first: Enlarged
    mirrored: bool = False

    @classmethod
    def build(
        cls, y: FloatArray, *, blur: SampledBlur, frame: Frame, first: Enlarged, mirrored: bool = False
    ) -> CircularTerm:
        """Precompute the spectra of y."""
        return cls(frozen(blur.spectra_of(y)), blur, frame, first, mirrored)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x, the whole domain."""
        return self.first.shape

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the gradient, the largest eigenvalue of GᵀG."""
        return float(self.blur.gram.max())

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²``, exactly: see `SampledBlur.closed_form`."""
        return self.session().prox(v, rho)

    def session(self, rtol: float = 0.0) -> CircularSteps:  # noqa: ARG002 - steps are exact
        """Return the steps of one restoration, which know f(x) without computing it anew."""
        return CircularSteps(self)

    def start(self) -> FloatArray:
        """Return the observation, enlarged where it is sampled."""
        return self.first.image()

    def crop(self, x: FloatArray) -> FloatArray:
        """Return the part of x that lies in the observed frame."""
        return self.frame.crop(x)

    def enter(self, image: FloatArray) -> FloatArray:
        """Return the image, continued beyond the frame by reflection."""
        return self.frame.reflect(image)

    def residual(self, x: FloatArray) -> FloatArray:
        """Return S H x - y in the observed frame."""
        return self.frame.sampled(self.blur.factor).crop(super().residual(x))

    def _misfit(self, x: FloatArray) -> FloatArray:
        return self.blur.misfit(x, self.y_spectra)

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return self.blur.adjoint(residual)


class CircularSteps:
    """The proximal steps of a `CircularTerm` during one restoration."""

    def __init__(self, term: CircularTerm) -> None:
        self._term = term
        self._fidelity = math.nan

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²``."""
        rho = check_step(v, rho, self._term.shape)
        x, self._fidelity = self._term.blur.closed_form(v, self._term.y_spectra, rho)
        return x

    def fidelity(self) -> float:
        """Return f at the x of the last step."""
        return self._fidelity

    def warnings(self) -> tuple[str, ...]:
        """Return nothing: the steps are exact."""
        return ()
