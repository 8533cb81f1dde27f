r"""Noise told from texture after decimation: a denoiser takes noise away and leaves what repeats itself.

Decimation folds detail into all frequencies. Where an image has detail everywhere, no block of it is quiet, and an
estimate of the noise, e, is that of the detail. BM3D tells the two apart by similar blocks: told e, it takes

.. math:: q = \operatorname{std}(y - D_e(y)) / e

from an image y. Where e is noise, q is 0.6 to 1; where it is texture, 0.1 to 0.45 (ten images of scikit-image and a
photograph, 256 x 256 pixels decimated by 2 and 4: 0.57 or more with noise of 5/255, except 0.4 to 0.5 on a motorcycle,
coins, grass and gravel; without noise 0.48 or less, except textures decimated by 4, of which 0.7 are taken). So the
noise is taken for

.. math:: e \min(2.5 q - 0.55,\; 1),

but not for less than 1.5/255, which costs hardly anything if there is none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plugplay.denoisers.registry import get

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray

__all__ = ["without_texture"]

SLOPE, SHIFT = 2.5, 0.55
HARMLESS = 1.5 / 255
# A part of large images tells it.
MAX_SIDE = 512


def without_texture(y: FloatArray, estimate: float, *, workers: int | None = None) -> float:
    """Return the noise of a decimated image, given an estimate that may be of its texture.

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
    part = y[tuple(slice((n - min(n, MAX_SIDE)) // 2, (n + min(n, MAX_SIDE)) // 2) for n in y.shape[:2])]
    if part.ndim == 3:  # the noise of a sum over a root is that of one channel
        part = np.asarray(part.sum(axis=2) / math.sqrt(part.shape[2]), part.dtype)
    denoise = get("bm3d", stages=2, workers=workers)
    taken = float(np.std(part - denoise(part, estimate))) / estimate
    return max(estimate * min(SLOPE * taken - SHIFT, 1.0), HARMLESS)
