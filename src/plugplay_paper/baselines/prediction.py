r"""The statistical model behind SPSR: sparse codes of high resolution, predicted from those of low resolution.

A patch :math:`p_l` of the interpolated image and the details :math:`p_h` that it lacks have codes over two
undercomplete orthonormal dictionaries, :math:`a_l = D_l p_l` and :math:`p_h = D_h^T a_h`. The signs
:math:`b_l, b_h \in \{-1, 1\}` say which entries of a code are large (1). The model consists of two parts:

.. math::

    P(b_{h,j} = 1 \mid b_l) = \varphi(w_j^T b_l + v_j), \qquad
    E[a_h \mid a_l, b_h] = \tfrac12 (1 + b_h) \odot C a_l,

with the logistic function :math:`\varphi`: which high-resolution atoms are active follows from which low-resolution
ones are (a restricted Boltzmann machine), and their weights depend linearly on the low-resolution weights. The
estimate with the least mean squared error is a network of one hidden layer,

.. math:: \hat p_h = D_h^T\, \bigl(\varphi(W b_l + v) \odot C a_l\bigr).

Patches are divided into clusters by the direction of their codes, each with its own W, v and C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from plugplay_paper.arrays import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Level", "cluster_of", "patterns"]

# Patches predicted together: few enough for their codes to stay in the cache.
_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Level:
    """Everything that one prediction needs: k clusters, m atoms of low resolution and n of high resolution.

    Attributes
    ----------
    low : array, ``(m, d)``
        Dictionary of patches without their mean, orthonormal rows.
    high : array, ``(n, 9 K²)``
        Dictionary of details, orthonormal rows.
    threshold : array, ``(m,)``
        Above which a weight of low resolution is large.
    centres : array, ``(k, m)``
        Directions of the clusters, of length 1.
    support : array, ``(k, n, m + 1)``
        W, with v as its last column.
    weights : array, ``(k, n, m)``
        C.
    """

    low: FloatArray
    high: FloatArray
    threshold: FloatArray
    centres: FloatArray
    support: FloatArray
    weights: FloatArray

    def details(self, rows: FloatArray) -> FloatArray:
        """Return the expected details of patches, one a row; the mean of a patch does not matter."""
        result = np.empty((len(rows), self.high.shape[1]), np.float32)
        for first in range(0, len(rows), _CHUNK):
            part = slice(first, first + _CHUNK)
            codes = (rows[part] - rows[part].mean(axis=1, keepdims=True)) @ self.low.T
            result[part] = self._expected(codes) @ self.high
        return result

    def _expected(self, codes: FloatArray) -> FloatArray:
        """Return the expected codes of high resolution."""
        signs = patterns(codes, self.threshold)
        clusters = cluster_of(codes, self.centres)
        expected = np.empty((len(codes), len(self.high)), np.float32)
        for number in np.unique(clusters):
            chosen = np.flatnonzero(clusters == number)
            active = expit(signs[chosen] @ self.support[number].T)
            expected[chosen] = active * (codes[chosen] @ self.weights[number].T)
        return expected


def patterns(codes: FloatArray, threshold: FloatArray) -> FloatArray:
    """Return which weights are large, 1 or -1, and a last column of ones.

    Examples
    --------
    >>> patterns(np.array([[3.0, -0.5, -2.0]]), np.ones(3))
    array([[ 1., -1.,  1.,  1.]])
    """
    signs = np.where(np.abs(codes) > threshold, 1, -1).astype(codes.dtype)
    return np.hstack([signs, np.ones((len(codes), 1), codes.dtype)])


def cluster_of(codes: FloatArray, centres: FloatArray) -> NDArray[np.intp]:
    """Return the cluster of each code: the direction that it is closest to, or to whose opposite.

    Examples
    --------
    >>> cluster_of(np.array([[0.1, -2.0], [5.0, 1.0]]), np.eye(2))
    array([1, 0])
    """
    found: NDArray[np.intp] = np.argmax(np.abs(codes @ centres.T), axis=1)
    return found
