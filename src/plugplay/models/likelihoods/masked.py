"""Gaussian noise where only some samples were observed: the proximal step by conjugate gradients."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.arrays.sums import sum_of_squares
from plugplay.models.base import check_step
from plugplay.models.likelihoods.gaussian import LeastSquares
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.polyphase import SampledBlur
from plugplay.models.solvers import StepLog, conjugate_gradients

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MaskedTerm"]

# Where the conjugate gradients stop: the residual of the small system, relative to its right-hand side. That of
# the proximal step is Gᵀ of it, and relative to Gᵀy + rho v, which may be smaller than y, it stays below 1e-6.
RELATIVE_RESIDUAL = 1e-7
# What conjugate gradients reach in single precision.
SINGLE_RESIDUAL = 1e-4
# Pixels, in all channels, up to which a session keeps an image that saves a sixth of the transforms.
MAX_CARRIED = 1 << 24


@dataclass(frozen=True, eq=False)
class MaskedTerm(LeastSquares):
    r"""``f(x) = ½ ||M (S H x - y)||²``: only the samples in the mask M were observed.

    With G = S H, the proximal step is :math:`x = v + G^T w`, where w is zero outside the mask and solves

    .. math:: (M G G^T M + \rho I)\, w = M (y - G v).

    The system lives on the small grid. Conjugate gradients solve it, preconditioned by
    :math:`M (G G^T + \rho I)^{-1} M`, its exact inverse if everything were observed. If observations have variances
    :math:`d_i` relative to each other, :math:`\rho I` becomes :math:`\rho\,\mathrm{diag}(d)`, in the preconditioner
    with their mean: see `plugplay.models.likelihoods.poisson`.

    Attributes
    ----------
    y, mask : arrays
        The samples on the whole domain, and which of them were observed.
    kernel, factor, offset
        G, as `SampledBlur` takes it.
    frame : Frame
        Where the observed frame lies in the domain of x.
    first : array
        The first guess.
    """

    y: FloatArray
    mask: BoolArray
    kernel: NDArray[np.float64]
    factor: int
    offset: int
    frame: Frame
    first: FloatArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x, the whole domain."""
        return self.first.shape

    @functools.cached_property
    def lipschitz(self) -> float:
        """An upper bound of the Lipschitz constant of the gradient: that of everything observed."""
        return float(self._native.blur.gram.max())

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²`` to a relative residual of 1e-6."""
        rho = check_step(v, rho, self.shape)
        return self._exact.step(v, rho, RELATIVE_RESIDUAL)[0]

    def session(self, rtol: float = RELATIVE_RESIDUAL) -> MaskedTermSession:
        """Return this data term with a memory, so that each step starts from the previous one's solution.

        Parameters
        ----------
        rtol : float
            Relative residual of the small system at which a step is good enough. What single precision can reach is
            solved in the precision of the image.
        """
        return MaskedTermSession(self._exact if rtol < SINGLE_RESIDUAL else self._native, rtol)

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
        return self.in_frame(super().residual(x))

    def in_frame(self, samples: FloatArray) -> FloatArray:
        """Return the samples that lie in the observed frame."""
        return self.frame.sampled(self.factor).crop(samples)

    def misfit(self, x: FloatArray) -> FloatArray:
        """Return M (S H x - y) on the whole domain."""
        return self._misfit(x)

    def pulled_back(self, samples: FloatArray) -> FloatArray:
        """Return Gᵀ of samples on the whole domain that are zero where nothing was observed."""
        return self._adjoint(samples)

    @functools.cached_property
    def _exact(self) -> MaskedSystem:
        """The system in double precision, which small rho needs; made when it is first used."""
        return MaskedSystem.build(self, np.float64)

    @functools.cached_property
    def _native(self) -> MaskedSystem:
        """The system in the precision of the image."""
        return MaskedSystem.build(self, np.float32) if self.first.dtype == np.float32 else self._exact

    def _misfit(self, x: FloatArray) -> FloatArray:
        return (self._native if x.dtype == self.first.dtype else self._exact).misfit(x)

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return self._native.adjoint(residual).astype(self.first.dtype)


@dataclass(frozen=True, eq=False)
class ChannelStep:
    """What is behind the step of one channel, and how it was found.

    Attributes
    ----------
    w : array
        The solution of the small system.
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
        return self.padding.crop(self.blur.forward(self._embedded(x)))

    def filtered(self, samples: FloatArray, response: FloatArray) -> FloatArray:
        """Return samples on the whole domain after a filter with this response."""
        return self.padding.crop(self.blur.filter_samples(self.padding.embed(samples), response))

    def adjoint(self, samples: FloatArray) -> FloatArray:
        """Return Gᵀ of samples that are zero where nothing was observed."""
        return self._cropped(self.blur.adjoint(self.padding.embed(samples.astype(self.y.dtype, copy=False))))

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
        ridge = np.ones(1, self.y.dtype) if variances is None else variances.astype(self.y.dtype, copy=False)
        ridge = np.broadcast_to(self.y.dtype.type(rho) * ridge, self.y.shape)
        factor = self.y.dtype.type(share)

        def stepped(v: FloatArray, ridge: FloatArray, y: FloatArray, mask: BoolArray) -> tuple[FloatArray, ChannelStep]:
            before = like.pop(0) if like else None
            guess = np.zeros(y.shape, y.dtype) if before is None else factor * before.w
            applied = None if before is None or before.seen is None else factor * before.seen + ridge * guess
            del before
            x, found = self._channel_step(v, ridge, y, mask, rtol, guess, applied)
            return x, found if carried else replace(found, seen=None)

        if v.ndim == len(self.blur.shape):
            x, found = stepped(v, ridge, self.y, self.mask)
            return x, [found]
        # One channel after the other: each stops when it is done, and the memory of one is enough.
        x, steps = np.empty_like(v), []
        for c in range(v.shape[-1]):
            y, mask = np.ascontiguousarray(self.y[..., c]), np.ascontiguousarray(self.mask[..., c])
            x[..., c], found = stepped(v[..., c], ridge[..., c], y, mask)
            steps.append(found)
        return x, steps

    def _channel_step(
        self,
        v: FloatArray,
        ridge: FloatArray,
        y: FloatArray,
        mask: BoolArray,
        rtol: float,
        guess: FloatArray,
        applied: FloatArray | None,
    ) -> tuple[FloatArray, ChannelStep]:
        nothing = self.y.dtype.type(0)
        exact = v.astype(self.y.dtype)
        rhs = np.where(mask, y - self.seen(exact), nothing)
        inverse = 1 / (self.blur.gram + self.y.dtype.type(_mean(ridge, mask)))

        def filtered(w: FloatArray, response: FloatArray) -> FloatArray:
            return np.where(mask, self.filtered(w, response), nothing)

        solution = conjugate_gradients(
            lambda w: filtered(w, self.blur.gram) + ridge * w,
            rhs,
            guess=guess,
            applied=applied,
            preconditioner=lambda w: filtered(w, inverse),
            rtol=rtol,
        )
        del guess, applied
        x: FloatArray = (exact + self.adjoint(solution.w)).astype(v.dtype)
        # M (y - G x) is what the equations for w leave, and rho w.
        misfit = solution.left + ridge * solution.w
        fidelity = 0.5 * sum_of_squares(misfit)
        return x, ChannelStep(solution.w, rhs - misfit, fidelity, solution.residual, solution.converged)

    def _embedded(self, x: FloatArray) -> FloatArray:
        return self.padding.scaled(self.blur.factor).embed(x)

    def _cropped(self, x: FloatArray) -> FloatArray:
        return self.padding.scaled(self.blur.factor).crop(x)


class MaskedTermSession:
    """A `MaskedTerm` during one restoration; it remembers the solution of the last step."""

    def __init__(self, system: MaskedSystem, rtol: float) -> None:
        self._system, self._rtol = system, rtol
        self._last: list[ChannelStep] = []
        self._rho = 1.0
        self._fidelity = math.nan
        self._log = StepLog(rtol)

    def prox(self, v: FloatArray, rho: float, variances: FloatArray | None = None) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²`` to the residual of the session."""
        rho = check_step(v, rho, self._system.shape)
        # rho w, the residual M (y - G x), changes slowly from step to step; w itself grows as rho falls. Rounding
        # errors of what is carried along would add up, which matters to exact steps; large images have no room for it.
        x, self._last = self._system.step(
            v,
            rho,
            self._rtol,
            like=self._last,
            share=self._rho / rho,
            carried=self._rtol >= SINGLE_RESIDUAL and v.size <= MAX_CARRIED,
            variances=variances,
        )
        self._rho = rho
        self._fidelity = math.nan if variances is not None else math.fsum(one.fidelity for one in self._last)
        self._log.record(*self._last)
        return x

    def fidelity(self) -> float:
        """Return f at the x of the last step, which takes no transforms; NaN if observations have variances."""
        return self._fidelity

    def warnings(self) -> tuple[str, ...]:
        """Return what a user should know about the steps so far."""
        return self._log.warnings("the mask leaves too little to go on, or rho is tiny")


def _mean(ridge: FloatArray, mask: BoolArray) -> float:
    """Return the mean where there is an observation."""
    seen = np.count_nonzero(mask)
    return float(np.sum(ridge, where=mask, dtype=np.float64) / seen) if seen else float(ridge.flat[0])
