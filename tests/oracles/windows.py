"""Window averages written as loops over pixels, to check the fast ones against."""

import numpy as np


def patch(image, i, j, radius):
    """The patch around a pixel; rows and columns beyond the edges are mirrored, the edge itself repeated."""
    height, width = image.shape[:2]

    def mirror(k, n):
        k %= 2 * n
        return k if k < n else 2 * n - 1 - k

    rows = [mirror(i + d, height) for d in range(-radius, radius + 1)]
    columns = [mirror(j + d, width) for d in range(-radius, radius + 1)]
    return image[np.ix_(rows, columns)]


def weight_matrix(image, *, window, radius, width, slack=0.0, spatial=None):
    """The dense matrix of weights exp(-max(d - slack, 0) / width²), ones on the diagonal."""
    height, columns = image.shape[:2]
    pixels = [(i, j) for i in range(height) for j in range(columns)]
    weights = np.zeros((len(pixels), len(pixels)))
    for a, (i, j) in enumerate(pixels):
        for b, (k, m) in enumerate(pixels):
            if max(abs(i - k), abs(j - m)) > window:
                continue
            d = np.mean((patch(image, i, j, radius) - patch(image, k, m, radius)) ** 2)
            weights[a, b] = np.exp(-max(d - slack, 0) / width**2)
            if spatial is not None:
                weights[a, b] *= np.exp(-((i - k) ** 2 + (j - m) ** 2) / (2 * spatial**2))
    return weights


def apply(matrix, image):
    return (matrix @ image.reshape(len(matrix), -1)).reshape(image.shape)
