"""Non-local means as a dense matrix, plain and doubly stochastic: Appendix A written out."""

import numpy as np


def weight_matrix(image, sigma, *, symmetric=False, radius=1):
    """W_ij = exp(-||patch_i - patch_j||² / (2 sigma²)); rows sum to 1, or rows and columns (Sinkhorn-Knopp)."""
    padded = np.pad(image, radius, mode="reflect" if min(image.shape) > radius else "edge")
    side = 2 * radius + 1
    patches = np.lib.stride_tricks.sliding_window_view(padded, (side, side)).reshape(image.size, side * side)
    square = (patches**2).sum(axis=1)
    distance = np.maximum(square[:, None] + square[None, :] - 2 * patches @ patches.T, 0)
    weights = np.exp(-distance / (2 * sigma**2))
    if symmetric:
        scale = np.ones(len(weights))
        for _ in range(60):  # for a symmetric matrix both scalings are the same
            scale = np.sqrt(scale / (weights @ scale))
        weights = scale[:, None] * weights * scale[None, :]
    return weights / weights.sum(axis=1, keepdims=True)


def nlm(image, sigma, *, symmetric=False):
    if image.ndim == 3:
        return np.stack([nlm(image[..., c], sigma, symmetric=symmetric) for c in range(image.shape[2])], axis=-1)
    if sigma == 0:
        return image.copy()
    weights = weight_matrix(image.astype(np.float64), sigma, symmetric=symmetric)
    return (weights @ image.ravel()).reshape(image.shape).astype(image.dtype)


def dsg_nlm(image, sigma):
    return nlm(image, sigma, symmetric=True)
