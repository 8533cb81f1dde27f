r"""Blur and sampling, G = S H, on a circular domain, and the closed form of its proximal step.

H is a circular convolution with the kernel h, S keeps every K-th pixel along all spatial axes, two or three.
Everything happens in the half spectra of real FFTs, where

* sampling **folds** the spectrum: it averages the aliases, K along each axis, of each low-resolution frequency;
* its transpose **unfolds** it: the low-resolution spectrum is repeated K times along each axis;
* :math:`G G^T`, upsample-filter-downsample, is the filter :math:`\tilde h_0`, the 0th polyphase component of
  :math:`h * h^-` (the paper's Proposition 1), so its eigenvalues are :math:`\hat h_0`, the folded
  :math:`|\hat h|^2`.

What happens between two transforms is compiled: `plugplay.models.operators.folding` has the kernels.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft

from plugplay.arrays.checks import FloatArray, frozen
from plugplay.arrays.records import Fingerprinted
from plugplay.arrays.strips import share_out, strips
from plugplay.models.operators.aliases import Aliases
from plugplay.models.operators.transforms import Take, half_spectrum, hand_over, whole_image

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = ["SampledBlur"]

# Frequencies that a kernel works on in one call, which takes some microseconds by itself.
STRIP = 1 << 15


@dataclass(frozen=True, eq=False)
class SampledBlur(Fingerprinted):
    """G = S H for images of one shape and one dtype.

    Attributes
    ----------
    shape : tuple of int
        Spatial shape of the large image, a multiple of `factor` along all axes.
    factor : int
        K, the distance between samples.
    transfer : complex array, ``(H, W // 2 + 1)``
        The spectrum of h, moved so that samples are taken at ``K i`` instead of ``K i + offset``, and divided by
        the number of aliases, because sampling averages them and folding sums them.
    gram : real array, ``(H / K, W / K // 2 + 1)``
        The eigenvalues of G Gᵀ: the spectrum of the 0th polyphase component of h * h⁻.
    """

    shape: tuple[int, ...]
    factor: int
    transfer: NDArray[np.complexfloating[Any, Any]]
    gram: FloatArray

    @classmethod
    def build(
        cls,
        kernel: NDArray[np.float64],
        shape: tuple[int, ...],
        *,
        factor: int = 1,
        offset: int = 0,
        dtype: np.dtype[Any] | type = np.float64,
    ) -> SampledBlur:
        """Precompute the spectra in double precision and keep them in the precision of `dtype`."""
        padded = np.zeros(shape)
        padded[tuple(slice(n) for n in kernel.shape)] = kernel
        moves = tuple(-(n // 2) - offset for n in kernel.shape)
        transfer = scipy.fft.rfftn(np.roll(padded, moves, axis=range(len(shape))))
        single = np.dtype(dtype) == np.float32
        real, cplx = (np.float32, np.complex64) if single else (np.float64, np.complex128)
        exact = cls(shape, factor, transfer / factor ** len(shape), np.empty(0))
        folded = exact._sampled(transfer.conj()).real  # the folded |h|²
        return cls(shape, factor, frozen(exact.transfer.astype(cplx)), frozen(folded.astype(real)))

    @property
    def sampled_shape(self) -> tuple[int, ...]:
        """Spatial shape of the small image."""
        return tuple(n // self.factor for n in self.shape)

    def forward(self, x: FloatArray) -> FloatArray:
        """Return G x."""
        return self._by_channels(self.sample, x, self.sampled_shape)

    def adjoint(self, y: FloatArray) -> FloatArray:
        """Return Gᵀ y: upsampling, then convolution with the flipped kernel."""
        return self._by_channels(self.spread, y, self.shape)

    def filter_samples(self, y: FloatArray, response: FloatArray) -> FloatArray:
        """Return the small image y filtered by a real response, such as `gram`."""
        return self._by_channels(functools.partial(self.filter, response=response), y, self.sampled_shape)

    def misfit(self, x: FloatArray, y_spectra: NDArray[Any]) -> FloatArray:
        """Return G x - y, given the `spectra_of` y."""
        made = np.empty((*self.sampled_shape, *x.shape[self._ndim :]), x.dtype)
        for at, channel in self._channels(x):
            seen = self._sampled(self._spectrum(x[channel], self.shape))
            seen -= y_spectra[at]
            hand_over(seen, self.sampled_shape, _into(made[channel]))
        return made

    def closed_form(self, v: FloatArray, y_spectra: NDArray[Any], rho: float) -> tuple[FloatArray, float]:
        r"""Return :math:`x = (G^T G + \rho I)^{-1} (G^T y + \rho v)`, given the `spectra_of` y, and ½ ||G x - y||².

        Sherman, Morrison and Woodbury turn it into a correction of v by the filtered residual,

        .. math:: x = v + G^T F^{-1} \{ F(y - G v) / (\hat h_0 + \rho) \},

        which never divides by rho alone and so keeps its accuracy in single precision. It costs one real FFT of
        the large image and one inverse, with one pass over the spectrum in between. What is left, :math:`y - G x`, is
        :math:`\rho` times the filtered residual, whose energy is that of its spectrum. Channels are done one after the
        other: loops over an innermost axis that is three long take several times as long.
        """
        if v.ndim == self._ndim:
            spectrum = self._spectrum(v, self.shape)
            energy = self._correct(spectrum, y_spectra, rho)
            return whole_image(spectrum, self.shape).astype(v.dtype, copy=False), 0.5 * rho**2 * energy
        x, energy = np.empty_like(v), 0.0
        for at, channel in self._channels(v):
            spectrum = self._spectrum(v[channel], self.shape)
            energy += self._correct(spectrum, y_spectra[at], rho)
            hand_over(spectrum, self.shape, _into(x[channel]))
        return x, 0.5 * rho**2 * energy

    def sample(self, x: FloatArray, take: Take) -> list[Any]:
        """Hand over G x for an x of one channel, which zeros continue to `shape`: see `hand_over`."""
        return hand_over(self._sampled(self._spectrum(x, self.shape)), self.sampled_shape, take)

    def spread(self, y: FloatArray, take: Take) -> list[Any]:
        """Hand over Gᵀ y for samples of one channel, which zeros continue to `sampled_shape`."""
        return hand_over(self._unfolded(self._spectrum(y, self.sampled_shape)), self.shape, take)

    def filter(self, y: FloatArray, take: Take, *, response: FloatArray) -> list[Any]:
        """Hand over samples of one channel that were filtered by a real response."""
        spectrum = self._spectrum(y, self.sampled_shape)
        self._run(self._filtering.multiply, _rows(response), _rows(spectrum))
        return hand_over(spectrum, self.sampled_shape, take)

    def spectra_of(self, y: FloatArray) -> NDArray[Any]:
        """Return the half spectra of the samples of an image, channels first."""
        spatial = range(-self._ndim, 0)
        spectra: NDArray[Any] = scipy.fft.rfftn(
            np.ascontiguousarray(np.moveaxis(y, range(self._ndim), spatial)), axes=spatial
        )
        return spectra

    def _by_channels(
        self, operation: Callable[[FloatArray, Take], Any], image: FloatArray, shape: tuple[int, ...]
    ) -> FloatArray:
        """Return what an operation hands over for each channel."""
        made = np.empty((*shape, *image.shape[self._ndim :]), self.gram.dtype)
        for _, channel in self._channels(image):
            operation(image[channel], _into(made[channel]))
        return made

    def _channels(self, image: FloatArray) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
        """Yield where the channels are in `spectra_of` an image, and where in the image itself."""
        for at in np.ndindex(*image.shape[self._ndim :]):
            yield at, (..., *at)

    @property
    def _ndim(self) -> int:
        return len(self.shape)

    @property
    def _repeats(self) -> Any:
        """The number of aliases, by which `transfer` was divided."""
        return self.gram.dtype.type(self.factor**self._ndim)

    @functools.cached_property
    def _aliases(self) -> Aliases:
        return Aliases.build(self.shape, self.factor)

    @functools.cached_property
    def _filtering(self) -> ModuleType:
        """The kernels without sampling; they are imported, with Numba, when there is something to compute."""
        from plugplay.models.operators import filtering

        return filtering

    @functools.cached_property
    def _folding(self) -> ModuleType:
        """The kernels with sampling."""
        from plugplay.models.operators import folding

        return folding

    def _run(self, kernel: Callable[..., Any], *arguments: Any, pairs: int | None = None) -> list[Any]:
        """Run a kernel over strips of rows of the last argument, or of so many pairs of rows of the large spectrum."""
        count, size = (len(arguments[-1]), arguments[-1].size) if pairs is None else (pairs, self.transfer.size)
        pieces = strips(count, max(STRIP * count // size, 1))
        return share_out(functools.partial(kernel, *arguments), pieces, scipy.fft.get_workers())

    def _spectrum(self, image: FloatArray, shape: tuple[int, ...]) -> NDArray[Any]:
        return half_spectrum(image, shape, self.gram.dtype)

    def _sampled(self, spectrum: NDArray[Any]) -> NDArray[Any]:
        """Return the spectrum of G x, given that of x, whose memory is used up: times that of h, and folded."""
        transfer, width = _rows(self.transfer), self.sampled_shape[-1]
        if self.factor == 1:
            self._run(self._filtering.convolve, transfer, _rows(spectrum))
            return spectrum
        rows, pairs = self._aliases.rows, self._aliases.pairs
        samples = np.empty((*self.sampled_shape[:-1], width // 2 + 1), spectrum.dtype)
        large, small = _rows(spectrum), _rows(samples)
        self._run(self._folding.sample, transfer, rows, pairs, self.factor, width, large, small, pairs=len(pairs))
        return samples

    def _unfolded(self, samples: NDArray[Any]) -> NDArray[Any]:
        """Return the spectrum of Gᵀ y, given that of y, whose memory is used up: repeated, and times that of h⁻."""
        transfer, width = _rows(self.transfer), self.sampled_shape[-1]
        if self.factor == 1:
            self._run(self._filtering.correlate, transfer, _rows(samples))
            return samples
        rows, pairs = self._aliases.rows, self._aliases.pairs
        spectrum = np.empty(self.transfer.shape, samples.dtype)
        large, small = _rows(spectrum), _rows(samples)
        self._run(self._folding.spread, transfer, rows, pairs, width, self._repeats, small, large, pairs=len(pairs))
        return spectrum

    def _correct(self, spectrum: NDArray[Any], y_spectrum: NDArray[Any], rho: float) -> float:
        """Turn the spectrum of v into that of x, and return the energy of the filtered residual."""
        width = self.sampled_shape[-1]
        known = _rows(self.transfer), _rows(self.gram), _rows(y_spectrum), self.gram.dtype.type(rho)
        if self.factor == 1:
            energies = self._run(self._filtering.correct, *known, width, _rows(spectrum))
        else:
            folds = self._aliases.rows, self._aliases.pairs, self.factor, width, self._repeats
            energies = self._run(self._folding.correct, *known, *folds, _rows(spectrum), pairs=len(self._aliases.pairs))
        # Parseval: the energy of an image is that of its spectrum over the number of pixels.
        return math.fsum(energies) / math.prod(self.sampled_shape)


def _rows(spectrum: NDArray[Any]) -> NDArray[Any]:
    """Return a spectrum with all axes but the last one flattened."""
    return spectrum.reshape(-1, spectrum.shape[-1])


def _into(image: FloatArray) -> Take:
    """Return what puts the strips that are handed over into an image."""

    def take(first: int, stop: int, rows: FloatArray) -> None:
        image[first:stop] = rows

    return take
