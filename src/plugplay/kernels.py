"""Blur kernels: small arrays that sum to one, centred at index ``n // 2`` of each axis."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import check_finite, check_integer, check_number, frozen, numeric_array

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["bicubic", "box", "disk", "from_file", "gaussian", "motion", "parse"]

# Sub-pixels along each side of a pixel when a shape with a sharp outline is rasterised.
_SUBPIXELS = 16


def gaussian(size: int | tuple[int, int], *, sigma: float) -> NDArray[np.float64]:
    """Return a Gaussian kernel, truncated to `size` and normalised.

    Parameters
    ----------
    size : int or (int, int)
        Number of taps, along both axes or along each.
    sigma : float
        Standard deviation in pixels.

    Examples
    --------
    >>> gaussian(3, sigma=1.0).round(3)
    array([[0.075, 0.124, 0.075],
           [0.124, 0.204, 0.124],
           [0.075, 0.124, 0.075]])
    """
    sigma = check_number(sigma, "sigma", above=0)
    rows, columns = (np.exp(-0.5 * (_centred(n) / sigma) ** 2) for n in _sizes(size))
    return _normalised(np.outer(rows, columns))


def box(size: int | tuple[int, int]) -> NDArray[np.float64]:
    """Return a kernel of equal weights.

    Examples
    --------
    >>> box(2)
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    return _normalised(np.ones(_sizes(size)))


def disk(radius: float) -> NDArray[np.float64]:
    """Return the blur of a lens out of focus: a disk of `radius` pixels with an anti-aliased rim.

    Examples
    --------
    >>> disk(2.0).shape
    (5, 5)
    """
    radius = check_number(radius, "radius", above=0)
    half = max(0, math.ceil(radius - 0.5))
    fine = _fine_axis(half)
    inside = fine[:, None] ** 2 + fine[None, :] ** 2 <= radius**2
    return _normalised(_binned(inside))


def motion(length: float, angle: float = 0.0) -> NDArray[np.float64]:
    """Return the blur of a camera moving steadily along a straight line.

    Parameters
    ----------
    length : float
        Length of the path in pixels.
    angle : float
        Direction in degrees, counter-clockwise from the horizontal.

    Examples
    --------
    >>> motion(3, 0).round(3)
    array([[0.333, 0.333, 0.333]])
    """
    length = check_number(length, "length", minimum=1)
    direction = math.radians(check_number(angle, "angle"))
    # The path, one pixel wide, rasterised on sub-pixels; rows count downwards, angles upwards.
    fine = _fine_axis(math.ceil((length + 1) / 2))
    along = fine[None, :] * math.cos(direction) - fine[:, None] * math.sin(direction)
    across = fine[None, :] * math.sin(direction) + fine[:, None] * math.cos(direction)
    return _trimmed(_normalised(_binned((np.abs(along) <= length / 2) & (np.abs(across) <= 0.5))))


def bicubic(factor: int) -> NDArray[np.float64]:
    r"""Return the anti-aliasing filter of bicubic decimation by `factor` K, as image libraries resize.

    Per axis the taps are :math:`c(t/K)/K`, with Keys' cubic :math:`c` (a = -1/2), at the half-integers
    :math:`t = -(4K-1)/2, \dots, (4K-1)/2` for even K and at the integers :math:`|t| \le 2K-1` for odd K.

    Examples
    --------
    >>> bicubic(2).shape, bicubic(3).shape, bicubic(1).tolist()
    ((8, 8), (11, 11), [[1.0]])
    """
    factor = check_integer(factor, "factor", minimum=1)
    taps = 4 * factor if factor % 2 == 0 else 4 * factor - 1
    weights = cubic((np.arange(taps) - (taps - 1) / 2) / factor) / factor
    return np.outer(weights, weights) if factor > 1 else np.ones((1, 1))


def cubic(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Keys' cubic interpolation function with a = -1/2, which is zero for ``|t| >= 2``."""
    t = np.abs(t)
    near = 1.5 * t**3 - 2.5 * t**2 + 1
    far = -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def from_file(path: str | os.PathLike[str]) -> NDArray[np.float64]:
    """Return the kernel in an image, NPY or FITS file: trimmed, normalised and centred.

    Empty margins are cut off, the sum becomes 1, and the centre of mass comes to lie on the centre, within half a
    pixel: a kernel that is off its centre would shift the restored image.

    Parameters
    ----------
    path : path
        Any file that `plugplay.io.read` reads, with one gray image in it; zero means no weight.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "kernel.npy"
    >>> np.save(path, [[0, 0, 0, 0], [0, 1, 2, 1], [0, 0, 0, 0]])
    >>> from_file(path)
    array([[0.25, 0.5 , 0.25]])
    """
    from plugplay import io

    image = io.read(path)
    pixels = image.pixels.astype(np.float64)
    if image.stack_shape and image.pages.shape[0] == 1:
        pixels = pixels.reshape(image.pages.shape[1:])
    if image.colour and pixels.ndim == 3:
        # A gray kernel saved as RGB; three different channels would be another blur for each colour.
        if not (pixels == pixels[..., :1]).all():
            raise ValueError(f"kernel {path}: its colour channels differ, but one gray kernel is needed")
        pixels = pixels[..., 0]
    if pixels.ndim != 2:
        raise ValueError(f"kernel {path}: one image is needed, but it holds the shape {pixels.shape}")
    try:
        return _weighed(pixels)
    except ValueError as error:
        raise ValueError(f"kernel {path}: {error}") from None


def parse(text: str, *, factor: int | None = None) -> NDArray[np.float64]:
    """Return the kernel that a word or a file name describes, as the command line takes it.

    Parameters
    ----------
    text : str
        ``gaussian:SIGMA`` or ``gaussian:SIGMA,SIZE``, ``disk:RADIUS``, ``motion:LENGTH,ANGLE``, ``box:SIZE`` or
        ``box:HEIGHT,WIDTH``, ``bicubic`` or ``bicubic:FACTOR``, or the name of a file.
    factor : int, optional
        The factor of plain ``bicubic``.

    Examples
    --------
    >>> parse("box:3").shape, parse("gaussian:1.6").shape, parse("motion:15,30").shape
    ((3, 3), (15, 15), (9, 15))
    """
    word, colon, rest = text.partition(":")
    if word == "bicubic" and not colon and factor is not None:
        return bicubic(factor)
    if word in _WORDS:
        make, usage, counts = _WORDS[word]
        try:
            numbers = [float(number) for number in rest.split(",")] if colon else []
        except ValueError:
            numbers = []
        if len(numbers) not in counts:
            raise ValueError(f"kernel {text!r} is not understood: write {usage}")
        return make(*numbers)
    if not Path(text).exists():
        usages = ", ".join(usage for _, usage, _ in _WORDS.values())
        raise ValueError(f"kernel {text!r} is neither a file nor one of {usages}")
    return from_file(text)


def _gaussian_word(sigma: float, size: float | None = None) -> NDArray[np.float64]:
    sigma = check_number(sigma, "sigma", above=0)
    # Four standard deviations hold all but 1/3000 of the weight.
    return gaussian(2 * math.ceil(4 * sigma) + 1 if size is None else _whole(size, "size"), sigma=sigma)


def _box_word(height: float, width: float | None = None) -> NDArray[np.float64]:
    rows = _whole(height, "size")
    return box((rows, rows if width is None else _whole(width, "size")))


def _bicubic_word(factor: float) -> NDArray[np.float64]:
    return bicubic(_whole(factor, "factor"))


def _whole(number: float, name: str) -> int:
    if not number.is_integer():
        raise ValueError(f"{name} must be a whole number; got {number:g}")
    return int(number)


# What each word makes, how it is written, and how many numbers it takes.
_WORDS: dict[str, tuple[Callable[..., NDArray[np.float64]], str, tuple[int, ...]]] = {
    "gaussian": (_gaussian_word, "gaussian:SIGMA[,SIZE]", (1, 2)),
    "disk": (disk, "disk:RADIUS", (1,)),
    "motion": (motion, "motion:LENGTH,ANGLE", (1, 2)),
    "box": (_box_word, "box:SIZE[,WIDTH]", (1, 2)),
    "bicubic": (_bicubic_word, "bicubic:FACTOR", (1,)),
}


def check_kernel(kernel: ArrayLike) -> NDArray[np.float64]:
    """Return a kernel given by a user as a read-only float64 array."""
    array = numeric_array(kernel, "kernel")
    if array.ndim != 2:
        raise ValueError(f"kernel must be two-dimensional; got the shape {array.shape}")
    check_finite(array, "kernel")
    if not array.any():
        raise ValueError("kernel is zero everywhere")
    return frozen(array.astype(np.float64))


def centroid_shift(kernel: NDArray[np.float64]) -> tuple[float, float]:
    """Return how far, in pixels down and right, the samples of ``kernel * x`` look from where they are taken.

    A kernel whose centre of mass is its index ``n // 2`` shifts nothing; an even one is off by half a pixel.
    """
    mass = kernel.sum()
    if not mass > 1e-6 * np.abs(kernel).sum():  # a derivative filter has no centre of mass
        return 0.0, 0.0
    rows, columns = (np.arange(n) - n // 2 for n in kernel.shape)
    return -float(rows @ kernel.sum(axis=1) / mass), -float(columns @ kernel.sum(axis=0) / mass)


def _sizes(size: int | tuple[int, int]) -> tuple[int, int]:
    pair = size if isinstance(size, tuple) else (size, size)
    if len(pair) != 2:
        raise ValueError(f"size must be one integer or two; got {size!r}")
    return check_integer(pair[0], "size", minimum=1), check_integer(pair[1], "size", minimum=1)


def _centred(n: int) -> NDArray[np.float64]:
    return np.arange(n, dtype=np.float64) - (n - 1) / 2


def _fine_axis(half: int) -> NDArray[np.float64]:
    """Return the centres of the sub-pixels of ``2 half + 1`` pixels around zero."""
    count = (2 * half + 1) * _SUBPIXELS
    return (np.arange(count) + 0.5) / _SUBPIXELS - (half + 0.5)


def _binned(fine: NDArray[np.bool_]) -> NDArray[np.float64]:
    n = fine.shape[0] // _SUBPIXELS
    counts: NDArray[np.float64] = fine.reshape(n, _SUBPIXELS, n, _SUBPIXELS).sum(axis=(1, 3)).astype(np.float64)
    return counts


def _trimmed(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop empty outer rows and columns in pairs, so that the centre stays where it is."""
    rows, columns = (np.flatnonzero(kernel.sum(axis=axis) > 1e-12) for axis in (1, 0))
    margins = (min(found[0], n - 1 - found[-1]) for found, n in zip((rows, columns), kernel.shape, strict=True))
    down, right = margins
    return kernel[down : kernel.shape[0] - down, right : kernel.shape[1] - right].copy()


def _weighed(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights from a file, trimmed, with the sum 1 and the centre of mass at ``n // 2``."""
    check_finite(weights, "kernel")
    if weights.min() < 0:
        raise ValueError(f"weights must not be negative; the lowest is {weights.min():g}")
    if not weights.any():
        raise ValueError("it is zero everywhere")
    kernel = _normalised(weights)
    ranges = []
    for axis in (0, 1):
        profile = kernel.sum(axis=1 - axis)
        used = np.flatnonzero(profile)
        # Halves are rounded up, as n // 2 does it for an even number of equal weights.
        centre = math.floor(float(profile @ np.arange(profile.size)) + 0.5)
        half = max(centre - used[0], used[-1] - centre)
        ranges.append((centre - half, centre + half + 1))
    (top, bottom), (left, right) = ranges
    height, width = kernel.shape
    padded = np.pad(
        kernel,
        ((max(0, -top), max(0, bottom - height)), (max(0, -left), max(0, right - width))),
    )
    top, left = max(top, 0), max(left, 0)
    return padded[top : top + bottom - ranges[0][0], left : left + right - ranges[1][0]].copy()


def _normalised(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    normalised: NDArray[np.float64] = kernel / kernel.sum()
    return normalised
