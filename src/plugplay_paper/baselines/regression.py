r"""Gaussian process regression with a squared-exponential covariance.

Targets t at inputs :math:`z_i` are values of a Gaussian process, with noise, whose covariance matrix is
:math:`\sigma^2 C`,

.. math:: C_{ij} = \exp\!\left(-\frac{\|z_i - z_j\|^2}{2 \ell^2}\right) + \tau\, \delta_{ij}.

The mean at a new input z is :math:`\sum_i \exp(-\|z - z_i\|^2 / 2 \ell^2)\, w_i` with :math:`w = C^{-1} t`. The
length :math:`\ell` and the share of noise :math:`\tau` maximise the marginal likelihood, for which the best
:math:`\sigma^2 = t^T C^{-1} t / n` is known:

.. math:: \log p(t) = -\tfrac{n}{2} \log(t^T C^{-1} t / n) - \tfrac12 \log|C| + \text{constant}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import linalg

from plugplay_paper.arrays import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Process", "likeliest_parameters", "log_likelihood"]


_Float = TypeVar("_Float", bound=np.floating[Any])


@dataclass(frozen=True, eq=False)
class Process:
    """A process that has seen its training data.

    Attributes
    ----------
    inputs : array, ``(n, d)``
        Where the process was seen.
    weights : array, ``(n,)``
        ``C⁻¹ t``.
    length : float
        The length of the covariance.

    Examples
    --------
    >>> inputs = np.array([[0.0], [1.0], [2.0]])
    >>> process = Process.fit(inputs, np.array([0.0, 1.0, 0.0]), length=0.5, noise=1e-9)
    >>> process.mean(inputs).round(6) + 0.0
    array([0., 1., 0.])
    """

    inputs: NDArray[np.float64]
    weights: NDArray[np.float64]
    length: float

    @classmethod
    def fit(cls, inputs: NDArray[np.float64], targets: NDArray[np.float64], *, length: float, noise: float) -> Process:
        """Condition a process of this length and share of noise on the training data."""
        squares = _square_distances(inputs, inputs)
        factor = _cholesky(_covariance(squares, length), noise)
        return cls(inputs, _solve(factor, targets), length)

    def mean(self, inputs: FloatArray) -> FloatArray:
        """Return the mean of the process at new inputs, computed in their precision."""
        squares = _square_distances(inputs, self.inputs.astype(inputs.dtype))
        means: FloatArray = _covariance(squares, self.length) @ self.weights.astype(inputs.dtype)
        return means


def likeliest_parameters(
    inputs: NDArray[np.float64],
    targets: NDArray[np.float64],
    *,
    lengths: Sequence[float],
    noises: Sequence[float],
) -> tuple[float, float]:
    """Return the length and the share of noise, among those offered, that make the targets likeliest.

    Examples
    --------
    >>> inputs = np.linspace(0, 6, 40)[:, None]
    >>> likeliest_parameters(inputs, np.sin(inputs[:, 0]), lengths=(0.1, 2.0), noises=(0.001, 0.1))
    (2.0, 0.001)
    """
    squares = _square_distances(inputs, inputs)
    scores = {
        (length, noise): log_likelihood(squares, targets, length=length, noise=noise)
        for length, noise in product(lengths, noises)
    }
    return max(scores, key=scores.__getitem__)


def log_likelihood(squares: NDArray[np.float64], targets: NDArray[np.float64], *, length: float, noise: float) -> float:
    """Return the logarithm of the marginal likelihood for the best variance, up to a constant.

    Parameters
    ----------
    squares : array, ``(n, n)``
        Squared distances of the inputs.
    targets : array, ``(n,)``
        What was seen at them.
    length, noise : float
        Of the covariance.
    """
    factor = _cholesky(_covariance(squares, length), noise)
    variance = max(float(targets @ _solve(factor, targets)) / len(targets), np.finfo(np.float64).tiny)
    return -0.5 * len(targets) * math.log(variance) - float(np.log(factor.diagonal()).sum())


def _square_distances(a: NDArray[_Float], b: NDArray[_Float]) -> NDArray[_Float]:
    squares: NDArray[_Float] = a @ b.T
    squares *= -2
    squares += np.square(a).sum(axis=1)[:, None]
    squares += np.square(b).sum(axis=1)
    np.maximum(squares, 0, out=squares)  # rounding may take equal points below 0
    return squares


def _covariance(squares: NDArray[_Float], length: float) -> NDArray[_Float]:
    scaled: NDArray[_Float] = squares * squares.dtype.type(-0.5 / length**2)
    np.exp(scaled, out=scaled)
    return scaled


def _cholesky(covariance: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Return the lower Cholesky factor of the covariance with noise, in the place of the covariance."""
    covariance[np.diag_indices_from(covariance)] += noise
    factor: NDArray[np.float64] = linalg.cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
    return factor


def _solve(factor: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    solution: NDArray[np.float64] = linalg.cho_solve((factor, True), targets, check_finite=False)
    return solution
