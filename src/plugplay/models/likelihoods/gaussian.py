"""Data terms of blurred and sampled images: the closed form, and conjugate gradients where there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft

from plugplay.arrays.checks import BoolArray, FloatArray, frozen
from plugplay.models.base import LeastSquares, check_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from plugplay.models.operators.frame import Frame
    from plugplay.models.operators.polyphase import SampledBlur

__all__ = ["CircularTerm", "MaskedTerm"]

# Where the conjugate gradients stop: the residual of the small system, relative to its right-hand side. That of
# the proximal step is Gᵀ of it, and relative to Gᵀy + rho v, which may be smaller than y, it stays below 1e-6.
RELATIVE_RESIDUAL = 1e-7
MAX_ITERATIONS = 2000


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
        return cls(frozen(y), frozen(scipy.fft.rfft2(y, axes=(0, 1))), blur, frame, first)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x, the whole domain."""
        return self.first.shape

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

    def _residual(self, x: FloatArray) -> FloatArray:
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

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²`` to a relative residual of 1e-6."""
        check_step(v, rho, self.shape)
        return self.step(v, rho, np.zeros(self.y.shape))[0]

    def step(self, v: FloatArray, rho: float, guess: NDArray[np.float64]) -> tuple[FloatArray, NDArray[np.float64]]:
        """Return the proximal step x and the w behind it, starting the conjugate gradients from a guess of w."""
        if v.ndim == 2:
            return self._channel_step(v, rho, guess, self.y, self.mask)
        # One channel after the other: each stops when it is done, and the memory of one is enough.
        x, w = np.empty_like(v), np.empty_like(guess)
        for c in range(v.shape[2]):
            y, mask = np.ascontiguousarray(self.y[..., c]), np.ascontiguousarray(self.mask[..., c])
            x[..., c], w[..., c] = self._channel_step(v[..., c], rho, guess[..., c], y, mask)
        return x, w

    def _channel_step(
        self, v: FloatArray, rho: float, guess: NDArray[np.float64], y: FloatArray, mask: BoolArray
    ) -> tuple[FloatArray, NDArray[np.float64]]:
        exact = v.astype(np.float64)
        rhs = np.where(mask, y - self.blur.forward(exact), 0.0)
        inverse = 1 / (self.blur.gram + rho)

        def system(w: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.where(mask, self.blur.filter_samples(w, self.blur.gram), 0.0) + rho * w

        def preconditioner(w: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.where(mask, self.blur.filter_samples(w, inverse), 0.0)

        w = conjugate_gradients(system, rhs, guess=guess, preconditioner=preconditioner)
        return (exact + self.blur.adjoint(w)).astype(v.dtype), w

    def session(self) -> MaskedTermSession:
        """Return this data term with a memory, so that each step starts from the previous one's solution."""
        return MaskedTermSession(self)

    def start(self) -> FloatArray:
        """Return the observation, enlarged where it is sampled and filled in where it is not."""
        return self.first.copy()

    def crop(self, x: FloatArray) -> FloatArray:
        """Return the part of x that lies in the observed frame."""
        return self.frame.crop(x)

    def _residual(self, x: FloatArray) -> FloatArray:
        return np.where(self.mask, self.blur.forward(x.astype(np.float64)) - self.y, 0.0)

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return self.blur.adjoint(residual).astype(self.first.dtype)


class MaskedTermSession:
    """A `MaskedTerm` during one restoration; it remembers the solution of the last step."""

    def __init__(self, term: MaskedTerm) -> None:
        self._term = term
        # rho w, the residual M (y - G x), changes slowly from step to step; w itself grows as rho falls.
        self._scaled: NDArray[np.float64] = np.zeros(term.y.shape)

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²`` to a relative residual of 1e-6."""
        check_step(v, rho, self._term.shape)
        x, w = self._term.step(v, rho, self._scaled / rho)
        self._scaled = rho * w
        return x


def conjugate_gradients(
    system: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    rhs: NDArray[np.float64],
    *,
    guess: NDArray[np.float64],
    preconditioner: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Solve ``system(w) = rhs`` for a symmetric positive definite system, to `RELATIVE_RESIDUAL`.

    Written out because library versions sum with BLAS, whose result depends on the number of threads.
    """
    goal = RELATIVE_RESIDUAL * math.sqrt(_dot(rhs, rhs))
    w = guess
    residual = rhs - system(w) if guess.any() else rhs
    if math.sqrt(_dot(residual, residual)) > math.sqrt(_dot(rhs, rhs)):  # a guess worse than none
        w, residual = np.zeros_like(rhs), rhs
    direction = np.zeros_like(rhs)
    energy = math.inf
    for _ in range(MAX_ITERATIONS):
        if math.sqrt(_dot(residual, residual)) <= goal:
            break
        conditioned = preconditioner(residual)
        previous, energy = energy, _dot(residual, conditioned)
        direction = conditioned + (energy / previous) * direction
        applied = system(direction)
        length = energy / _dot(direction, applied)
        w = w + length * direction
        residual = residual - length * applied
    return w


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.sum(a * b))
