"""The kernels of `SampledBlur` without sampling: what happens between a real FFT and its inverse, in one pass.

Spectra have two axes here: all but the last one are flattened. Kernels work on the rows from `first` to `stop`, in
place. Scalars have the precision of the arrays. Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.compiling import inline, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

    Spectrum = NDArray[np.complexfloating[Any, Any]]
    Scalar = np.floating[Any]

__all__ = ["convolve", "correct", "correlate", "energy", "multiply"]


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


@kernel
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
    one = gram.dtype.type(1)
    squares = np.zeros(spectrum.shape[1], np.float64)
    for r in range(first, stop):
        for c in range(spectrum.shape[1]):
            h, v, gain = transfer[r, c], spectrum[r, c], one / (gram[r, c] + rho)
            real = gain * (y[r, c].real - (h.real * v.real - h.imag * v.imag))
            imag = gain * (y[r, c].imag - (h.real * v.imag + h.imag * v.real))
            squares[c] += real * real + imag * imag
            spectrum[r, c] = complex(v.real + h.real * real + h.imag * imag, v.imag + h.real * imag - h.imag * real)
    return energy(squares, width)


@inline
def energy(squares: FloatArray, width: int) -> float:
    """Return the energy of a spectrum, given the sums of squares in the columns of the half that is kept."""
    # All columns but the first, and the middle one of an even number, stand for two.
    single = squares[0] + squares[squares.size - 1] if width % 2 == 0 else squares[0]
    return float(2 * squares.sum() - single)
