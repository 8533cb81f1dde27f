"""Gaussian noise: the data terms ``f(x) = ½ ||G x - y||²``, by how their proximal step is solved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray, check_same_shape, frozen
from plugplay.arrays.masks import fill_from_nearest
from plugplay.arrays.records import Fingerprinted
from plugplay.models.base import check_step
from plugplay.models.solvers import Solution, conjugate_gradients

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models.operators.frame import Frame
    from plugplay.models.operators.polyphase import SampledBlur

__all__ = ["CircularTerm", "LeastSquares", "MaskedTerm", "PointwiseTerm"]

# Where the conjugate gradients stop: the residual of the small system, relative to its right-hand side. That of
# the proximal step is Gᵀ of it, and relative to Gᵀy + rho v, which may be smaller than y, it stays below 1e-6.
RELATIVE_RESIDUAL = 1e-7


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
        return 0.5 * float(np.sum(np.square(self._misfit(x), dtype=np.float64)))

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
        check_step(v, rho, self.shape)
        # Written from v, so that nothing is lost where rho is large.
        step = v + (self.y - v) / (1 + rho)
        return step if self.mask is None else np.where(self.mask, step, v)

    def start(self) -> FloatArray:
        """Return y, with the nearest observed pixel where there is none."""
        if self.mask is None:
            return self.y.copy()
        return fill_from_nearest(self.y, self.mask, spatial_ndim=self.spatial_ndim)

    def _misfit(self, x: FloatArray) -> FloatArray:
        return x - self.y if self.mask is None else np.where(self.mask, x - self.y, x.dtype.type(0))

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return residual


@dataclass(frozen=True, eq=False)
class CircularTerm(LeastSquares):
    """``f(x) = ½ ||S H x - y||²`` on a circular domain, of which the frame may be a part."""

    y: FloatArray
    y_spectrum: NDArray[np.complexfloating[Any, Any]]
    blur: SampledBlur
    frame: Frame
    first: FloatArray

    @classmethod
    def build(cls, y: FloatArray, *, blur: SampledBlur, frame: Frame, first: FloatArray) -> CircularTerm:
        """Precompute the spectrum of y."""
        return cls(frozen(y), frozen(blur.spectrum_of(y)), blur, frame, first)

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
        check_step(v, rho, self.shape)
        return self.blur.closed_form(v, self.y_spectrum, rho)

    def start(self) -> FloatArray:
        """Return the observation, enlarged where it is sampled."""
        return self.first.copy()

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
        return self.blur.forward(x) - self.y

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return self.blur.adjoint(residual)


@dataclass(frozen=True, eq=False)
class MaskedTerm(LeastSquares):
    r"""``f(x) = ½ ||M (S H x - y)||²``: only the samples in the mask M were observed.

    With G = S H, the proximal step is :math:`x = v + G^T w`, where w is zero outside the mask and solves

    .. math:: (M G G^T M + \rho I)\, w = M (y - G v).

    The system lives on the small grid. Conjugate gradients solve it in double precision, preconditioned by
    :math:`M (G G^T + \rho I)^{-1} M`, its exact inverse if everything were observed.
    """

    y: FloatArray
    mask: BoolArray
    blur: SampledBlur
    frame: Frame
    first: FloatArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x, the whole domain."""
        return self.first.shape

    @property
    def lipschitz(self) -> float:
        """An upper bound of the Lipschitz constant of the gradient: that of everything observed."""
        return float(self.blur.gram.max())

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²`` to a relative residual of 1e-6."""
        check_step(v, rho, self.shape)
        return self.step(v, rho, np.zeros(self.y.shape), RELATIVE_RESIDUAL)[0]

    def step(
        self, v: FloatArray, rho: float, guess: FloatArray, rtol: float
    ) -> tuple[FloatArray, FloatArray, list[Solution]]:
        """Return the proximal step x, the w behind it and how each channel's was found, starting from a guess of w."""
        if v.ndim == len(self.blur.shape):
            x, solution = self._channel_step(v, rho, guess, self.y, self.mask, rtol)
            return x, solution.w, [solution]
        # One channel after the other: each stops when it is done, and the memory of one is enough.
        x, w, solutions = np.empty_like(v), np.empty_like(guess), []
        for c in range(v.shape[-1]):
            y, mask = np.ascontiguousarray(self.y[..., c]), np.ascontiguousarray(self.mask[..., c])
            x[..., c], solution = self._channel_step(v[..., c], rho, guess[..., c], y, mask, rtol)
            w[..., c] = solution.w
            solutions.append(solution)
        return x, w, solutions

    def _channel_step(
        self, v: FloatArray, rho: float, guess: FloatArray, y: FloatArray, mask: BoolArray, rtol: float
    ) -> tuple[FloatArray, Solution]:
        exact = v.astype(np.float64)
        rhs = np.where(mask, y - self.blur.forward(exact), 0.0)
        inverse = 1 / (self.blur.gram + rho)

        def system(w: FloatArray) -> FloatArray:
            filtered: FloatArray = np.where(mask, self.blur.filter_samples(w, self.blur.gram), 0.0)
            return filtered + rho * w

        def preconditioner(w: FloatArray) -> FloatArray:
            return np.where(mask, self.blur.filter_samples(w, inverse), 0.0)

        solution = conjugate_gradients(system, rhs, guess=guess, preconditioner=preconditioner, rtol=rtol)
        x: FloatArray = (exact + self.blur.adjoint(solution.w)).astype(v.dtype)
        return x, solution

    def session(self, rtol: float = RELATIVE_RESIDUAL) -> MaskedTermSession:
        """Return this data term with a memory, so that each step starts from the previous one's solution.

        Parameters
        ----------
        rtol : float
            Relative residual of the small system at which a step is good enough.
        """
        return MaskedTermSession(self, rtol)

    def start(self) -> FloatArray:
        """Return the observation, enlarged where it is sampled and filled in where it is not."""
        return self.first.copy()

    def crop(self, x: FloatArray) -> FloatArray:
        """Return the part of x that lies in the observed frame."""
        return self.frame.crop(x)

    def enter(self, image: FloatArray) -> FloatArray:
        """Return the image, continued beyond the frame by reflection."""
        return self.frame.reflect(image)

    def residual(self, x: FloatArray) -> FloatArray:
        """Return M (S H x - y) in the observed frame."""
        return self.frame.sampled(self.blur.factor).crop(super().residual(x))

    def _misfit(self, x: FloatArray) -> FloatArray:
        return np.where(self.mask, self.blur.forward(x.astype(np.float64)) - self.y, 0.0)

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return self.blur.adjoint(residual).astype(self.first.dtype)


class MaskedTermSession:
    """A `MaskedTerm` during one restoration; it remembers the solution of the last step."""

    def __init__(self, term: MaskedTerm, rtol: float) -> None:
        self._term, self._rtol = term, rtol
        # rho w, the residual M (y - G x), changes slowly from step to step; w itself grows as rho falls.
        self._scaled: FloatArray = np.zeros(term.y.shape)
        self._steps = self._failed = 0
        self._worst = 0.0

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²`` to the residual of the session."""
        check_step(v, rho, self._term.shape)
        x, w, solutions = self._term.step(v, rho, self._scaled / rho, self._rtol)
        self._scaled = rho * w
        self._steps += 1
        self._failed += not all(solution.converged for solution in solutions)
        self._worst = max(self._worst, *(solution.residual for solution in solutions))
        return x

    def warnings(self) -> tuple[str, ...]:
        """Return what a user should know about the steps so far."""
        if not self._failed:
            return ()
        return (
            f"the conjugate gradients of {self._failed} of {self._steps} model steps stopped at a relative residual of "
            f"up to {self._worst:.1e} instead of {self._rtol:.0e}: the mask leaves too little to go on, or rho is tiny",
        )
