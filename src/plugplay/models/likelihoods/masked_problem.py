"""The equations behind the proximal step of a `MaskedTerm`, for channels that are solved together."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.models.operators.polyphase import SampledBlur
from plugplay.models.operators.transforms import in_strips
from plugplay.models.solvers import Solution, Start, conjugate_gradients

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scalar = np.floating[Any]

__all__ = ["MaskedProblem", "MaskedStep"]

ScalarT = TypeVar("ScalarT", bound=np.generic)


@dataclass(frozen=True, eq=False)
class MaskedStep:
    """What is behind the step of some channels, and how it was found.

    Attributes
    ----------
    w : array
        The solution of the small system, planes on its grid.
    seen : array, optional
        M G Gᵀ M w, which would take two transforms to compute.
    fidelity : float
        f at the step.
    residual, converged
        As in `Solution`.
    """

    w: FloatArray
    seen: FloatArray | None
    fidelity: float
    residual: float
    converged: bool


@dataclass(frozen=True, eq=False)
class MaskedProblem:
    """The equations for some channels, which conjugate gradients solve as one system.

    Vectors are planes on the grid of the system, so that nothing is moved between two transforms. The observation is on
    the domain, the first part of the grid; beyond it, everything is zero.

    Attributes
    ----------
    blur : SampledBlur
        G on the grid.
    y, mask : arrays
        Planes of the samples on the domain, and which of them were observed.
    rho : scalar
        The weight of the step, in the precision of y.
    variances : array
        Those of the observations relative to each other, or nothing. Their product with rho, the ridge, is added to the
        diagonal of the equations.
    """

    blur: SampledBlur
    y: FloatArray
    mask: BoolArray
    rho: Scalar
    variances: FloatArray

    def solved(
        self, v: FloatArray, rtol: float, before: MaskedStep | None, share: Scalar, *, out: FloatArray
    ) -> MaskedStep:
        """Write the step from the planes v to the planes `out`, and return what is behind it.

        Parameters
        ----------
        v, rtol
            As `MaskedSystem.step` takes them.
        before : MaskedStep, optional
            Where conjugate gradients start, times `share`; its arrays are used up.
        """
        begun = self._begun(v, before, share)
        del before
        if begun.norm <= rtol * begun.size and begun.w is not None and begun.seen is not None:
            # The guess is good enough.
            residual = begun.norm / begun.size if begun.size else 0.0
            step = MaskedStep(begun.w, begun.seen, 0.5 * begun.squares, residual, converged=True)
        else:
            step = self._iterated(begun, rtol)
        del begun

        def take(first: int, stop: int, rows: FloatArray) -> None:
            for source, target, added in zip(v, out, rows, strict=True):
                strip = source[first:stop]
                np.add(strip, added[tuple(map(slice, strip.shape))], out=target[first:stop], casting="same_kind")

        self.blur.spread(step.w, take)
        return step

    def _begun(self, v: FloatArray, before: MaskedStep | None, share: Scalar) -> _Begun:
        """Compute the right-hand side M (y - G v), and what is known of `share` times the step before."""
        kernels = self._kernels
        rhs = np.empty((len(self.y), *self.blur.sampled_shape), self.y.dtype)
        w = None if before is None else before.w
        seen = None if before is None else before.seen
        known, target, ridge = (_boxed(self.y), _boxed(self.mask)), _boxed(rhs), (self.rho, _boxed(self.variances))

        def take(first: int, stop: int, rows: FloatArray) -> tuple[float, float, float]:
            sums: tuple[float, float, float]
            if w is not None and seen is not None:
                sums = kernels.resume(_boxed(rows), *known, *ridge, share, target, _boxed(w), _boxed(seen), first)
                return sums
            if w is not None:
                w[:, first:stop] *= share
            return kernels.observe(_boxed(rows), *known, target, first), math.nan, math.nan

        sizes, norms, squares = map(math.fsum, zip(*self.blur.sample(v, take), strict=True))
        return _Begun(rhs, w, seen, math.sqrt(sizes), math.sqrt(norms), squares)

    def _iterated(self, begun: _Begun, rtol: float) -> MaskedStep:
        """Return what conjugate gradients find; all arrays of `begun` are used up."""
        rhs, w, left = begun.rhs, begun.w, begun.seen
        if w is not None and left is not None:
            leave = self._kernels.leave
            fixed = _boxed(rhs), self.rho, _boxed(self.variances), _boxed(w), _boxed(left)
            in_strips(lambda *span: leave(*fixed, *span), rhs.shape)
        start = Start(w, left, begun.size, begun.norm)
        solution = conjugate_gradients(self._applied, rhs, start=start, preconditioner=self._conditioned, rtol=rtol)
        return self._told(solution, rhs)

    def _applied(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return (M G Gᵀ M + ridge) w for a w that is zero outside of M, and its inner product with w."""
        return self._restricted(w, self.blur.gram, self.rho, self.variances)

    def _conditioned(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return M (G Gᵀ + mean ridge)⁻¹ M w for a w that is zero outside of M, and its inner product with w."""
        return self._restricted(w, self._inverse, self.rho * 0, self.variances[:, :0])

    def _restricted(
        self, w: FloatArray, response: FloatArray, rho: Scalar, variances: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return M (w filtered by the response) + ridge w, and its inner product with w."""
        kernels, out = self._kernels, np.empty_like(w)
        fixed = _boxed(self.mask), rho, _boxed(variances), _boxed(w), _boxed(out)

        def take(first: int, _stop: int, rows: FloatArray) -> float:
            product: float = kernels.restrict(_boxed(rows), *fixed, first)
            return product

        return out, math.fsum(self.blur.filter(w, take, response=response))

    @functools.cached_property
    def _inverse(self) -> FloatArray:
        """The spectrum of the preconditioner."""
        mean = 1.0
        if self.variances.size:
            mean = _mean(self.variances, self.mask)
        inverse: FloatArray = 1 / (self.blur.gram + self.rho * self.rho.dtype.type(mean))
        return inverse

    def _told(self, solution: Solution, rhs: FloatArray) -> MaskedStep:
        """Return what is behind a step; `rhs` is used up."""
        kernels = self._kernels

        fixed = _boxed(solution.left), _boxed(solution.w), self.rho, _boxed(self.variances), _boxed(rhs)

        def settle(first: int, stop: int) -> float:
            squares: float = kernels.settle(*fixed, first, stop)
            return squares

        fidelity = 0.5 * math.fsum(in_strips(settle, rhs.shape))
        return MaskedStep(solution.w, rhs, fidelity, solution.residual, solution.converged)

    @functools.cached_property
    def _kernels(self) -> ModuleType:
        """The kernels, which are imported with Numba when there is something to compute."""
        from plugplay.models.likelihoods import masked_kernels

        return masked_kernels


@dataclass(frozen=True, eq=False)
class _Begun:
    """What is known before conjugate gradients.

    Attributes
    ----------
    rhs : array
        The right-hand side of the equations.
    w, seen : arrays, optional
        A guess of the solution, and M G Gᵀ M of it.
    size, norm : float
        The norms of the right-hand side and of what the guess leaves of it; NaN if that is not known.
    squares : float
        Twice f at the step that the guess makes, or NaN.
    """

    rhs: FloatArray
    w: FloatArray | None
    seen: FloatArray | None
    size: float
    norm: float
    squares: float


def _boxed(planes: NDArray[ScalarT]) -> NDArray[ScalarT]:
    """Return planes with the four axes that kernels take."""
    return planes if planes.ndim == 4 else planes[:, :, None]


def _mean(variances: FloatArray, mask: BoolArray) -> float:
    """Return the mean where there is an observation."""
    seen = np.count_nonzero(mask)
    return float(np.sum(variances, where=mask, dtype=np.float64) / seen) if seen else float(variances.flat[0])
