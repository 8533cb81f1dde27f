"""The equations behind the proximal step of a `MaskedTerm`, solved by conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.arrays.sums import sum_of_squares
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.polyphase import SampledBlur
from plugplay.models.solvers import conjugate_gradients

if TYPE_CHECKING:
    from plugplay.models.likelihoods.masked import MaskedTerm

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
        factor = dtype.type(share)
        x, steps = np.empty_like(v), []
        # One channel after the other: each stops when it is done, and the memory of one is enough.
        for at in np.ndindex(*v.shape[ndim:]):
            channel = (..., *at)
            before = like.pop(0) if like else None
            problem = ChannelProblem.build(self, channel, ridge)
            guess = None if before is None else factor * before.w
            applied = None
            if guess is not None and before is not None and before.seen is not None:
                applied = problem.ridge * guess
                applied += factor * before.seen
            del before
            found = problem.solved(v[channel], rtol, guess, applied, out=x[channel])
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
    """The equations for one channel; everything is on the grid of the system, so that nothing is moved in between.

    Attributes
    ----------
    system : MaskedSystem
        The system.
    y, observed : arrays
        The samples, and 1 where they were observed, else 0.
    ridge : array
        What is added to the diagonal: rho, times the variances if there are any.
    mean_ridge : float
        Its mean over what was observed.
    """

    system: MaskedSystem
    y: FloatArray
    observed: FloatArray
    ridge: FloatArray
    mean_ridge: float

    @classmethod
    def build(cls, system: MaskedSystem, channel: tuple[Any, ...], ridge: FloatArray) -> ChannelProblem:
        """Take the channel at this index out of a system."""
        mask = system.padding.embed(system.mask[channel])
        if ridge.ndim:
            ridge = system.padding.embed(ridge[channel])
        y = system.padding.embed(system.y[channel])
        return cls(system, y, mask.astype(y.dtype), ridge, _mean(ridge, mask))

    def solved(
        self, v: FloatArray, rtol: float, guess: FloatArray | None, applied: FloatArray | None, *, out: FloatArray
    ) -> ChannelStep:
        """Write the step from v to `out`, and return what is behind it.

        Parameters
        ----------
        v, rtol
            As `MaskedSystem.step` takes them.
        guess, applied : array, optional
            Where conjugate gradients start, and what the equations make of it, if that is known.
        """
        system, dtype = self.system, self.y.dtype
        exact = v.astype(dtype, copy=False)
        rhs = system.blur.forward(system.embedded(exact))
        np.subtract(self.y, rhs, out=rhs)
        rhs *= self.observed
        inverse = 1 / (system.blur.gram + dtype.type(self.mean_ridge))
        solution = conjugate_gradients(
            self._applied,
            rhs,
            guess=np.zeros_like(rhs) if guess is None else guess,
            applied=applied,
            preconditioner=lambda w: self._filtered(w, inverse),
            rtol=rtol,
        )
        del guess, applied
        np.add(exact, system.cropped(system.blur.adjoint(solution.w)), out=out, casting="same_kind")
        # M (y - G x) is what the equations for w leave, and rho w.
        misfit = self.ridge * solution.w
        misfit += solution.left
        fidelity = 0.5 * sum_of_squares(misfit)
        seen = np.subtract(rhs, misfit, out=rhs)
        return ChannelStep(solution.w, seen, fidelity, solution.residual, solution.converged)

    def _applied(self, w: FloatArray) -> FloatArray:
        applied = self._filtered(w, self.system.blur.gram)
        applied += self.ridge * w
        return applied

    def _filtered(self, w: FloatArray, response: FloatArray) -> FloatArray:
        filtered = self.system.blur.filter_samples(w, response)
        filtered *= self.observed
        return filtered


def _mean(ridge: FloatArray, mask: BoolArray) -> float:
    """Return the mean where there is an observation."""
    if ridge.ndim == 0:
        return float(ridge)
    seen = np.count_nonzero(mask)
    return float(np.sum(ridge, where=mask, dtype=np.float64) / seen) if seen else float(ridge.flat[0])
