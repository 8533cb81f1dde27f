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
from plugplay.models.operators.transforms import Take, half_spectra, hand_over, planes_of, whole_planes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = ["SampledBlur"]

# Frequencies, about, that a kernel works on in one call: enough to be worth handing over to a thread.
STRIP = 1 << 16
# Frequencies from which on threads save more time than it takes to wake them; aliases take three times as long.
WORTH_SHARING = 1 << 18
# Pixels, in all channels, up to which these are worked on together. Larger images keep threads busy with one at a time,
# and the memory of one is enough.
TOGETHER = 1 << 23


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
        folded = exact._sampled(transfer.conj()[None])[0].real  # the folded |h|²
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
        for source, target, known in self._batches(x, made, y_spectra):
            seen = self._sampled(self._spectra(source, self.shape))
            seen -= known
            hand_over(seen, self.sampled_shape, _into(target))
        return made

    def closed_form(self, v: FloatArray, y_spectra: NDArray[Any], rho: float) -> tuple[FloatArray, float]:
        r"""Return :math:`x = (G^T G + \rho I)^{-1} (G^T y + \rho v)`, given the `spectra_of` y, and ½ ||G x - y||².

        Sherman, Morrison and Woodbury turn it into a correction of v by the filtered residual,

        .. math:: x = v + G^T F^{-1} \{ F(y - G v) / (\hat h_0 + \rho) \},

        which never divides by rho alone and so keeps its accuracy in single precision. It costs one real FFT of
        the large image and one inverse, with one pass over the spectrum in between. What is left, :math:`y - G x`, is
        :math:`\rho` times the filtered residual, whose energy is that of its spectrum.
        """
        if v.ndim == self._ndim:
            spectra = self._spectra(v[None], self.shape)
            energy = self._correct(spectra, y_spectra[None], rho)
            return whole_planes(spectra, self.shape)[0].astype(v.dtype, copy=False), 0.5 * rho**2 * energy
        x, energies = np.empty(v.shape, v.dtype), []
        for source, target, known in self._batches(v, x, y_spectra):
            spectra = self._spectra(source, self.shape)
            energies.append(self._correct(spectra, known, rho))
            hand_over(spectra, self.shape, _into(target))
        return x, 0.5 * rho**2 * math.fsum(energies)

    def sample(self, x: FloatArray, take: Take) -> list[Any]:
        """Hand over G x for planes x, which zeros continue to `shape`: see `hand_over`."""
        return hand_over(self._sampled(self._spectra(x, self.shape)), self.sampled_shape, take)

    def spread(self, y: FloatArray, take: Take) -> list[Any]:
        """Hand over Gᵀ y for planes of samples, which zeros continue to `sampled_shape`."""
        return hand_over(self._unfolded(self._spectra(y, self.sampled_shape)), self.shape, take)

    def filter(self, y: FloatArray, take: Take, *, response: FloatArray) -> list[Any]:
        """Hand over planes of samples that were filtered by a real response."""
        spectra = self._spectra(y, self.sampled_shape)
        multiply, factors, rows = self._filtering.multiply, _rows(response), _rows_of_each(spectra)
        self._run(lambda k, *span: multiply(factors, rows[k], *span), rows)
        return hand_over(spectra, self.sampled_shape, take)

    def spectra_of(self, y: FloatArray) -> NDArray[Any]:
        """Return the half spectra of the samples of an image, channels first."""
        spatial = range(-self._ndim, 0)
        spectra: NDArray[Any] = scipy.fft.rfftn(
            np.ascontiguousarray(np.moveaxis(y, range(self._ndim), spatial)), axes=spatial
        )
        return spectra

    def channels_at_a_time(self, channels: int) -> list[slice]:
        """Cut so many channels into those whose planes are worked on together: all, or one by one in large images."""
        together = channels if channels * math.prod(self.shape) <= TOGETHER else 1
        return [slice(first, first + together) for first in range(0, channels, together)]

    def _by_channels(
        self, operation: Callable[[FloatArray, Take], Any], image: FloatArray, shape: tuple[int, ...]
    ) -> FloatArray:
        """Return what an operation hands over for the planes of an image."""
        made = np.empty((*shape, *image.shape[self._ndim :]), self.gram.dtype)
        for source, target in self._batches(image, made):
            operation(source, _into(target))
        return made

    def _batches(
        self, image: FloatArray, made: FloatArray, y_spectra: NDArray[Any] | None = None
    ) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield planes of an image, of what is made of it and, if given, spectra that are worked on together."""
        planes = [planes_of(image, self._ndim), planes_of(made, self._ndim)]
        if y_spectra is not None:
            planes.append(y_spectra.reshape(-1, *y_spectra.shape[-self._ndim :]))
        for channels in self.channels_at_a_time(len(planes[0])):
            yield tuple(one[channels] for one in planes)

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

    def _run(self, task: Callable[[int, int, int], Any], spectra: NDArray[Any], pairs: int | None = None) -> list[Any]:
        """Run ``task(plane, first, stop)`` over strips of the rows of some spectra, or of so many pairs of rows."""
        planes, rows = len(spectra), spectra.shape[1] if pairs is None else pairs
        pieces = strips(rows, -(-rows // max(round(spectra.size / (planes * STRIP)), 1)))
        workers = scipy.fft.get_workers() if pairs is not None or spectra.size >= WORTH_SHARING else 1
        return share_out(task, [(k, *piece) for piece in pieces for k in range(planes)], workers)

    def _spectra(self, planes: FloatArray, shape: tuple[int, ...]) -> NDArray[Any]:
        return half_spectra(planes, shape, self.gram.dtype)

    def _sampled(self, spectra: NDArray[Any]) -> NDArray[Any]:
        """Return the spectra of G x, given those of x, whose memory is used up: times that of h, and folded."""
        transfer, large, width = _rows(self.transfer), _rows_of_each(spectra), self.sampled_shape[-1]
        if self.factor == 1:
            convolve = self._filtering.convolve
            self._run(lambda k, *span: convolve(transfer, large[k], *span), large)
            return spectra
        samples = np.empty((len(spectra), *self.sampled_shape[:-1], width // 2 + 1), spectra.dtype)
        sample, small = self._folding.sample, _rows_of_each(samples)
        folds = self._aliases.rows, self._aliases.pairs, self.factor, width
        self._run(lambda k, *span: sample(transfer, *folds, large[k], small[k], *span), large, len(self._aliases.pairs))
        return samples

    def _unfolded(self, samples: NDArray[Any]) -> NDArray[Any]:
        """Return the spectra of Gᵀ y, given those of y, whose memory is used up: repeated, and times that of h⁻."""
        transfer, small, width = _rows(self.transfer), _rows_of_each(samples), self.sampled_shape[-1]
        if self.factor == 1:
            correlate = self._filtering.correlate
            self._run(lambda k, *span: correlate(transfer, small[k], *span), small)
            return samples
        spectra = np.empty((len(samples), *self.transfer.shape), samples.dtype)
        spread, large = self._folding.spread, _rows_of_each(spectra)
        folds = self._aliases.rows, self._aliases.pairs, width, self._repeats
        self._run(lambda k, *span: spread(transfer, *folds, small[k], large[k], *span), large, len(self._aliases.pairs))
        return spectra

    def _correct(self, spectra: NDArray[Any], y_spectra: NDArray[Any], rho: float) -> float:
        """Turn the spectra of v into those of x, and return the energy of the filtered residuals."""
        width, large, y = self.sampled_shape[-1], _rows_of_each(spectra), _rows_of_each(y_spectra)
        transfer, gram, weight = _rows(self.transfer), _rows(self.gram), self.gram.dtype.type(rho)
        if self.factor == 1:
            filtered = self._filtering.correct
            energies = self._run(lambda k, *span: filtered(transfer, gram, y[k], weight, width, large[k], *span), large)
        else:
            folded, pairs = self._folding.correct, self._aliases.pairs
            folds = self._aliases.rows, pairs, self.factor, width, self._repeats
            energies = self._run(
                lambda k, *span: folded(transfer, gram, y[k], weight, *folds, large[k], *span), large, len(pairs)
            )
        # Parseval: the energy of an image is that of its spectrum over the number of pixels.
        return math.fsum(energies) / math.prod(self.sampled_shape)


def _rows(spectrum: NDArray[Any]) -> NDArray[Any]:
    """Return a spectrum with all axes but the last one flattened."""
    return spectrum.reshape(-1, spectrum.shape[-1])


def _rows_of_each(spectra: NDArray[Any]) -> NDArray[Any]:
    """Return the spectra of planes, each with all axes but the last one flattened."""
    return spectra.reshape(len(spectra), -1, spectra.shape[-1])


def _into(planes: FloatArray) -> Take:
    """Return what puts the strips that are handed over into planes of an image."""
    image = np.moveaxis(planes, 0, -1)
    if len(planes) == 3 and image.flags.c_contiguous:
        from plugplay.models.operators.interleaving import interleave

        def take_colours(first: int, stop: int, rows: FloatArray) -> None:
            interleave(rows.reshape(3, -1), image[first:stop].reshape(-1, 3))

        return take_colours

    def take(first: int, stop: int, rows: FloatArray) -> None:
        for plane, strip in zip(planes, rows, strict=True):  # an innermost loop over channels would be a slow one
            plane[first:stop] = strip

    return take
