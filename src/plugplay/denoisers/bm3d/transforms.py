"""The transforms of blocks and groups, on eight rows at a time.

A block is a tuple of eight `float8` rows. Each transform below combines whole rows, that is, it works along the
columns of the block; for the other direction the block is transposed.

None of them divides or normalises where that can wait: the shrinkage kernels multiply every coefficient by a
table anyway, and the constants that are missing here are in these tables (`dct_scales`, `biorthogonal_norms`,
`biorthogonal_scales`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import inline
from plugplay.denoisers.bm3d.profiles import BLOCK
from plugplay.denoisers.bm3d.vectors import Float8, Floats, fma, load, splat, store

# Rows of the orthonormal DCT-II of length 8 are cosines of k pi / 16, halved; these are what is left of them when a
# common factor is taken out of every row (`dct_scales`).
_TAN_1, _TAN_2, _TAN_3 = (math.tan(k * math.pi / 16) for k in (1, 2, 3))
_RATIO = math.cos(3 * math.pi / 16) / math.cos(math.pi / 16)

# The one lifting coefficient of the wavelet bior1.5 that survives periodic continuation at length 8.
_LIFT = 22 / 128


@inline
def dct(
    a0: Float8, a1: Float8, a2: Float8, a3: Float8, a4: Float8, a5: Float8, a6: Float8, a7: Float8
) -> tuple[Float8, ...]:
    """DCT-II of length 8 down the columns, without the factors of `dct_scales`.

    Even and odd halves are apart. The odd half turns (d0, d3) by 1 and (d1, d2) by 3 sixteenths of pi and combines what
    comes out, so that the cosines are in the factors and 26 operations are left.
    """
    s0, s1, s2, s3 = a0 + a7, a1 + a6, a2 + a5, a3 + a4
    d0, d1, d2, d3 = a0 - a7, a1 - a6, a2 - a5, a3 - a4
    e0, e1, e2, e3 = s0 + s3, s1 + s2, s0 - s3, s1 - s2
    t1, t2, t3, ratio = splat(_TAN_1), splat(_TAN_2), splat(_TAN_3), splat(_RATIO)
    a, b = fma(t1, d3, d0), fma(splat(-_TAN_1), d0, d3)
    c, d = fma(t3, d2, d1), fma(splat(-_TAN_3), d1, d2)
    p, q = fma(splat(-_RATIO), c, a), fma(ratio, d, b)
    return (
        e0 + e1,
        fma(ratio, c, a),
        fma(t2, e3, e2),
        p - q,
        e0 - e1,
        p + q,
        fma(t2, e2, -e3),
        fma(ratio, d, -b),
    )


@inline
def inverse_dct(
    y0: Float8, y1: Float8, y2: Float8, y3: Float8, y4: Float8, y5: Float8, y6: Float8, y7: Float8
) -> tuple[Float8, ...]:
    """Transpose of `dct`: its inverse for coefficients that were multiplied by the squares of `dct_scales`."""
    t1, t2, t3, ratio = splat(_TAN_1), splat(_TAN_2), splat(_TAN_3), splat(_RATIO)
    e0, e1 = y0 + y4, y0 - y4
    e2, e3 = fma(t2, y6, y2), fma(t2, y2, -y6)
    s0, s1, s2, s3 = e0 + e2, e1 + e3, e1 - e3, e0 - e2
    p, q = y5 + y3, y5 - y3
    a, b, c, d = y1 + p, q - y7, y1 - p, q + y7
    d0, d3 = fma(splat(-_TAN_1), b, a), fma(t1, a, b)
    d1, d2 = fma(splat(-_TAN_3), d, c), fma(t3, c, d)
    less = splat(-_RATIO)
    return (
        s0 + d0,
        fma(ratio, d1, s1),
        fma(ratio, d2, s2),
        s3 + d3,
        s3 - d3,
        fma(less, d2, s2),
        fma(less, d1, s1),
        s0 - d0,
    )


@inline
def biorthogonal(
    a0: Float8, a1: Float8, a2: Float8, a3: Float8, a4: Float8, a5: Float8, a6: Float8, a7: Float8
) -> tuple[Float8, ...]:
    """Periodic bior1.5 wavelet transform of length 8 down the columns, three levels, by lifting."""
    d0, d1, d2, d3 = a0 - a1, a2 - a3, a4 - a5, a6 - a7
    lift = splat(_LIFT)
    u = lift * (d1 - d3)
    v = lift * (d2 - d0)
    s0, s1, s2, s3 = a0 + a1 + u, a2 + a3 + v, a4 + a5 - u, a6 + a7 - v
    t0, t1 = s0 + s1, s2 + s3
    return t0 + t1, t0 - t1, s0 - s1, s2 - s3, d0, d1, d2, d3


@inline
def inverse_biorthogonal(
    y0: Float8, y1: Float8, y2: Float8, y3: Float8, d0: Float8, d1: Float8, d2: Float8, d3: Float8
) -> tuple[Float8, ...]:
    """Inverse of `biorthogonal` for coefficients that were multiplied by `biorthogonal_scales`."""
    t0, t1 = y0 + y1, y0 - y1
    lift = splat(_LIFT)
    u = lift * (d1 - d3)
    v = lift * (d2 - d0)
    s0, s1, s2, s3 = t0 + y2 - u, t0 - y2 - v, t1 + y3 + u, t1 - y3 + v
    return s0 + d0, s0 - d0, s1 + d1, s1 - d1, s2 + d2, s2 - d2, s3 + d3, s3 - d3


@inline
def haar_8(
    a0: Float8, a1: Float8, a2: Float8, a3: Float8, a4: Float8, a5: Float8, a6: Float8, a7: Float8
) -> tuple[Float8, ...]:
    """Unnormalised Haar transform of eight values: their sum, then differences of four, of two and of one."""
    s0, s1, s2, s3 = a0 + a1, a2 + a3, a4 + a5, a6 + a7
    t0, t1 = s0 + s1, s2 + s3
    return t0 + t1, t0 - t1, s0 - s1, s2 - s3, a0 - a1, a2 - a3, a4 - a5, a6 - a7


@inline
def inverse_haar_8(
    y0: Float8, y1: Float8, y2: Float8, y3: Float8, d0: Float8, d1: Float8, d2: Float8, d3: Float8
) -> tuple[Float8, ...]:
    """Inverse of `haar_8`, if every coefficient was divided by the number of values in it."""
    t0, t1 = y0 + y1, y0 - y1
    s0, s1, s2, s3 = t0 + y2, t0 - y2, t1 + y3, t1 - y3
    return s0 + d0, s0 - d0, s1 + d1, s1 - d1, s2 + d2, s2 - d2, s3 + d3, s3 - d3


@inline
def haar(blocks: Floats, count: int, pitch: int) -> None:
    """Unnormalised Haar transform across `count` (1, 2 or 4) 8x8 blocks that are `pitch` apart, in place."""
    half = 1
    while half < count:
        _butterflies(blocks, count, half, pitch)
        half *= 2


@inline
def inverse_haar(blocks: Floats, count: int, pitch: int) -> None:
    """Inverse of `haar`, if every coefficient was divided by the number of values in it."""
    half = count // 2
    while half > 0:
        _butterflies(blocks, count, half, pitch)
        half //= 2


@inline
def _butterflies(blocks: Floats, count: int, half: int, pitch: int) -> None:
    for first in range(0, count, 2 * half):
        for low in range(first * pitch, first * pitch + 64, 8):
            high = low + half * pitch
            a = load(blocks, low)
            b = load(blocks, high)
            store(blocks, low, a + b)
            store(blocks, high, a - b)


def dct_scales() -> NDArray[np.float64]:
    """Return the factors that make `dct` orthonormal.

    Examples
    --------
    >>> dct_scales().round(4)
    array([0.3536, 0.4904, 0.4619, 0.3468, 0.3536, 0.3468, 0.4619, 0.4904])
    """
    first, second = (0.5 * math.cos(k * math.pi / 16) for k in (1, 2))
    mean, turned = math.sqrt(0.125), first * math.sqrt(0.5)
    return np.array([mean, first, second, turned, mean, turned, second, first])


def biorthogonal_norms() -> NDArray[np.float64]:
    """Return the norms of the vectors with which `biorthogonal` analyses a signal."""
    lifted = _LIFT**2
    return np.sqrt([8, 8 + 32 * lifted, 4 + 8 * lifted, 4 + 8 * lifted, 2, 2, 2, 2])


def biorthogonal_matrix() -> NDArray[np.float64]:
    """Return the vectors with which `biorthogonal` analyses a signal, as rows."""
    a = np.eye(BLOCK)
    d = a[0::2] - a[1::2]
    u, v = _LIFT * (d[1] - d[3]), _LIFT * (d[2] - d[0])
    s = a[0::2] + a[1::2] + np.stack([u, v, -u, -v])
    return np.stack([s.sum(axis=0), s[0] + s[1] - s[2] - s[3], s[0] - s[1], s[2] - s[3], *d])


def biorthogonal_scales() -> NDArray[np.float64]:
    """Return the factors that make `inverse_biorthogonal` the inverse of `biorthogonal`."""
    return np.array([1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 2, 1 / 2, 1 / 2, 1 / 2])
