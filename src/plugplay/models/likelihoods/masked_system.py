"""The equations behind the proximal step of a `MaskedTerm`, solved by conjugate gradients."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.arrays.sums import sum_of_squares
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.polyphase import SampledBlur
from plugplay.models.operators.transforms import in_strips
from plugplay.models.solvers import Solution, conjugate_gradients

if TYPE_CHECKING:
    from plugplay.models.likelihoods.masked import MaskedTerm

    Scalar = np.floating[Any]

__all__ = ["ChannelStep", "MaskedSystem"]


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
        return cls(term.y.astype(dtype, copy=False), term.mask, blur, term.shape, padding)

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
        weight: FloatArray = np.asarray(rho, dtype)
        ridge = weight if variances is None else weight * variances.astype(dtype, copy=False)
        x, steps = np.empty_like(v), []
        # One channel after the other: each stops when it is done, and the memory of one is enough.
        for at in np.ndindex(*v.shape[ndim:]):
            channel = (..., *at)
            before = like.pop(0) if like else None
            problem = ChannelProblem.build(self, channel, ridge)
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

    Vectors are on the grid of the system, so that nothing is moved between two transforms; the observation is on the
    domain, the first part of the grid. Everything else is zero.

    Attributes
    ----------
    blur : SampledBlur
        G on the grid.
    y, mask : arrays
        The samples on the domain, and which of them were observed.
    ridge : array
        What is added to the diagonal: rho, times the variances on the domain if there are any.
    """

    blur: SampledBlur
    y: FloatArray
    mask: BoolArray
    ridge: FloatArray

    @classmethod
    def build(cls, system: MaskedSystem, channel: tuple[Any, ...], ridge: FloatArray) -> ChannelProblem:
        """Take the channel at this index out of a system."""
        ridge = ridge[channel] if ridge.ndim else ridge
        return cls(system.blur, system.y[channel], system.mask[channel], ridge)

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
        rhs, guess, residual = self._first_residual(v, before, share)
        del before
        solution = conjugate_gradients(
            self._applied, rhs, guess=guess, residual=residual, preconditioner=self._conditioned, rtol=rtol
        )
        del guess, residual

        def take(first: int, stop: int, rows: FloatArray) -> None:
            strip = v[first:stop]
            np.add(strip, rows[tuple(map(slice, strip.shape))], out=out[first:stop], casting="same_kind")

        self.blur.spread(solution.w, take)
        return self._told(solution, rhs)

    def _first_residual(
        self, v: FloatArray, before: ChannelStep | None, share: Scalar
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return the right-hand side M (y - G v), a guess of w, and what it leaves, if that is known."""
        rhs = np.empty(self.blur.sampled_shape, self.y.dtype)
        guess = np.zeros_like(rhs) if before is None else before.w
        seen = None if before is None else before.seen

        def take(first: int, stop: int, rows: FloatArray) -> None:
            inner, at = self._inner(first, stop)
            np.subtract(self.y[at], rows[inner], out=rows[inner])
            rhs[first:stop] = self._observed(rows, first, stop)
            if before is not None:
                guess[first:stop] *= share
            if seen is not None:
                # The equations make share times (M G Gᵀ M + ridge) w of the guess.
                left = seen[first:stop]
                left *= -share
                left += rows
                left[inner] -= self._ridge(at) * guess[first:stop][inner]

        self.blur.sample(v, take)
        return rhs, guess, seen

    def _applied(self, w: FloatArray) -> FloatArray:
        """Return (M G Gᵀ M + ridge) w for a w that is zero outside of the mask."""
        applied = np.empty_like(w)

        def take(first: int, stop: int, rows: FloatArray) -> None:
            inner, at = self._inner(first, stop)
            applied[first:stop] = self._observed(rows, first, stop)
            applied[first:stop][inner] += self._ridge(at) * w[first:stop][inner]

        self.blur.filter(w, take, response=self.blur.gram)
        return applied

    def _conditioned(self, w: FloatArray) -> FloatArray:
        """Return M (G Gᵀ + mean ridge)⁻¹ M w for a w that is zero outside of the mask."""
        conditioned = np.empty_like(w)

        def take(first: int, stop: int, rows: FloatArray) -> None:
            conditioned[first:stop] = self._observed(rows, first, stop)

        self.blur.filter(w, take, response=self._inverse)
        return conditioned

    @functools.cached_property
    def _inverse(self) -> FloatArray:
        """The spectrum of the preconditioner."""
        inverse: FloatArray = 1 / (self.blur.gram + self.y.dtype.type(_mean(self.ridge, self.mask)))
        return inverse

    def _told(self, solution: Solution, rhs: FloatArray) -> ChannelStep:
        """Return what is behind a step; `rhs` is used up."""

        def settle(first: int, stop: int) -> float:
            # M (y - G x) is what the equations for w leave, and rho w.
            inner, at = self._inner(first, stop)
            misfit = solution.left[first:stop].copy()
            misfit[inner] += self._ridge(at) * solution.w[first:stop][inner]
            rhs[first:stop] -= misfit
            return sum_of_squares(misfit)

        fidelity = 0.5 * math.fsum(in_strips(settle, rhs.shape))
        return ChannelStep(solution.w, rhs, fidelity, solution.residual, solution.converged)

    def _inner(self, first: int, stop: int) -> tuple[tuple[slice, ...], slice]:
        """Return which part of the rows of the grid is in the domain, and which rows of the domain these are."""
        at = slice(first, min(stop, self.y.shape[0]))
        return tuple(map(slice, self.y[at].shape)), at

    def _ridge(self, at: slice) -> FloatArray:
        return self.ridge[at] if self.ridge.ndim else self.ridge

    def _observed(self, rows: FloatArray, first: int, stop: int) -> FloatArray:
        """Return rows of the grid, changed to zero where nothing was observed."""
        inner, at = self._inner(first, stop)
        for axis, part in enumerate(inner):
            beyond = (slice(None),) * axis
            rows[(*beyond, slice(part.stop, None))] = 0
        rows[inner] *= self.mask[at]
        return rows


def _mean(ridge: FloatArray, mask: BoolArray) -> float:
    """Return the mean where there is an observation."""
    if ridge.ndim == 0:
        return float(ridge)
    seen = np.count_nonzero(mask)
    return float(np.sum(ridge, where=mask, dtype=np.float64) / seen) if seen else float(ridge.flat[0])
