"""The equations behind the proximal step of a `MaskedTerm`, solved by conjugate gradients."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.fft

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.polyphase import SampledBlur
from plugplay.models.operators.transforms import in_strips
from plugplay.models.solvers import Solution, Start, conjugate_gradients

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models.likelihoods.masked import MaskedTerm

    Scalar = np.floating[Any]

__all__ = ["ChannelStep", "MaskedSystem"]

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
class MaskedSystem:
    """The equations of a `MaskedTerm` in one precision, on a grid whose lengths suit the FFT.

    The grid is larger than the domain of x. What is added lies beyond the reach of every observed sample, so that x is
    zero there and nothing of it enters the equations.
    """

    y: FloatArray
    mask: BoolArray
    blur: SampledBlur
    shape: tuple[int, ...]
    padding: Frame

    @classmethod
    def build(cls, term: MaskedTerm, dtype: type[np.floating[Any]]) -> MaskedSystem:
        """Precompute the spectra."""
        ndim = term.kernel.ndim
        small = term.y.shape[:ndim]
        # A circle cannot be made longer.
        fast = small if term.frame == Frame() else tuple(scipy.fft.next_fast_len(n, real=True) for n in small)
        padding = Frame((0,) * ndim, tuple(long - short for long, short in zip(fast, small, strict=True)))
        grid = tuple(term.factor * n for n in fast)
        blur = SampledBlur.build(term.kernel, grid, factor=term.factor, offset=term.offset, dtype=dtype)
        y, mask = np.ascontiguousarray(term.y, dtype), np.ascontiguousarray(term.mask)
        return cls(y, mask, blur, term.shape, padding)

    def misfit(self, x: FloatArray) -> FloatArray:
        """Return M (G x - y)."""
        return np.where(self.mask, self.seen(x.astype(self.y.dtype)) - self.y, self.y.dtype.type(0))

    def seen(self, x: FloatArray) -> FloatArray:
        """Return G x on the whole domain, for an x in the precision of the system."""
        return self.padding.crop(self.blur.forward(self.embedded(x)))

    def filtered(self, samples: FloatArray, response: FloatArray) -> FloatArray:
        """Return samples on the whole domain after a filter with this response."""
        return self.padding.crop(self.blur.filter_samples(self.padding.embed(samples), response))

    def adjoint(self, samples: FloatArray) -> FloatArray:
        """Return Gᵀ of samples that are zero where nothing was observed."""
        return self.cropped(self.blur.adjoint(self.padding.embed(samples.astype(self.y.dtype, copy=False))))

    def step(
        self,
        v: FloatArray,
        rho: float,
        rtol: float,
        *,
        like: list[ChannelStep] | None = None,
        share: float = 1.0,
        carried: bool = False,
        variances: FloatArray | None = None,
    ) -> tuple[FloatArray, list[ChannelStep]]:
        """Return the proximal step x and what is behind it for each channel.

        Parameters
        ----------
        v, rho, rtol
            Where to step from, its weight, and the relative residual to reach.
        like : list of ChannelStep, optional
            Another step to start from, times `share`. The list is used up: large images leave no room for two.
        carried : bool
            Whether to rely on what it has `seen`, and to keep that for another step.
        variances : array, optional
            Those of the observations relative to each other; f is then ``½ Σ (G x - y)² / variances``.
        """
        dtype, ndim = self.y.dtype, len(self.blur.shape)
        relative = np.empty((0,) * (ndim + 1), dtype)
        if variances is not None:
            relative = _with_channels(variances.astype(dtype, copy=False), ndim)
        x, steps = np.empty_like(v), []
        # One channel after the other: each stops when it is done, and the memory of one is enough.
        for number, at in enumerate(np.ndindex(*v.shape[ndim:])):
            channel = (..., *at)
            before = like.pop(0) if like else None
            problem = ChannelProblem(
                self.blur,
                _with_channels(self.y, ndim),
                _with_channels(self.mask, ndim),
                number,
                dtype.type(rho),
                relative,
            )
            found = problem.solved(v[channel], rtol, before, dtype.type(share), out=x[channel])
            steps.append(found if carried else replace(found, seen=None))
        return x, steps

    def embedded(self, x: FloatArray) -> FloatArray:
        """Return x on the grid."""
        return self.padding.scaled(self.blur.factor).embed(x)

    def cropped(self, x: FloatArray) -> FloatArray:
        """Return the part of the grid that is the domain of x."""
        return self.padding.scaled(self.blur.factor).crop(x)


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
            squares: float = kernels.settle(_planes(solution.left[at]), _planes(solution.w[at]), *ridge, _planes(rhs[at]))
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


def _with_channels(array: NDArray[ScalarT], ndim: int) -> NDArray[ScalarT]:
    """Return an array with one axis for channels after its spatial ones."""
    return array.reshape(*array.shape[:ndim], -1)


def _planes(strip: NDArray[ScalarT], ndim: int = 3) -> NDArray[ScalarT]:
    """Return a strip as kernels take it: that of an image has one plane."""
    return strip if strip.ndim == ndim else strip[None]


def _mean(variances: FloatArray, mask: BoolArray) -> float:
    """Return the mean where there is an observation."""
    seen = np.count_nonzero(mask)
    return float(np.sum(variances, where=mask, dtype=np.float64) / seen) if seen else float(variances.flat[0])
