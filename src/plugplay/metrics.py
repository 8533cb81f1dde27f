"""How close two images are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from plugplay.arrays.checks import check_integer, check_same_shape, numeric_array

__all__ = ["psnr"]


def psnr(image: ArrayLike, reference: ArrayLike, *, border: int = 0) -> float:
    """Return the peak signal-to-noise ratio in dB of two images on the scale [0, 1], clipped to it.

    Parameters
    ----------
    image, reference : arrays
        Of the same shape.
    border : int
        Pixels left out along each side of the first two axes.

    Examples
    --------
    >>> import numpy as np
    >>> round(psnr(np.full((4, 4), 0.6), np.full((4, 4), 0.5)), 6)
    20.0
    """
    image, reference = numeric_array(image, "image"), numeric_array(reference, "reference")
    check_same_shape(image, reference.shape, "image", "the reference")
    border = check_integer(border, "border", minimum=0)
    inner = tuple(slice(border, n - border) for n in image.shape[:2])
    error = np.clip(image, 0, 1)[inner].astype(np.float64) - np.clip(reference, 0, 1)[inner]
    if error.size == 0:
        raise ValueError(f"a border of {border} pixels leaves nothing of an image of shape {image.shape}")
    mean_square = float(np.mean(np.square(error)))
    return math.inf if mean_square == 0 else -10 * math.log10(mean_square)
