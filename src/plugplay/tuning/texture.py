r"""Telling noise from texture after decimation: a denoiser removes noise and keeps what repeats itself.

Decimation folds detail into all frequencies. Where an image has detail everywhere, no block of it is quiet, and an
estimate e of the noise measures detail. BM3D tells the two apart by similar blocks: with the level e it removes

.. math:: q = \operatorname{std}(y - D_e(y)) / e

from an image y. If e is noise, q is 0.6 to 1; if it is texture, 0.1 to 0.45 (ten images of scikit-image and a
photograph, 256 x 256 pixels decimated by 2 and 4: 0.57 or more with noise of 5/255, except 0.4 to 0.5 on a motorcycle,
coins, grass and gravel; without noise 0.48 or less, except 0.7 for textures decimated by 4). So the noise is assumed to
be

.. math:: e \min(2.5 q - 0.55,\; 1),

but not less than 1.5/255, which costs hardly anything if there is no noise.

Estimates of images that were not decimated recognise texture, and are lowered where they may be of texture. There q
only decides whether the full estimate is right after all: 0.82 and 0.91 for coffee with noise of 10 and 20/255 as JPEG
files, 0.65 for grass with 10/255, 0.30 to 0.34 for grass and gravel without noise (256 x 256 pixels).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plugplay.denoisers.registry import get

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray

__all__ = ["is_noise", "without_texture"]

SLOPE, SHIFT = 2.5, 0.55
HARMLESS = 1.5 / 255
MIN_TAKEN = 0.6
# Of large images only the middle is examined.
MAX_SIDE = 512


def without_texture(y: FloatArray, estimate: float, *, workers: int | None = None) -> float:
    """Return the noise to assume in a decimated image, given an estimate that may be of its texture.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``.
    estimate : float
        The standard deviation of the noise, as estimated.
    workers : int, optional
        Number of threads.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stripes = np.tile(0.5 + 0.1 * np.sin(np.arange(64)), (64, 1))
    >>> without_texture(stripes, 0.05) < 0.02
    True
    >>> without_texture(rng.normal(0.5, 0.05, (64, 64)), 0.05)
    0.05
    """
    if estimate <= HARMLESS:
        return estimate
    return max(estimate * min(SLOPE * _taken(y, estimate, workers) - SHIFT, 1.0), HARMLESS)


def is_noise(y: FloatArray, estimate: float, *, workers: int | None = None) -> bool:
    """Tell whether an estimate that may be of texture is of noise; parameters as in `without_texture`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stripes = np.tile(0.5 + 0.1 * np.sin(np.arange(64)), (64, 1))
    >>> is_noise(stripes, 0.05), is_noise(rng.normal(0.5, 0.05, (64, 64)), 0.05)
    (False, True)
    """
    return _taken(y, estimate, workers) >= MIN_TAKEN


def _taken(y: FloatArray, estimate: float, workers: int | None) -> float:
    """Return q."""
    part = y[tuple(slice((n - min(n, MAX_SIDE)) // 2, (n + min(n, MAX_SIDE)) // 2) for n in y.shape[:2])]
    if part.ndim == 3:  # the sum of n channels, divided by the root of n, has the noise of one channel
        part = np.asarray(part.sum(axis=2) / math.sqrt(part.shape[2]), part.dtype)
    denoise = get("bm3d", profile="fast", stages=2, workers=workers)
    return float(np.std(part - denoise(part, estimate))) / estimate
