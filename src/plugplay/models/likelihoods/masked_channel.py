"""The equations behind the proximal step of a `MaskedTerm` for one channel, solved by conjugate gradients."""

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

__all__ = ["ChannelProblem", "ChannelStep"]

ScalarT = TypeVar("ScalarT", bound=np.generic)


@dataclass(frozen=True, eq=False)
class ChannelStep:
    """What is behind the step of one channel, and how it was found.

    Attributes
    ----------
    w : array
        The solution of the small system, on its grid.
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
class ChannelProblem:
    """The equations for one channel.

    Vectors are on the grid of the system, so that nothing is moved between two transforms. The observation is on the
    domain, the first part of the grid; beyond it, everything is zero.

    Attributes
    ----------
    blur : SampledBlur
        G on the grid.
    y, mask : arrays
        The samples on the domain, with an axis for channels, and which of them were observed.
    channel : int
        The number of the channel.
    rho : scalar
        The weight of the step, in the precision of y.
    variances : array
        Those of the observations relative to each other, or nothing. Their product with rho, the ridge, is added to the
        diagonal of the equations.
    """

    blur: SampledBlur
    y: FloatArray
    mask: BoolArray
    channel: int
    rho: Scalar
    variances: FloatArray

    def solved(
        self, v: FloatArray, rtol: float, before: ChannelStep | None, share: Scalar, *, out: FloatArray
    ) -> ChannelStep:
        """Write the step from v to `out`, and return what is behind it.

        Parameters
        ----------
        v, rtol
            As `MaskedSystem.step` takes them.
        before : ChannelStep, optional
            Where conjugate gradients start, times `share`; its arrays are used up.
        """
        rhs, first = self._start(v, before, share)
        del before
        solution = conjugate_gradients(self._applied, rhs, start=first, preconditioner=self._conditioned, rtol=rtol)
        del first

        def take(first: int, stop: int, rows: FloatArray) -> None:
            strip = v[first:stop]
            np.add(strip, rows[tuple(map(slice, strip.shape))], out=out[first:stop], casting="same_kind")

        self.blur.spread(solution.w, take)
        return self._told(solution, rhs)

    def _start(self, v: FloatArray, before: ChannelStep | None, share: Scalar) -> tuple[FloatArray, Start]:
        """Return the right-hand side M (y - G v), and where to start."""
        kernels = self._kernels
        rhs = np.empty(self.blur.sampled_shape, self.y.dtype)
        w = None if before is None else before.w
        seen = None if before is None else before.seen

        def take(first: int, stop: int, rows: FloatArray) -> tuple[float, float]:
            at = slice(first, stop)
            strip = _planes(rhs[at])
            size = kernels.observe(_planes(rows), *self._observed(at), self.channel, strip)
            if w is None:
                return size, size
            if seen is None:
                w[at] *= share
                return size, math.nan
            ridge = self.rho, self._variances(at), self.channel
            return size, kernels.resume(strip, *ridge, share, _planes(w[at]), _planes(seen[at]))

        sizes, norms = zip(*self.blur.sample(v, take), strict=True)
        return rhs, Start(w, seen, math.sqrt(math.fsum(sizes)), math.sqrt(math.fsum(norms)))

    def _applied(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return (M G Gᵀ M + ridge) w for a w that is zero outside of M, and its inner product with w."""
        return self._restricted(w, self.blur.gram, self.rho, self.variances)

    def _conditioned(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return M (G Gᵀ + mean ridge)⁻¹ M w for a w that is zero outside of M, and its inner product with w."""
        return self._restricted(w, self._inverse, self.rho * 0, self.variances[:0])

    def _restricted(
        self, w: FloatArray, response: FloatArray, rho: Scalar, variances: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return M (w filtered by the response) + ridge w, and its inner product with w."""
        kernels, out = self._kernels, np.empty_like(w)

        def take(first: int, stop: int, rows: FloatArray) -> float:
            at = slice(first, stop)
            mask, ridge = self._observed(at)[1], (rho, _planes(variances[at], 4), self.channel)
            product: float = kernels.restrict(_planes(rows), mask, *ridge, _planes(w[at]), _planes(out[at]))
            return product

        return out, math.fsum(self.blur.filter(w, take, response=response))

    @functools.cached_property
    def _inverse(self) -> FloatArray:
        """The spectrum of the preconditioner."""
        mean = 1.0
        if self.variances.size:
            mean = _mean(self.variances[..., self.channel], self.mask[..., self.channel])
        inverse: FloatArray = 1 / (self.blur.gram + self.rho * self.rho.dtype.type(mean))
        return inverse

    def _told(self, solution: Solution, rhs: FloatArray) -> ChannelStep:
        """Return what is behind a step; `rhs` is used up."""
        kernels = self._kernels

        def settle(first: int, stop: int) -> float:
            at = slice(first, stop)
            ridge = self.rho, self._variances(at), self.channel
            left, w = _planes(solution.left[at]), _planes(solution.w[at])
            squares: float = kernels.settle(left, w, *ridge, _planes(rhs[at]))
            return squares

        fidelity = 0.5 * math.fsum(in_strips(settle, rhs.shape))
        return ChannelStep(solution.w, rhs, fidelity, solution.residual, solution.converged)

    @functools.cached_property
    def _kernels(self) -> ModuleType:
        """The kernels, which are imported with Numba when there is something to compute."""
        from plugplay.models.likelihoods import masked_kernels

        return masked_kernels

    def _observed(self, at: slice) -> tuple[FloatArray, BoolArray]:
        return _planes(self.y[at], 4), _planes(self.mask[at], 4)

    def _variances(self, at: slice) -> FloatArray:
        return _planes(self.variances[at], 4)


def _planes(strip: NDArray[ScalarT], ndim: int = 3) -> NDArray[ScalarT]:
    """Return a strip as kernels take it: that of an image has one plane."""
    return strip if strip.ndim == ndim else strip[None]


def _mean(variances: FloatArray, mask: BoolArray) -> float:
    """Return the mean where there is an observation."""
    seen = np.count_nonzero(mask)
    return float(np.sum(variances, where=mask, dtype=np.float64) / seen) if seen else float(variances.flat[0])
