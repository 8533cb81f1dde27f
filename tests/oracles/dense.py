"""The models as plain matrices, built from the definition of convolution and sampling, entry by entry."""

from itertools import product

import numpy as np


def blur_matrix(kernel, shape, *, factor=1, offset=0, boundary="circular", margin=((0, 0), (0, 0))):
    """Return the matrix of: blur with `kernel`, keep pixels ``factor * i + offset``, drop a margin of samples.

    `shape` is that of x. With ``boundary="reflect"`` pixels outside are those of the mirror image (edge repeated);
    with "circular" the image repeats. `margin` is (before, after) for each axis, in samples.
    """
    rows, columns = (n // factor for n in shape)
    (top, left), (bottom, right) = margin
    kept = list(product(range(top, rows - bottom), range(left, columns - right)))
    matrix = np.zeros((len(kept), shape[0] * shape[1]))
    for line, (i, j) in enumerate(kept):
        for a, b in product(*map(range, kernel.shape)):
            source = (
                _inside(factor * i + offset - (a - kernel.shape[0] // 2), shape[0], boundary),
                _inside(factor * j + offset - (b - kernel.shape[1] // 2), shape[1], boundary),
            )
            matrix[line, source[0] * shape[1] + source[1]] += kernel[a, b]
    return matrix


def prox(matrix, y, v, rho):
    """Solve the normal equations of ``½ ||G x - y||² + rho/2 ||x - v||²``."""
    left = matrix.T @ matrix + rho * np.eye(matrix.shape[1])
    return np.linalg.solve(left, matrix.T @ y.ravel() + rho * v.ravel()).reshape(v.shape)


def _inside(index, n, boundary):
    if boundary == "circular":
        return index % n
    index %= 2 * n
    return index if index < n else 2 * n - 1 - index
