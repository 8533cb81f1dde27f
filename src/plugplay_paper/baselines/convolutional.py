r"""Super-resolution by a convolutional network of three layers (DCNN).

After Dong, Loy, He and Tang (ECCV 2014; IEEE Trans. Pattern Analysis and Machine Intelligence, 2016): the small image
is interpolated to z, and

.. math:: x = z + W_3 * \max(0,\, W_2 * \max(0,\, W_1 * (z - \tfrac12) + b_1) + b_2) + b_3

with 64 filters of 9 x 9 pixels, 32 of 5 x 5 and one of 5 x 5. The authors' network returns the image instead of what
interpolation lacks. The weights here are trained by ``training/dcnn.py``, one set for each factor.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from plugplay_paper.arrays import FloatArray, frozen
from plugplay_paper.baselines import stored_weights
from plugplay_paper.baselines.back_projection import bicubic, check_gray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["FACTORS", "Weights", "convolutional_network", "enlarged", "save", "trained_weights"]

#: Factors that a network was trained for.
FACTORS = (2, 4)

# Numbers that are gathered for one product of matrices: few enough to stay in the cache.
_CHUNK = 81 * 4096


@dataclass(frozen=True, eq=False)
class Weights:
    """Filters ``(out, in, s, s)`` and biases ``(out,)`` of the three layers; filters are correlated, not convolved."""

    first: FloatArray
    first_bias: FloatArray
    second: FloatArray
    second_bias: FloatArray
    last: FloatArray
    last_bias: FloatArray

    @property
    def reach(self) -> int:
        """How many pixels to each side a pixel of the result depends on."""
        return sum(filters.shape[-1] // 2 for filters in (self.first, self.second, self.last))


def convolutional_network(y: ArrayLike, factor: int) -> FloatArray:
    """Enlarge a gray image, taken for the bicubic decimation of a larger one.

    Parameters
    ----------
    y : array, ``(h, w)``
        The small image, floats on [0, 1]; sample i is centred at pixel ``K i + (K-1)/2`` of the large one. The domain
        is circular.
    factor : int
        K, one of `FACTORS`.

    Returns
    -------
    array, ``(K h, K w)``
        The large image, in the dtype of y; not clipped. The layers are computed in single precision.

    Examples
    --------
    >>> convolutional_network(np.eye(8), 2).shape
    (16, 16)
    """
    image, factor = check_gray(y, factor)
    if factor not in FACTORS:
        raise ValueError(f"there is a trained network for the factors {FACTORS}; got {factor}")
    return enlarged(image, factor, trained_weights(factor))


def enlarged(y: FloatArray, factor: int, weights: Weights) -> FloatArray:
    """Interpolate y and add what the network with these weights says that is missing."""
    smooth = bicubic(y, factor)
    padded = np.pad(smooth.astype(np.float32) - np.float32(0.5), weights.reach, mode="wrap")
    maps = np.maximum(_correlated(padded[None], weights.first, weights.first_bias), 0)
    maps = np.maximum(_correlated(maps, weights.second, weights.second_bias), 0)
    missing = _correlated(maps, weights.last, weights.last_bias)[0]
    result: FloatArray = smooth + missing.astype(smooth.dtype)
    return result


def _correlated(maps: FloatArray, filters: FloatArray, bias: FloatArray) -> FloatArray:
    """Correlate maps ``(in, H, W)`` with filters, where they overlap entirely, as products of matrices."""
    count, _, side, _ = filters.shape
    windows = sliding_window_view(maps, (side, side), axis=(1, 2))
    height, width = windows.shape[1:3]
    matrix = filters.reshape(count, -1)
    result = np.empty((count, height, width), np.float32)
    step = max(1, _CHUNK // (width * matrix.shape[1]))
    for top in range(0, height, step):
        part = windows[:, top : top + step].transpose(0, 3, 4, 1, 2)
        product = matrix @ part.reshape(matrix.shape[1], -1)
        result[:, top : top + step] = (product + bias[:, None]).reshape(count, -1, width)
    return result


@functools.cache
def trained_weights(factor: int) -> Weights:
    """Return the weights that come with the package, in single precision."""
    stored = stored_weights.read(_name(factor))
    return Weights(**{name: frozen(array.astype(np.float32)) for name, array in stored.items()})


def save(weights: Weights, factor: int) -> None:
    """Write the weights, in half precision, to where `trained_weights` reads them."""
    stored_weights.write(_name(factor), {name: array.astype(np.float16) for name, array in vars(weights).items()})


def _name(factor: int) -> str:
    return f"dcnn-x{factor}"
