"""Coloured noise: its variance in every coefficient of a block.

White noise has the same variance in all coefficients of an orthonormal transform. Noise with the power spectrum S has,
in the coefficient with the analysis vectors u (down) and v (along),

    variance = mean over the frequencies (f, g) of S(f, g) |U(f)|^2 |V(g)|^2

with the Fourier transforms U and V. Thresholds and Wiener gains then use these variances instead of one. Noise that two
overlapping blocks share is not accounted for.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from plugplay.denoisers.bm3d.profiles import BLOCK
from plugplay.denoisers.bm3d.transforms import biorthogonal_matrix

__all__ = ["Spectrum", "coefficient_variances", "compact_spectrum"]

Spectrum: TypeAlias = tuple[tuple[float, ...], ...]
"""A power spectrum on the coarsest grid that has all a block can see of it; can be compared and hashed."""

_LAGS = 2 * BLOCK - 1


def compact_spectrum(spectrum: Any) -> Spectrum:
    """Return a spectrum on 15 x 15 frequencies that gives blocks the same variances, with mean 1.

    The variances depend on the autocovariance at distances below a block's side only.

    Examples
    --------
    >>> len(compact_spectrum(np.ones((64, 64))))
    15
    """
    if isinstance(spectrum, tuple):
        return spectrum
    values = np.asarray(spectrum, dtype=np.float64)
    if values.ndim != 2 or min(values.shape) < _LAGS:
        raise ValueError(f"noise_spectrum must have two axes of at least {_LAGS} frequencies; got shape {values.shape}")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() == 0:
        raise ValueError("noise_spectrum must be finite and non-negative, and not zero everywhere")
    covariance = np.fft.ifft2(values / values.mean()).real
    near = np.arange(_LAGS) - (_LAGS // 2)
    lags = np.fft.ifftshift(covariance[np.ix_(near, near)])
    # Real noise has a symmetric spectrum: the imaginary part is rounding, or an asymmetry that has no meaning.
    compact = np.fft.fft2(lags).real
    return tuple(tuple(row) for row in compact.tolist())


def coefficient_variances(spectrum: Spectrum | None, transform: str) -> NDArray[np.float64]:
    """Return the variances of the 8 x 8 coefficients of noise with unit variance, rows being vertical frequencies.

    Parameters
    ----------
    spectrum : Spectrum, optional
        Of the noise; None for white noise.
    transform : {"biorthogonal", "dct"}
        The transform of the first or of the second stage, with analysis vectors of norm 1.
    """
    if spectrum is None:
        return np.ones((BLOCK, BLOCK))
    matrix = dct(np.eye(BLOCK), axis=0, norm="ortho") if transform == "dct" else biorthogonal_matrix()
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    power = np.abs(np.fft.fft(matrix, n=_LAGS, axis=1)) ** 2
    variances: NDArray[np.float64] = np.maximum(power @ np.array(spectrum) @ power.T / _LAGS**2, 0)
    return variances
