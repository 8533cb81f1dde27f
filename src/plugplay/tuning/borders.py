r"""Bars and frames around a blurred photograph that were added after the blur.

If rows at a border of the observation are constant, the image is constant there as far as the kernel h reaches. With
:math:`c_k` the sum of its last k rows, the scene beyond shows in the following rows by at most

.. math:: |y_{n + k - 1} - b| \le c_{j + k} R, \qquad c_j R \approx |y_{n - 1} - b|,

where b is the level of the constant rows, n the first row that is not constant, and R the largest difference from b. A
border that was blurred with the scene therefore fades into it. One that was added afterwards ends abruptly: the next
row exceeds this limit in many places, and the one after it hardly differs from it. Because the values may have an
unknown transfer curve, this must hold both for the values and for the light that they encode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from plugplay.arrays.transfer import gamma, linearise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray

    Array = NDArray[np.float64]

__all__ = ["borders"]

# Limits of the variation of a constant row, and of rows next to the edge, where JPEG leaves traces; and the least value
# assumed for these traces.
MAX_SPREAD, MAX_TRACE, MIN_TRACE = 1.5 / 255, 16 / 255, 1 / 255
# How far the next row must exceed the limit, and in what share of its pixels.
MIN_JUMP, MIN_SHARE = 10 / 255, 0.1
# The limit of the next step, as a share of that jump, and the number of rows that an edge may take.
MAX_STEP, MAX_ROWS = 0.35, 2
# Clipped highlights end abruptly as well, but they keep falling, and not along the whole row.
WHITE, MAX_WHITE_STEP, MIN_WHITE_SHARE = 0.98, 0.1, 0.6
# R, in units of the largest observed difference: the unblurred scene has more contrast.
BRIGHTER = 1.5
# The number of constant rows that are examined, and by how many rows the kernel may be wrong.
BACK, SPARE = 4, 1
# The largest width of a border, as a share of the side of the image.
MAX_WIDTH = 0.4
CURVE = gamma(2.2)


def borders(y: FloatArray, kernel: Array, *, linear: bool = False) -> BoolArray | None:
    """Return which rows and columns at the borders do not follow a blur; None if there are none.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``, black being 0 and white 1.
    kernel : array
        The blur.
    linear : bool
        Whether the values are known to be proportional to light.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> blur = pp.models.Deblurring(pp.kernels.box(5), boundary="unknown")
    >>> scene = np.random.default_rng(0).random((36, 36)) / 4 + 0.4
    >>> barred = blur.forward(scene)
    >>> barred[:8] = 0
    >>> np.flatnonzero(borders(barred, blur.kernel).all(axis=1))
    array([0, 1, 2, 3, 4, 5, 6, 7])
    >>> scene[:10] = 0
    >>> borders(blur.forward(scene), blur.kernel) is None
    True
    """
    image = y.reshape(*y.shape[:2], -1).astype(np.float64)
    found = np.zeros(image.shape[:2], np.bool_)
    first, last = _widths(image, kernel, linear=linear)
    inside = image[first : image.shape[0] - last]
    left, right = _widths(inside.swapaxes(0, 1), kernel.T, linear=linear)
    found[:first], found[image.shape[0] - last :] = True, True
    found[:, :left], found[:, image.shape[1] - right :] = True, True
    return found if found.any() else None


def _widths(image: Array, kernel: Array, *, linear: bool) -> tuple[int, int]:
    """Return the widths of the first and the last border, in rows."""
    rows, columns = kernel.sum(axis=1), kernel.shape[1]
    first = _width(image, rows, columns, linear=linear)
    return first, _width(image[::-1], rows[::-1], columns, linear=linear)


def _width(image: Array, rows: Array, columns: int, *, linear: bool) -> int:
    """Return the number of rows at the beginning that do not follow the blur; `rows` are the sums of its rows."""
    level = image[0].mean(axis=0)
    if float(image[0].std(axis=0).max()) > MAX_SPREAD:
        return 0
    last = int(MAX_WIDTH * len(image))
    traces = np.abs(image[: last + MAX_ROWS + 1] - level).mean(axis=(1, 2))
    beyond = np.flatnonzero(traces > MAX_TRACE)
    if not len(beyond) or beyond[0] > last:
        return 0
    first = int(beyond[0])
    scales = [_same] if linear else [_same, _light]
    far = [BRIGHTER * float(np.abs(scale(image) - scale(level)).max()) for scale in scales]
    white = bool(np.all(level >= WHITE))
    for count in range(1, 2 if white else MAX_ROWS + 1):
        part = image[max(first - BACK, 0) : first + count + 1]
        back = min(first, BACK)
        if len(part) <= back + count:
            return 0
        step, share = (MAX_WHITE_STEP, MIN_WHITE_SHARE) if white else (MAX_STEP, MIN_SHARE)
        if all(
            _is_abrupt(scale(part), scale(level), most, rows, columns, back, count, step, share)
            for scale, most in zip(scales, far, strict=True)
        ):
            return first + count - 1
    return 0


def _is_abrupt(
    part: Array, level: Array, most: float, rows: Array, columns: int, back: int, count: int, step: float, share: float
) -> bool:
    """Tell whether the edge after constant rows is steeper than the blur allows, and abrupt.

    The rows of `part` are `back` constant ones, `count` rows of the edge, and one more.
    """
    weights = np.clip(np.cumsum(np.concatenate([np.zeros(SPARE), rows])), 1e-9, None)
    traces = np.abs(part - level).max(axis=-1)
    jump = traces[back + count - 1]
    limit = np.full_like(jump, most)
    # Dark and bright may cancel in a single place.
    wide = np.maximum(ndimage.maximum_filter1d(traces, columns, axis=1), MIN_TRACE)
    for before in range(back):  # each of them limits what may lie beyond it
        ahead = back - before + count - 1
        further = np.concatenate([weights, np.ones(ahead)])[ahead:]
        allowed = np.minimum(most, wide[before][:, None] / weights) * further
        limit = np.minimum(limit, allowed.max(axis=1))
    many = jump > limit + MIN_JUMP
    if float(many.mean()) < share:
        return False
    after = np.abs(part[back + count] - part[back + count - 1]).max(axis=-1)
    return float(after[many].mean()) < step * float(jump[many].mean())


def _same(image: Array) -> Array:
    return image


def _light(image: Array) -> Array:
    light: Array = linearise(np.clip(image, 0, 1), CURVE)
    return light
