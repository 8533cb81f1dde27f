"""The kernels of `SampledBlur` without sampling: what happens between a real FFT and its inverse, in one pass.

Spectra have two axes here: all but the last one are flattened. Kernels work on the rows from `first` to `stop`, in
place. Scalars have the precision of the arrays. Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.compiling import inline, kernel, summing_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

    Spectrum = NDArray[np.complexfloating[Any, Any]]
    Scalar = np.floating[Any]

__all__ = ["convolve", "correct", "correlate", "count_columns", "multiply"]


@kernel
def convolve(transfer: Spectrum, spectrum: Spectrum, first: int, stop: int) -> None:
    """Multiply a spectrum by that of h."""
    for r in range(first, stop):
        for c in range(spectrum.shape[1]):
            spectrum[r, c] = transfer[r, c] * spectrum[r, c]


@kernel
def correlate(transfer: Spectrum, spectrum: Spectrum, first: int, stop: int) -> None:
    """Multiply a spectrum by the conjugate of that of h."""
    for r in range(first, stop):
        for c in range(spectrum.shape[1]):
            spectrum[r, c] = np.conj(transfer[r, c]) * spectrum[r, c]


@kernel
def multiply(response: FloatArray, spectrum: Spectrum, first: int, stop: int) -> None:
    """Multiply a spectrum by a real response."""
    for r in range(first, stop):
        for c in range(spectrum.shape[1]):
            spectrum[r, c] = response[r, c] * spectrum[r, c]


@summing_kernel
def correct(
    transfer: Spectrum,
    gram: FloatArray,
    y: Spectrum,
    rho: Scalar,
    width: int,
    spectrum: Spectrum,
    first: int,
    stop: int,
) -> float:
    """Add Hᵀ of the filtered residual to the spectrum of v, and return the energy of the residual's spectrum."""
    one, energy = gram.dtype.type(1), 0.0
    weights = np.empty(spectrum.shape[1], gram.dtype)
    count_columns(width, weights)
    for r in range(first, stop):
        squares = gram.dtype.type(0)
        for c in range(spectrum.shape[1]):
            h, v, gain = transfer[r, c], spectrum[r, c], one / (gram[r, c] + rho)
            real = gain * (y[r, c].real - (h.real * v.real - h.imag * v.imag))
            imag = gain * (y[r, c].imag - (h.real * v.imag + h.imag * v.real))
            squares += weights[c] * (real * real + imag * imag)
            spectrum[r, c] = complex(v.real + h.real * real + h.imag * imag, v.imag + h.real * imag - h.imag * real)
        energy += float(squares)
    return energy


@inline
def count_columns(width: int, weights: FloatArray) -> None:
    """Write how many columns of a whole spectrum each column of the half that is kept stands for."""
    weights[:] = 2
    weights[0] = 1
    if width % 2 == 0:
        weights[weights.size - 1] = 1
