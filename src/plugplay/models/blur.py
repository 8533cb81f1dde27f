r"""The base class of `Deblurring` and `SuperResolution`: a kernel, a boundary, and an optional mask.

The closed forms are exact on a circular domain. A photograph is not circular: the scene beyond its frame was blurred
into it. Every boundary is therefore expressed on a circular domain of its own:

``"circular"``
    the domain is the frame;
``"reflect"``
    the domain is larger, the observation is continued into it by reflection, and the closed form applies;
``"unknown"``
    the domain is larger by what the kernel reaches, and only the frame is observed there: the valid convolution.

A mask of dead pixels and an unknown boundary are the same problem, a masked observation, with one solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.fft

from plugplay.arrays.checks import BoolArray, FloatArray, check_choice, check_mask, float_image, frozen
from plugplay.arrays.masks import fill_from_nearest, mask_for, observed_values
from plugplay.kernels import centroid_shift
from plugplay.models.base import LinearGaussianModel, observation
from plugplay.models.likelihoods.gaussian import CircularTerm
from plugplay.models.likelihoods.masked import MaskedTerm
from plugplay.models.likelihoods.poisson import PoissonTerm
from plugplay.models.likelihoods.stretched import StretchedTerm
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.interpolation import Enlarged
from plugplay.models.operators.polyphase import SampledBlur
from plugplay.traits import Traits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from plugplay.noise.growing import PoissonGaussian
    from plugplay.noise.sky import Sky

__all__ = ["BOUNDARIES", "BlurModel", "check_boundary", "check_optional_mask"]

BOUNDARIES = ("circular", "reflect", "unknown")
# Number of frequencies along each axis of a model's spectrum.
SPECTRUM_GRID = 64
# By how much of the largest tap those of a symmetric kernel may differ.
MIRROR_TOLERANCE = 1e-6


class BlurModel(LinearGaussianModel):
    """G = M S H: blur with the kernel, keep every K-th pixel, and drop pixels that the mask marks as missing."""

    kernel: NDArray[np.float64]
    factor: int  # K, the distance between samples along each axis
    offset: int  # samples are taken at K i + offset
    boundary: str
    mask: BoolArray | None

    @property
    def spatial_ndim(self) -> int:  # type: ignore[override]  # follows from the kernel, and cannot be set
        """Number of spatial axes: that of the kernel."""
        return self.kernel.ndim

    def traits(self, y: FloatArray) -> Traits:
        """Return what this model says about itself."""
        observed = None if self.mask is None else mask_for(y, self.mask)
        seen = 1.0 if self.mask is None else float(self.mask.mean())
        # A grid fine enough for the kernel, however large the image is.
        padded = np.zeros(tuple(max(SPECTRUM_GRID, n) for n in self.kernel.shape))
        padded[tuple(slice(n) for n in self.kernel.shape)] = self.kernel
        spectrum = scipy.fft.fftn(np.roll(padded, [-(n // 2) for n in self.kernel.shape], range(padded.ndim)))
        mass = float(self.kernel.sum())
        return Traits(
            spatial_ndim=self.spatial_ndim,
            unknowns_per_sample=float(self.factor) ** self.spatial_ndim / seen,
            decimation=float(self.factor),
            spectrum=spectrum,
            norm=float(np.abs(spectrum).max()),
            constant_gain=mass,
            leaves="coloured",
            observed=observed,
            alike=True,
        )

    def forward(self, x: ArrayLike) -> FloatArray:
        """Return G x; for an unknown boundary x is larger than the frame (the valid convolution)."""
        image = float_image(x, "x", spatial_ndim=self.spatial_ndim)
        margin = self._margin(tuple(n // self.factor for n in image.shape[: self.spatial_ndim]))
        if any(n % self.factor for n in image.shape[: self.spatial_ndim]):
            raise ValueError(f"x has the shape {image.shape}, which is not divisible by the factor {self.factor}")
        if self.boundary == "reflect":
            image = margin.scaled(self.factor).reflect(image)
        sampled = self._blur(image).forward(image)
        return self._where_observed(sampled if self.boundary == "circular" else margin.crop(sampled))

    def adjoint(self, y: ArrayLike) -> FloatArray:
        """Return Gᵀ y."""
        samples = self._where_observed(self._samples(y))
        margin = self._margin(samples.shape[: self.spatial_ndim])
        if self.boundary != "circular":
            samples = margin.embed(samples)
        image = self._blur(samples, enlarged=True).adjoint(samples)
        return margin.scaled(self.factor).reflect_adjoint(image) if self.boundary == "reflect" else image

    def data_term(self, y: ArrayLike) -> CircularTerm | MaskedTerm:
        """Return ``f(x) = ½ ||G x - y||²``; values of y where the mask is False are ignored."""
        term = self._masked_term(y)
        if not term.mask.all():
            return term
        blur = self._blur(term.y, enlarged=True)
        # A wide blur brings in more of what is no mirror image: there x stays free beyond the frame.
        mirrored = self.boundary == "reflect" and self.factor > 1 and self._commutes_with_mirrors()
        return CircularTerm.build(term.y, blur=blur, frame=term.frame, first=term.first, mirrored=mirrored)

    def poisson_term(self, y: ArrayLike, noise: PoissonGaussian) -> PoissonTerm:
        """Return the likelihood of photons and read-out noise, whose gain, read-out noise and offset are known."""
        return PoissonTerm.build(self._masked_term(y), noise)

    def stretched_term(self, y: ArrayLike, *, sky: Sky, tau: float) -> StretchedTerm:
        """Return the likelihood of a star field, which the denoiser sees on a nonlinear stretch."""
        term, margin = self._masked_term(y), self._margin(sky.surface.shape)
        if self.boundary == "unknown":  # the sky goes on
            rows, columns = (
                np.arange(-before, length + after)
                for before, length, after in zip(margin.before, sky.surface.shape, margin.after, strict=True)
            )
            return StretchedTerm.build(term, sky.surface.at(rows, columns), sky=sky, tau=tau)
        rows, columns = (np.arange(length) for length in sky.surface.shape)
        return StretchedTerm.build(term, margin.reflect(sky.surface.at(rows, columns)), sky=sky, tau=tau)

    def coarsened(self, factor: int) -> BlurModel | None:  # noqa: ARG002 - it is for those that can
        """Return the model of an image whose pixels are `factor` times as wide; None if there is none."""
        return None

    def _masked_term(self, y: ArrayLike) -> MaskedTerm:
        samples = self._samples(y)
        if self.mask is not None:
            observed = mask_for(samples, self.mask)
            samples = observed_values(samples, self.mask)
        else:
            observed = np.ones(samples.shape, np.bool_)
        self._check_fits(tuple(self.factor * n for n in samples.shape[: self.spatial_ndim]))
        margin = self._margin(samples.shape[: self.spatial_ndim])
        guess = samples if self.mask is None else fill_from_nearest(samples, observed, spatial_ndim=self.spatial_ndim)
        first = Enlarged(frozen(guess), margin, self.factor, self._position())
        if self.boundary == "reflect":
            samples, observed = margin.reflect(samples), margin.reflect(observed)
        elif self.boundary == "unknown":
            samples, observed = margin.embed(samples), margin.embed(observed)
        frame = margin.scaled(self.factor)
        return MaskedTerm(frozen(samples), frozen(observed), self.kernel, self.factor, self.offset, frame, first)

    def _position(self) -> tuple[float, ...]:
        """Return the position of the first sample in the large image, for a first guess."""
        return tuple(self.offset + n for n in centroid_shift(self.kernel))

    def _commutes_with_mirrors(self) -> bool:
        """Tell whether samples of a mirror image are the mirror image of the samples, along every axis.

        Mirrored at the edge of the frame, pixel p is pixel -1 - p and sample i is sample -1 - i, so that tap t of the
        kernel, which sees pixel K i + offset - t + n // 2, changes places with tap 2 (n // 2) + 2 offset + 1 - K - t.
        """
        centred = all(2 * (n // 2) + 2 * self.offset + 2 - self.factor == n for n in self.kernel.shape)
        limit = MIRROR_TOLERANCE * float(np.abs(self.kernel).max())
        return centred and all(
            bool(np.abs(self.kernel - np.flip(self.kernel, axis)).max() <= limit) for axis in range(self.kernel.ndim)
        )

    def _samples(self, y: ArrayLike) -> FloatArray:
        return observation(y, finite=self.mask is None, spatial_ndim=self.spatial_ndim)

    def _margin(self, small: tuple[int, ...]) -> Frame:
        """Return how many samples the domain extends beyond a frame of so many samples on each side."""
        if self.boundary == "circular":
            return Frame()
        before, after = [], []
        for n, length in zip(self.kernel.shape, small, strict=True):
            centre, k = n // 2, self.factor
            reach = max(0, n - 1 - centre - self.offset), max(0, centre - (k - 1 - self.offset))
            if self.boundary == "reflect":
                # Opposite edges of the circular domain meet: keep them a kernel away from the frame.
                reach = (n, n)
            before.append(-(-reach[0] // k))
            after.append(-(-reach[1] // k))
            if self.boundary == "reflect":  # and give the domain a length that suits the FFT
                domain = before[-1] + length + after[-1]
                after[-1] += scipy.fft.next_fast_len(domain, real=True) - domain
        return Frame(tuple(before), tuple(after))

    def _blur(self, image: FloatArray, *, enlarged: bool = False) -> SampledBlur:
        """Return G without the mask, for the domain of `image` (of its samples, if `enlarged`)."""
        scale = self.factor if enlarged else 1
        shape = tuple(scale * n for n in image.shape[: self.spatial_ndim])
        self._check_fits(shape)
        return SampledBlur.build(self.kernel, shape, factor=self.factor, offset=self.offset, dtype=image.dtype)

    def _check_fits(self, shape: tuple[int, ...]) -> None:
        if any(taps > n for taps, n in zip(self.kernel.shape, shape, strict=True)):
            raise ValueError(
                f"the kernel, of shape {self.kernel.shape}, is larger than the image, of shape {shape}: crop it"
            )

    def _where_observed(self, samples: FloatArray) -> FloatArray:
        return samples if self.mask is None else observed_values(samples, self.mask)

    def _observed(self, noise: FloatArray) -> FloatArray:
        return self._where_observed(noise)


def check_boundary(boundary: str) -> str:
    """Return the boundary if it is one that is known."""
    return check_choice(boundary, "boundary", BOUNDARIES)


def check_optional_mask(mask: ArrayLike | None, *, spatial_ndim: int) -> BoolArray | None:
    """Return a read-only mask, or None."""
    return None if mask is None else frozen(check_mask(mask, spatial_ndim=spatial_ndim))
