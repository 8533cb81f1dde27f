r"""Bars and frames around a blurred photograph, which were put there after the blur.

Rows at a border that are constant tell that the image behind them is constant as far as the kernel h reaches. With
weights :math:`c_k` of its last k rows, what lies beyond shows in the rows that follow by at most

.. math:: |y_{n + k - 1} - b| \le c_{j + k} R, \qquad c_j R \approx |y_{n - 1} - b|,

where b is the level of the constant rows, n the first that is not, and R what is furthest from it. A border that was
blurred with the scene therefore fades into it. One that was put there afterwards ends at once: the next row exceeds
this limit in many places, and the one after that hardly differs from it. As numbers may have a curve of brightness, of
which nothing was said, this has to hold for numbers and for light.
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

# What a constant row varies by, and what rows in front of the edge may, beside which JPEG leaves traces; and the least
# that these are taken for.
MAX_SPREAD, MAX_TRACE, MIN_TRACE = 1.5 / 255, 16 / 255, 1 / 255
# How much beyond the limit the next row has to be, and in what share of its pixels.
MIN_JUMP, MIN_SHARE = 10 / 255, 0.1
# Of that jump, what the row after it may differ by; edges may take up so many rows.
MAX_STEP, MAX_ROWS = 0.35, 2
# Highlights that were clipped end at once, too, but go on falling, and not everywhere.
WHITE, MAX_WHITE_STEP, MIN_WHITE_SHARE = 0.98, 0.1, 0.6
# What is behind a blur may be that much further from the level of the border than what is seen.
BRIGHTER = 1.5
# The constant rows that are looked at, and by how many rows the kernel may be wrong.
BACK, SPARE = 4, 1
# Of a side of the image, what a border takes at most.
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
        Whether numbers are known to be proportional to light.

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
    """Return how many rows there are at the first and at the last border."""
    rows, columns = kernel.sum(axis=1), kernel.shape[1]
    first = _width(image, rows, columns, linear=linear)
    return first, _width(image[::-1], rows[::-1], columns, linear=linear)


def _width(image: Array, rows: Array, columns: int, *, linear: bool) -> int:
    """Return how many rows at the beginning do not follow the blur, whose first row reaches furthest ahead."""
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
    """Tell whether what follows constant rows exceeds what the blur allows, and does so at once.

    Of the rows of `part`, `back` are constant, and those of the edge, `count`, are followed by one more.
    """
    weights = np.clip(np.cumsum(np.concatenate([np.zeros(SPARE), rows])), 1e-9, None)
    traces = np.abs(part - level).max(axis=-1)
    jump = traces[back + count - 1]
    limit = np.full_like(jump, most)
    # Dark and bright may cancel at one place.
    wide = np.maximum(ndimage.maximum_filter1d(traces, columns, axis=1), MIN_TRACE)
    for before in range(back):  # each of them tells what lies behind it
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
