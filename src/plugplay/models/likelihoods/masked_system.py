"""The equations behind the proximal step of a `MaskedTerm`, in one precision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.fft

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.models.likelihoods.masked_channel import ChannelProblem, ChannelStep
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.polyphase import SampledBlur

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


def _with_channels(array: NDArray[ScalarT], ndim: int) -> NDArray[ScalarT]:
    """Return an array with one axis for channels after its spatial ones."""
    return array.reshape(*array.shape[:ndim], -1)
