r"""Bicubic interpolation and iterative back-projection, which the super-resolution baselines share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plugplay.models import SuperResolution
from plugplay_paper.arrays import FloatArray, check_integer, finite_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["back_project", "bicubic", "check_gray", "consistent_bicubic"]

# The error falls to a third or less with every pass where it can fall at all: ten leave nothing visible.
_PASSES = 10


def bicubic(y: FloatArray, factor: int) -> FloatArray:
    """Enlarge y, whose sample i is centred at pixel ``K i + (K-1)/2`` of the large image.

    Examples
    --------
    >>> import numpy as np
    >>> bicubic(np.ones((4, 4)), 2).shape
    (8, 8)
    """
    return SuperResolution(factor).data_term(y).start()


def back_project(image: FloatArray, y: FloatArray, factor: int) -> FloatArray:
    r"""Make `image` agree with y, which is its bicubic decimation: :math:`x \leftarrow x + U(y - G x)`, repeatedly.

    G is the decimation and U bicubic interpolation.

    Examples
    --------
    >>> import numpy as np
    >>> from plugplay.models import SuperResolution
    >>> y = np.random.default_rng(0).random((8, 8))
    >>> x = back_project(np.zeros((16, 16)), y, 2)
    >>> bool(abs(SuperResolution(2).forward(x) - y).max() < 0.02)
    True
    """
    model = SuperResolution(factor)
    for _ in range(_PASSES):
        image = image + bicubic(y - model.forward(image), factor)
    return image


def consistent_bicubic(y: FloatArray, factor: int) -> FloatArray:
    """Enlarge y by bicubic interpolation and sharpen the result until it agrees with y.

    Examples
    --------
    >>> import numpy as np
    >>> consistent_bicubic(np.ones((4, 4)), 2).round(3).min()
    np.float64(1.0)
    """
    return back_project(bicubic(y, factor), y, factor)


def check_gray(y: ArrayLike, factor: int) -> tuple[FloatArray, int]:
    """Return a gray float image that is large enough for `factor`, and the factor as an int of at least 2."""
    image = finite_array(y, "y")
    if image.dtype not in (np.float32, np.float64):
        raise TypeError(f"y must have floats on the scale [0, 1] (write y / 255 for 8 bits); got dtype {image.dtype}")
    factor = check_integer(factor, "factor", minimum=2)
    if image.ndim != 2:
        raise ValueError(f"y must be gray, of the shape (h, w); got the shape {image.shape}")
    if min(image.shape) < 4:
        raise ValueError(f"y must have at least 4 x 4 pixels, the reach of bicubic interpolation; got {image.shape}")
    return image, factor
