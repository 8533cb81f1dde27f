r"""Sparse codes: every sample as a combination of few atoms of a dictionary.

Orthogonal matching pursuit looks for

.. math:: \min_a \|x - a^T D\|^2 \quad\text{with at most L entries of a non-zero}

greedily. It takes the atom that correlates most with what is left of x, fits x by all atoms taken so far, and goes
on. With the correlations of all samples (:math:`c = D x`) and of all atoms (the Gram matrix :math:`G = D D^T`) at
hand, the residual itself is never needed: its correlations are :math:`c - G a`. Samples are coded by the hundred,
as products of matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from plugplay_paper.arrays import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["sparse_codes", "unit_rows"]

# Samples coded together: few enough for their correlations to stay in the cache.
_CHUNK = 256
# Added to the diagonal of the fits, so that two equal atoms do no harm; relative to atoms of length 1.
_DAMPING = 1e-6


def sparse_codes(samples: FloatArray, atoms: FloatArray, sparsity: int) -> Any:
    """Return the codes of samples, one a row, by orthogonal matching pursuit.

    Parameters
    ----------
    samples : array, ``(n, d)``
        What to code.
    atoms : array, ``(k, d)``
        The dictionary, rows of length 1.
    sparsity : int
        L, the atoms in each code; at most k.

    Returns
    -------
    scipy.sparse.csr_matrix, ``(n, k)``
        Codes A, such that ``A @ atoms`` approximates the samples.

    Examples
    --------
    >>> atoms = np.eye(3)
    >>> sparse_codes(np.array([[3.0, 0.5, -2.0]]), atoms, 2).toarray().round(3)
    array([[ 3.,  0., -2.]])
    """
    gram = atoms @ atoms.T
    count = len(samples)
    chosen = np.empty((count, sparsity), np.intp)
    weights = np.empty((count, sparsity), samples.dtype)
    for first in range(0, count, _CHUNK):
        part = slice(first, first + _CHUNK)
        chosen[part], weights[part] = _pursue(samples[part] @ atoms.T, gram, sparsity)
    ends = np.arange(0, count * sparsity + 1, sparsity)
    return sparse.csr_matrix((weights.ravel(), chosen.ravel(), ends), shape=(count, len(atoms)))


def _pursue(correlations: FloatArray, gram: FloatArray, sparsity: int) -> tuple[NDArray[np.intp], FloatArray]:
    rows = np.arange(len(correlations))[:, None]
    chosen = np.empty((len(rows), sparsity), np.intp)
    left = correlations
    weights = correlations[:, :0]
    for taken in range(sparsity):
        strength = np.abs(left)
        strength[rows, chosen[:, :taken]] = -1
        chosen[:, taken] = np.argmax(strength, axis=1)
        support = chosen[:, : taken + 1]
        among = gram[support[:, :, None], support[:, None, :]] + _DAMPING * np.eye(taken + 1, dtype=gram.dtype)
        weights = np.linalg.solve(among, correlations[rows, support][..., None])[..., 0]
        if taken + 1 < sparsity:
            left = correlations.copy()
            for atom in range(taken + 1):
                left -= weights[:, atom : atom + 1] * gram[support[:, atom]]
    return chosen, weights


def unit_rows(matrix: FloatArray) -> FloatArray:
    """Return the rows scaled to length 1; zero rows stay zero.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    scaled: FloatArray = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return scaled
