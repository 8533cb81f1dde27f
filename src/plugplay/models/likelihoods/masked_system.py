"""The equations behind the proximal step of a `MaskedTerm`, in one precision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.fft

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.models.likelihoods.masked_problem import MaskedProblem, MaskedStep
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.polyphase import SampledBlur
from plugplay.models.operators.transforms import planes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models.likelihoods.masked import MaskedTerm

__all__ = ["MaskedSystem"]

ScalarT = TypeVar("ScalarT", bound=np.generic)


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
        y, mask = _with_whole_planes(term.y, ndim, dtype), _with_whole_planes(term.mask, ndim, np.bool_)
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
        like: list[MaskedStep] | None = None,
        share: float = 1.0,
        carried: bool = False,
        variances: FloatArray | None = None,
    ) -> tuple[FloatArray, list[MaskedStep]]:
        """Return the proximal step x and what is behind it, for channels that are solved together.

        Parameters
        ----------
        v, rho, rtol
            Where to step from, its weight, and the relative residual to reach.
        like : list of MaskedStep, optional
            Another step to start from, times `share`. The list is used up: large images leave no room for two.
        carried : bool
            Whether to rely on what it has `seen`, and to keep that for another step.
        variances : array, optional
            Those of the observations relative to each other; f is then ``½ Σ (G x - y)² / variances``.
        """
        dtype, ndim = self.y.dtype, len(self.blur.shape)
        x, steps = np.empty(v.shape, v.dtype), []
        source, target = planes_of(v, ndim), planes_of(x, ndim)
        y, mask = planes_of(self.y, ndim), planes_of(self.mask, ndim)
        relative = np.empty((len(y), *(0,) * ndim), dtype)
        if variances is not None:
            relative = np.ascontiguousarray(planes_of(variances, ndim), dtype)
        for channels in self.blur.channels_at_a_time(len(y)):
            before = like.pop(0) if like else None
            problem = MaskedProblem(self.blur, y[channels], mask[channels], dtype.type(rho), relative[channels])
            found = problem.solved(source[channels], rtol, before, dtype.type(share), out=target[channels])
            steps.append(found if carried else replace(found, seen=None))
        return x, steps

    def embedded(self, x: FloatArray) -> FloatArray:
        """Return x on the grid."""
        return self.padding.scaled(self.blur.factor).embed(x)

    def cropped(self, x: FloatArray) -> FloatArray:
        """Return the part of the grid that is the domain of x."""
        return self.padding.scaled(self.blur.factor).crop(x)


def _with_whole_planes(array: NDArray[Any], ndim: int, dtype: type[ScalarT]) -> NDArray[ScalarT]:
    """Return an array each of whose channels lies in memory as a whole, in the order that it had before."""
    planes = np.ascontiguousarray(planes_of(array, ndim), dtype)
    return np.moveaxis(planes, 0, -1).reshape(array.shape)
