r"""The kernels of `SampledBlur`: what happens between a real FFT and its inverse, in one pass over the spectra.

Spectra have two axes here. Their rows are the frequencies along all axes but the last one, flattened; their columns
are the half of the last axis that real FFTs keep. With a distance K between samples and a small image of width w,

* **folding** sums the aliases of a frequency of the small image: rows ``aliases[r]``, columns ``c + b w`` for
  ``b < K``. Columns beyond the half are not stored: they are the conjugates of those at the opposite frequency, rows
  ``aliases[opposite[r]]``, columns ``(K - b) w - c``;
* **unfolding** repeats the spectrum of a small image K times along each axis, with the conjugates of opposite
  frequencies where only those are stored.

Kernels work on the rows, or pairs of rows, from `first` to `stop`. Scalars have the precision of the arrays. Importing
this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.compiling import inline, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

    Spectrum = NDArray[np.complexfloating[Any, Any]]
    Rows = NDArray[np.int64]
    Scalar = np.floating[Any]

__all__ = ["correct", "multiply", "sample", "spread"]


@inline
def _fold(
    transfer: Spectrum, spectrum: Spectrum, rows: Rows, mirrors: Rows, factor: int, width: int, samples: Spectrum
) -> None:
    """Write a row of the spectrum of G x: that of x times that of h, with the aliases summed."""
    half, stored = samples.size, spectrum.shape[1]
    h, x = transfer[rows[0]], spectrum[rows[0]]
    for c in range(half):
        samples[c] = h[c] * x[c]
    for alias in range(1, rows.size * factor):
        row, block = alias // factor, alias % factor
        start, end = block * width, (factor - block) * width
        here = min(max(stored - start, 0), half)
        h, x = transfer[rows[row], start:], spectrum[rows[row], start:]
        for c in range(here):
            samples[c] += h[c] * x[c]
        beyond = samples[here:]
        h, x = transfer[mirrors[row], : end - here + 1], spectrum[mirrors[row], : end - here + 1]
        for c in range(beyond.size):
            beyond[c] += np.conj(h[end - here - c] * x[end - here - c])


@inline
def _unfold(
    transfer: Spectrum, samples: Spectrum, opposite: Spectrum, rows: Rows, width: int, spectrum: Spectrum
) -> None:
    """Add the aliases of a row of the spectrum of y, times the conjugate spectrum of h, to that of x."""
    half, stored = samples.size, spectrum.shape[1]
    for row in rows:
        for start in range(0, stored, width):
            h, x = transfer[row, start:], spectrum[row, start:]
            for c in range(min(half, x.size)):
                x[c] += np.conj(h[c]) * samples[c]
            h, x = h[half:width], x[half:width]
            for c in range(x.size):
                x[c] += np.conj(h[c] * opposite[width - half - c])


@inline
def _filter(gram: FloatArray, y: Spectrum, rho: Scalar, scale: Scalar, samples: Spectrum, squares: FloatArray) -> None:
    """Turn a row of the spectrum of G v into that of the filtered residual times `scale`, and add its squares."""
    for c in range(samples.size):
        gain = scale / (gram[c] + rho)
        real, imag = gain * (y[c].real - samples[c].real), gain * (y[c].imag - samples[c].imag)
        squares[c] += real * real + imag * imag
        samples[c] = complex(real, imag)


@inline
def _scale(samples: Spectrum, scale: Scalar, out: Spectrum) -> None:
    """Write a row times `scale`."""
    for c in range(samples.size):
        out[c] = complex(scale * samples[c].real, scale * samples[c].imag)


@kernel
def sample(
    transfer: Spectrum,
    spectrum: Spectrum,
    aliases: Rows,
    opposite: Rows,
    factor: int,
    width: int,
    samples: Spectrum,
    first: int,
    stop: int,
) -> None:
    """Write the spectrum of G x, given that of x; without sampling, both may be the same array."""
    for r in range(first, stop):
        _fold(transfer, spectrum, aliases[r], aliases[opposite[r]], factor, width, samples[r])


@kernel
def spread(
    transfer: Spectrum,
    samples: Spectrum,
    aliases: Rows,
    opposite: Rows,
    width: int,
    scale: Scalar,
    spectrum: Spectrum,
    first: int,
    stop: int,
) -> None:
    """Write the spectrum of Gᵀ y, given that of y; without sampling, both may be the same array."""
    here, there = np.empty(samples.shape[1], samples.dtype), np.empty(samples.shape[1], samples.dtype)
    for r in range(first, stop):
        _scale(samples[r], scale, here)
        _scale(samples[opposite[r]], scale, there)
        for row in aliases[r]:
            spectrum[row] = 0
        _unfold(transfer, here, there, aliases[r], width, spectrum)


@kernel
def correct(
    transfer: Spectrum,
    gram: FloatArray,
    y: Spectrum,
    rho: Scalar,
    aliases: Rows,
    pairs: Rows,
    factor: int,
    width: int,
    scale: Scalar,
    spectrum: Spectrum,
    first: int,
    stop: int,
) -> float:
    """Add Gᵀ of the filtered residual to the spectrum of v, and return the sum of squares of `scale` times the residual.

    Rows of the small spectrum are worked on together with their opposites, which fold the same rows of the large one.
    """
    half = gram.shape[1]
    filtered, squares = np.empty((2, half), spectrum.dtype), np.zeros(half, np.float64)
    for pair in range(first, stop):
        sides = 1 if pairs[pair, 0] == pairs[pair, 1] else 2
        for side in range(sides):
            r, o = pairs[pair, side], pairs[pair, 1 - side]
            _fold(transfer, spectrum, aliases[r], aliases[o], factor, width, filtered[side])
            _filter(gram[r], y[r], rho, scale, filtered[side], squares)
        for side in range(sides):
            rows = aliases[pairs[pair, side]]
            _unfold(transfer, filtered[side], filtered[sides - 1 - side], rows, width, spectrum)
    # All columns but the first, and the middle one of an even number, stand for two.
    doubled = 2 * squares.sum() - squares[0]
    return doubled - squares[half - 1] if width % 2 == 0 else doubled


@kernel
def multiply(spectrum: Spectrum, response: FloatArray, first: int, stop: int) -> None:
    """Multiply a spectrum by a real response."""
    for r in range(first, stop):
        for c in range(spectrum.shape[1]):
            spectrum[r, c] = response[r, c] * spectrum[r, c]
