r"""Blur and sampling, G = S H, on a circular domain, and the closed form of its proximal step.

H is a circular convolution with the kernel h, S keeps every K-th pixel along all spatial axes, two or three.
Everything happens in the half spectra of real FFTs, where

* sampling **folds** the spectrum: it averages the aliases, K along each axis, of each low-resolution frequency;
* its transpose **unfolds** it: the low-resolution spectrum is repeated K times along each axis;
* :math:`G G^T`, upsample-filter-downsample, is the filter :math:`\tilde h_0`, the 0th polyphase component of
  :math:`h * h^-` (the paper's Proposition 1), so its eigenvalues are :math:`\hat h_0`, the folded
  :math:`|\hat h|^2`.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft

from plugplay.arrays.checks import FloatArray, frozen
from plugplay.arrays.records import Fingerprinted
from plugplay.arrays.sums import sum_of_squares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["SampledBlur"]

# Frequencies that are worked on at a time: few enough for the cache.
_CHUNK = 1 << 15


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
        return _image(self._sampled(self._spectrum(x)), self.sampled_shape)

    def adjoint(self, y: FloatArray) -> FloatArray:
        """Return Gᵀ y: upsampling, then convolution with the flipped kernel."""
        samples = self._spectrum(y)
        if self.factor == 1:  # nothing to repeat
            self._correlate(samples)
            return _image(samples, self.shape)
        spectrum = np.zeros((*self.transfer.shape, *samples.shape[self._ndim :]), samples.dtype)
        self._add_adjoint(samples, spectrum)
        return _image(spectrum, self.shape)

    def misfit(self, x: FloatArray, y_spectra: NDArray[Any]) -> FloatArray:
        """Return G x - y, given the `spectra_of` y."""
        made = np.empty((*self.sampled_shape, *x.shape[self._ndim :]), x.dtype)
        for at, channel in self._channels(x):
            seen = self._sampled(self._spectrum(x[channel]))
            seen -= y_spectra[at]
            made[channel] = _image(seen, self.sampled_shape)
        return made

    def closed_form(self, v: FloatArray, y_spectra: NDArray[Any], rho: float) -> tuple[FloatArray, float]:
        r"""Return :math:`x = (G^T G + \rho I)^{-1} (G^T y + \rho v)`, given the `spectra_of` y, and ½ ||G x - y||².

        Sherman, Morrison and Woodbury turn it into a correction of v by the filtered residual,

        .. math:: x = v + G^T F^{-1} \{ F(y - G v) / (\hat h_0 + \rho) \},

        which never divides by rho alone and so keeps its accuracy in single precision. It costs one real FFT of
        the large image and one inverse. What is left, :math:`y - G x`, is :math:`\rho` times the filtered residual,
        whose energy is that of its spectrum. Channels are done one after the other: loops over an innermost axis that
        is three long take several times as long.
        """
        if v.ndim == self._ndim:
            x, energy = self._corrected(v, y_spectra, rho)
            return x, 0.5 * rho**2 * energy
        x, energy = np.empty_like(v), 0.0
        for at, channel in self._channels(v):
            x[channel], more = self._corrected(v[channel], y_spectra[at], rho)
            energy += more
        return x, 0.5 * rho**2 * energy

    def _corrected(self, v: FloatArray, y_spectrum: NDArray[Any], rho: float) -> tuple[FloatArray, float]:
        """Return the closed form for one channel, and the energy of the filtered residual."""
        spectrum, weight = self._spectrum(v), self.gram.dtype.type(rho)
        if self.factor > 1:
            residual = self._sampled(spectrum)
            np.subtract(y_spectrum, residual, out=residual)
            residual *= 1 / (self.gram + weight)
            energy = self._energy(residual)
            self._add_adjoint(residual, spectrum)
            return _image(spectrum, self.shape), energy
        energy = 0.0
        for part in _chunks(spectrum):
            residual = self.transfer[part] * spectrum[part]
            np.subtract(y_spectrum[part], residual, out=residual)
            residual *= 1 / (self.gram[part] + weight)
            energy += self._energy(residual)
            residual *= self._conjugate[part]
            spectrum[part] += residual
        return _image(spectrum, self.shape), energy

    def filter_samples(self, y: FloatArray, response: FloatArray) -> FloatArray:
        """Return the small image y filtered by a real response, such as `gram`."""
        spectrum = self._spectrum(y)
        spectrum *= _along(response, spectrum)
        return _image(spectrum, self.sampled_shape)

    def spectra_of(self, y: FloatArray) -> NDArray[Any]:
        """Return the half spectra of the samples of an image, channels first."""
        spatial = range(-self._ndim, 0)
        spectra: NDArray[Any] = scipy.fft.rfftn(
            np.ascontiguousarray(np.moveaxis(y, range(self._ndim), spatial)), axes=spatial
        )
        return spectra

    def _channels(self, image: FloatArray) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
        """Yield where the channels are in `spectra_of` an image, and where in the image itself."""
        for at in np.ndindex(*image.shape[self._ndim :]):
            yield at, (..., *at)

    @functools.cached_property
    def _conjugate(self) -> NDArray[np.complexfloating[Any, Any]]:
        """The conjugate spectrum of h; only kept where there is no sampling."""
        return frozen(np.conjugate(self.transfer))

    @property
    def _ndim(self) -> int:
        return len(self.shape)

    def _spectrum(self, image: FloatArray) -> NDArray[Any]:
        spectrum: NDArray[Any] = scipy.fft.rfftn(image, axes=range(self._ndim))
        return spectrum

    def _sampled(self, spectrum: NDArray[Any]) -> NDArray[Any]:
        """Return the spectrum of G x, given that of x: times that of h, and folded."""
        k, height = self.factor, self.sampled_shape[0]
        transfer = _along(self.transfer, spectrum)
        rows = np.empty((height, *spectrum.shape[1:]), spectrum.dtype)
        for part in _chunks(rows):
            np.multiply(transfer[part], spectrum[part], out=rows[part])
            for block in range(1, k):
                alias = slice(block * height + part.start, block * height + part.stop)
                rows[part] += transfer[alias] * spectrum[alias]
        for axis in range(1, self._ndim - 1):  # the middle axis of a volume
            rows = rows.reshape(*rows.shape[:axis], k, -1, *rows.shape[axis + 1 :]).sum(axis=axis)
        return self._fold_columns(rows)

    def _fold_columns(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Sum the aliases along the last spatial axis; those along the others have been summed."""
        k, width = self.factor, self.sampled_shape[-1]
        if k == 1:
            return rows
        half, stored_columns = width // 2 + 1, rows.shape[self._ndim - 1]
        folded = rows[self._columns(0, half)].copy()
        for block in range(1, k):
            first = block * width
            stored = min(max(stored_columns - first, 0), half)
            folded[self._columns(0, stored)] += rows[self._columns(first, first + stored)]
            # Columns past the middle are not stored: they are the conjugates of their mirror images.
            last = (k - block) * width
            folded[self._columns(stored, half)] += self._mirrored(
                rows[self._columns(last - half + 1, last - stored + 1)]
            )
        return folded

    def _add_adjoint(self, samples: NDArray[Any], spectrum: NDArray[Any]) -> None:
        """Add the spectrum of Gᵀ y, given that of y: unfolded, times the conjugate spectrum of h."""
        k, height = self.factor, self.sampled_shape[0]
        aliases = samples.dtype.type(k**self._ndim)  # by which `transfer` was divided
        unfolded = self._unfold_columns(samples if k == 1 else samples * aliases)
        for axis in range(1, self._ndim - 1):
            unfolded = np.concatenate([unfolded] * k, axis=axis)
        for part in _chunks(unfolded):
            for block in range(k):
                alias = slice(block * height + part.start, block * height + part.stop)
                spectrum[alias] += _along(np.conjugate(self.transfer[alias]), samples) * unfolded[part]

    def _correlate(self, spectrum: NDArray[Any]) -> None:
        """Multiply the spectrum of an image by the conjugate spectrum of h, that of the flipped kernel."""
        for part in _chunks(spectrum):
            spectrum[part] *= _along(np.conjugate(self.transfer[part]), spectrum)

    def _energy(self, samples: NDArray[Any]) -> float:
        """Return the sum of squares of a small image, given its half spectrum (Parseval)."""
        last = self.sampled_shape[-1]
        # All columns but the first, and the middle one of an even number, stand for two.
        single = [samples[self._columns(0, 1)]]
        if last % 2 == 0 and last > 1:
            single.append(samples[self._columns(last // 2, last // 2 + 1)])
        squares = 2 * _sum_of_squares(samples) - sum(map(_sum_of_squares, single))
        return squares / math.prod(self.sampled_shape)

    def _unfold_columns(self, samples: NDArray[Any]) -> NDArray[Any]:
        """Repeat a low-resolution spectrum along the last spatial axis."""
        if self.factor == 1:
            return samples
        axis, width, wanted = self._ndim - 1, self.sampled_shape[-1], self.shape[-1] // 2 + 1
        stored = samples.shape[axis]
        unfolded = np.empty((*samples.shape[:axis], wanted, *samples.shape[axis + 1 :]), samples.dtype)
        unfolded[self._columns(0, stored)] = samples
        mirrored = self._mirrored(samples[self._columns(1, width - width // 2)])
        unfolded[self._columns(stored, width)] = mirrored[self._columns(0, wanted - stored)]
        for first in range(width, wanted, width):
            unfolded[self._columns(first, first + width)] = unfolded[self._columns(0, min(width, wanted - first))]
        return unfolded

    def _mirrored(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return the conjugates of some columns of a spectrum at the negative frequencies of all axes."""
        mirrored: NDArray[Any] = np.flip(np.conjugate(columns), self._ndim - 1)
        for axis in range(self._ndim - 1):  # the frequency zero stays where it is
            mirrored = np.roll(np.flip(mirrored, axis), 1, axis)
        return mirrored

    def _columns(self, first: int, stop: int) -> tuple[slice, ...]:
        """Return the index of some columns, that is, of a range along the last spatial axis."""
        return (*[slice(None)] * (self._ndim - 1), slice(first, stop))


def _sum_of_squares(spectrum: NDArray[Any]) -> float:
    return sum_of_squares(np.ascontiguousarray(spectrum).view(spectrum.real.dtype))


def _chunks(spectrum: NDArray[Any]) -> Iterator[slice]:
    """Yield slices of a few rows each, so that what is done to them in turn happens in the cache."""
    height = max(_CHUNK // math.prod(spectrum.shape[1:]), 1)
    for first in range(0, spectrum.shape[0], height):
        yield slice(first, min(first + height, spectrum.shape[0]))


def _image(spectrum: NDArray[Any], shape: tuple[int, ...]) -> FloatArray:
    """Return the image of a half spectrum, whose memory is used up."""
    last = len(shape) - 1
    # One after the other: `irfftn` would make another array of what is between the two.
    columns = scipy.fft.ifftn(spectrum, axes=range(last), overwrite_x=True)
    image: FloatArray = scipy.fft.irfft(columns, n=shape[last], axis=last, overwrite_x=True)
    return image


def _along(response: NDArray[Any], spectrum: NDArray[Any]) -> NDArray[Any]:
    """Return the response with a channel axis if the spectrum has one."""
    return response[..., None] if spectrum.ndim > response.ndim else response
