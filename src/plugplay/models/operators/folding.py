r"""The kernels of `SampledBlur` with sampling: what happens between a real FFT and its inverse, in one pass.

Spectra have two axes here. Their rows are the frequencies along all axes but the last one, flattened; their columns
are the half of the last axis that real FFTs keep. With a distance K between samples and a small image of width w,

* **folding** sums the aliases of a frequency of the small image: rows ``aliases[r]``, columns ``c + b w`` for
  ``b < K``. Columns beyond the half are not stored: they are the conjugates of those at the opposite frequency, which
  are aliases of column ``-c`` in the opposite row of the small spectrum;
* **unfolding** repeats the spectrum of a small image K times along each axis.

Rows of the small spectrum come in `pairs` of opposites, which are folded from the same rows of the large one. Kernels
work on the pairs from `first` to `stop`. Scalars have the precision of the arrays. Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.compiling import inline, kernel, summing_kernel
from plugplay.models.operators.filtering import count_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray

    Spectrum = NDArray[np.complexfloating[Any, Any]]
    Rows = NDArray[np.int64]
    Scalar = np.floating[Any]

__all__ = ["correct", "sample", "spread"]


@kernel
def sample(
    transfer: Spectrum,
    aliases: Rows,
    pairs: Rows,
    factor: int,
    width: int,
    spectrum: Spectrum,
    samples: Spectrum,
    first: int,
    stop: int,
) -> None:
    """Write the spectrum of G x, given that of x."""
    sums = np.empty((2, width), samples.dtype)
    for pair in range(first, stop):
        for side in range(2):
            _sum_aliases(transfer, spectrum, aliases[pairs[pair, side]], factor * width, sums[side])
        for side in range(2):
            r = pairs[pair, side]
            _fold(transfer, spectrum, aliases[r], factor * width, sums[side], sums[1 - side], samples[r])


@kernel
def spread(
    transfer: Spectrum,
    aliases: Rows,
    pairs: Rows,
    width: int,
    scale: Scalar,
    samples: Spectrum,
    spectrum: Spectrum,
    first: int,
    stop: int,
) -> None:
    """Write the spectrum of Gᵀ y, times `scale`, given that of y."""
    period = np.empty(width, samples.dtype)
    for pair in range(first, stop):
        for side in range(2):
            r = pairs[pair, side]
            _repeat(samples[r], samples[pairs[pair, 1 - side]], scale, period)
            for row in aliases[r]:
                spectrum[row] = 0
            _add_aliases(transfer, aliases[r], period, spectrum)


@summing_kernel
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
    """Add Gᵀ of the filtered residual, times `scale`, to the spectrum of v; return the energy of that residual."""
    half = gram.shape[1]
    sums, filtered = np.empty((2, width), spectrum.dtype), np.empty((2, half), spectrum.dtype)
    weights, energy = np.empty(half, gram.dtype), 0.0
    count_columns(width, weights)
    for pair in range(first, stop):
        for side in range(2):
            _sum_aliases(transfer, spectrum, aliases[pairs[pair, side]], factor * width, sums[side])
        alone = pairs[pair, 0] == pairs[pair, 1]
        for side in range(2):
            r = pairs[pair, side]
            _fold(transfer, spectrum, aliases[r], factor * width, sums[side], sums[1 - side], filtered[side])
            squares = _filter(gram[r], y[r], rho, weights, filtered[side])
            if not (alone and side == 1):
                energy += squares
        for side in range(1 if alone else 2):
            _repeat(filtered[side], filtered[1 - side], scale, sums[side])
            _add_aliases(transfer, aliases[pairs[pair, side]], sums[side], spectrum)
    return energy


@inline
def _sum_aliases(transfer: Spectrum, spectrum: Spectrum, rows: Rows, length: int, sums: Spectrum) -> None:
    """Sum the aliases that are stored, in a large image that is `length` wide, without those that are their own mirror.

    These are the columns zero and, if the length is even, the last one of the half.
    """
    sums[:] = 0
    end = (length + 1) // 2
    for row in rows:
        for start in range(0, end, sums.size):
            skipped = 1 if start == 0 else 0
            h, x = transfer[row, start + skipped : end], spectrum[row, start + skipped : end]
            total = sums[skipped:]
            for c in range(min(total.size, h.size)):
                total[c] += h[c] * x[c]


@inline
def _fold(
    transfer: Spectrum, spectrum: Spectrum, rows: Rows, length: int, sums: Spectrum, opposite: Spectrum, out: Spectrum
) -> None:
    """Write a row of the spectrum of G x, given the sums of aliases in this row and in the opposite one."""
    out[0] = sums[0] + np.conj(opposite[0])
    # Slices, because the compiler then knows that no index is negative, and works on several columns at a time.
    ahead, behind, made = sums[1 : out.size], opposite[sums.size - out.size + 1 :], out[1:]
    last = behind.size - 1
    for c in range(behind.size):
        mirrored = behind[last - c]
        made[c] = complex(ahead[c].real + mirrored.real, ahead[c].imag - mirrored.imag)
    middle = length // 2
    for row in rows:
        out[0] += transfer[row, 0] * spectrum[row, 0]
        if length % 2 == 0:
            out[middle % sums.size] += transfer[row, middle] * spectrum[row, middle]


@inline
def _filter(gram: FloatArray, y: Spectrum, rho: Scalar, weights: FloatArray, samples: Spectrum) -> float:
    """Turn a row of the spectrum of G v into that of the filtered residual, and return its energy."""
    one, squares = gram.dtype.type(1), gram.dtype.type(0)
    for c in range(samples.size):
        gain = one / (gram[c] + rho)
        real, imag = gain * (y[c].real - samples[c].real), gain * (y[c].imag - samples[c].imag)
        samples[c] = complex(real, imag)
        squares += weights[c] * (real * real + imag * imag)
    return float(squares)


@inline
def _repeat(samples: Spectrum, opposite: Spectrum, scale: Scalar, period: Spectrum) -> None:
    """Write all columns of a row of a small spectrum, times `scale`, given the halves of this row and its opposite."""
    for c in range(samples.size):
        period[c] = complex(scale * samples[c].real, scale * samples[c].imag)
    for c in range(samples.size, period.size):
        mirrored = opposite[period.size - c]
        period[c] = complex(scale * mirrored.real, -scale * mirrored.imag)


@inline
def _add_aliases(transfer: Spectrum, rows: Rows, period: Spectrum, spectrum: Spectrum) -> None:
    """Add what is repeated with this period, times the conjugate spectrum of h, to rows of a large spectrum."""
    for row in rows:
        for start in range(0, spectrum.shape[1], period.size):
            h, x = transfer[row, start:], spectrum[row, start:]
            for c in range(min(period.size, x.size)):
                x[c] += np.conj(h[c]) * period[c]
