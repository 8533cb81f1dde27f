"""Blur kernels: small arrays that sum to one, centred at index ``n // 2`` of each axis."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import check_finite, check_integer, check_number, frozen, numeric_array
from plugplay.arrays.pedestal import without_pedestal

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["bicubic", "box", "disk", "from_file", "gaussian", "motion", "parse"]


def __dir__() -> list[str]:
    """Return what makes kernels, for tab completion."""
    return sorted(__all__)


# Sub-pixels along each side of a pixel when a shape with a sharp outline is rasterised.
_SUBPIXELS = 16
# Longer than any blur: what is longer is a mistake, and would not fit into memory.
MAX_TAPS = 1024
# The same for shapes that are drawn on sub-pixels.
MAX_DRAWN = 300
# Larger weights are no blur, and their squares leave the range of numbers.
MAX_WEIGHT = 1e9
# Beyond it the exponential of a tap underflows.
MAX_EXPONENT = 600.0


def gaussian(size: int | tuple[int, ...], *, sigma: float | tuple[float, ...]) -> NDArray[np.float64]:
    """Return a Gaussian kernel, truncated to `size` and normalised.

    Parameters
    ----------
    size : int or tuple of int
        Number of taps: along both axes, or along each of two or three.
    sigma : float or tuple of float
        Standard deviation in pixels, for all axes or for each.

    Examples
    --------
    >>> gaussian(3, sigma=1.0).round(3)
    array([[0.075, 0.124, 0.075],
           [0.124, 0.204, 0.124],
           [0.075, 0.124, 0.075]])
    """
    sizes = _sizes(size)
    widths = sigma if isinstance(sigma, tuple) else (sigma,) * len(sizes)
    if len(widths) != len(sizes):
        raise ValueError(f"sigma must be one number or {len(sizes)}, as many as sizes; got {sigma!r}")
    kernel = np.ones(())
    for n, width in zip(sizes, widths, strict=True):
        # No narrower than a millionth of a pixel, which is as narrow as nothing.
        exponent = 0.5 * (_centred(n) / max(check_number(width, "sigma", above=0), 1e-6)) ** 2
        # An even length has no tap in the middle; where a Gaussian is too narrow for the nearest, it counts from there.
        kernel = np.multiply.outer(kernel, np.exp((exponent.min() > MAX_EXPONENT) * exponent.min() - exponent))
    return _normalised(kernel)


def box(size: int | tuple[int, ...]) -> NDArray[np.float64]:
    """Return a kernel of equal weights, with sizes as `gaussian` takes them.

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
    radius = check_number(radius, "radius", above=0, maximum=MAX_DRAWN / 2)
    half = max(0, math.ceil(radius - 0.5))
    fine = _fine_axis(half)
    inside = fine[:, None] ** 2 + fine[None, :] ** 2 <= radius**2
    if not inside.any():  # smaller than a sub-pixel
        return np.ones((1, 1))
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
    length = check_number(length, "length", minimum=1, maximum=MAX_DRAWN)
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
    if factor > MAX_TAPS // 4:
        raise ValueError(f"factor must be at most {MAX_TAPS // 4}; got {factor}")
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
        Any file that `plugplay.io.read` reads, with one gray image or, for volumes, a stack of them in it; zero
        means no weight. An even background, as around a star or bead that was cut out of an image, is subtracted,
        with a warning. The colours of a TIFF file that stores them one after another are slices, if they differ.

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
        # A gray kernel saved as RGB; three different channels would be another blur for each colour, but stored one
        # after another they are the slices of a volume, which TIFF writers take for colours if there are three.
        if (pixels == pixels[..., :1]).all():
            pixels = pixels[..., 0]
        elif image.metadata.planar:
            pixels = np.moveaxis(pixels, -1, 0)
        else:
            raise ValueError(
                f"kernel {path}: its colour channels differ, but one gray kernel is needed; if they are the slices of "
                'a volume, write them as gray pages (with tifffile, photometric="minisblack")'
            )
    if pixels.ndim not in (2, 3):
        raise ValueError(f"kernel {path}: one image is needed, or one volume, but it holds the shape {pixels.shape}")
    pixels, level = without_pedestal(pixels)
    if level:
        warnings.warn(f"kernel {path}: its background of {level:.4g} was subtracted", UserWarning, stacklevel=2)
    try:
        return _weighed(pixels)
    except ValueError as error:
        raise ValueError(f"kernel {path}: {error}") from None


def parse(text: str, *, factor: int | None = None) -> NDArray[np.float64]:
    """Return the kernel that a string describes, as on the command line: its name and size, or a file.

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
    if not isinstance(text, str):
        raise TypeError(f"a kernel is described by a string such as 'gaussian:1.6'; got {text!r}")
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
    if not _exists(text):
        usages = ", ".join(usage for _, usage, _ in _WORDS.values())
        raise ValueError(f"kernel {text!r} is neither a file nor one of {usages}")
    return from_file(text)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or with a null character in it
        return False


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
    if array.ndim not in (2, 3):
        raise ValueError(f"kernel must be two-dimensional; got the shape {array.shape} (three axes are for volumes)")
    check_finite(array, "kernel")
    if not array.any():
        raise ValueError("kernel is zero everywhere")
    if np.abs(array).max() > MAX_WEIGHT:
        raise ValueError(f"kernel has weights beyond {MAX_WEIGHT:g}; divide it by its sum")
    return frozen(array.astype(np.float64))


def coarsened_kernel(kernel: NDArray[np.float64], factor: int) -> NDArray[np.float64]:
    """Return what a kernel does to means of `factor` pixels along each axis, for images that are constant on them.

    With x equal to c_m on the pixels K m to K m + K - 1, the mean of h * x over the pixels K i to K i + K - 1 is the
    convolution of c with this kernel at i.

    Examples
    --------
    >>> coarsened_kernel(np.array([[0.0, 0.25, 0.5, 0.25, 0.0]]).T @ np.ones((1, 1)), 2).ravel()
    array([0.125, 0.75 , 0.125])
    """
    for axis, length in enumerate(kernel.shape):
        shifts = np.arange(length) - length // 2
        # Pixel p of a cell sees, through the tap at a shift, the cell that p - shift lies in.
        cells = -((np.arange(factor)[:, None] - shifts) // factor)
        reach = int(np.abs(cells).max())
        weights = np.zeros((2 * reach + 1, length))
        for row in cells:
            weights[row + reach, np.arange(length)] += 1 / factor
        kernel = np.moveaxis(np.tensordot(weights, kernel, axes=(1, axis)), 0, axis)
    return kernel


def centroid_shift(kernel: NDArray[np.float64]) -> tuple[float, ...]:
    """Return how far, in pixels along each axis, the samples of ``kernel * x`` look from where they are taken.

    A kernel whose centre of mass is its index ``n // 2`` shifts nothing; an even one is off by half a pixel.
    """
    mass = kernel.sum()
    if not mass > 1e-6 * np.abs(kernel).sum():  # a derivative filter has no centre of mass
        return (0.0,) * kernel.ndim
    profiles = [
        kernel.sum(axis=tuple(other for other in range(kernel.ndim) if other != axis)) for axis in range(kernel.ndim)
    ]
    return tuple(-float((np.arange(p.size) - p.size // 2) @ p / mass) for p in profiles)


def _sizes(size: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = size if isinstance(size, tuple) else (size, size)
    if len(sizes) not in (2, 3):
        raise ValueError(f"size must be one integer or two (three for volumes); got {size!r}")
    for n in sizes:
        if check_integer(n, "size", minimum=1) > MAX_TAPS:
            raise ValueError(f"size must be at most {MAX_TAPS} taps along an axis; got {size!r}")
    return tuple(int(n) for n in sizes)


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
    for axis in range(kernel.ndim):
        profile = kernel.sum(axis=tuple(other for other in range(kernel.ndim) if other != axis))
        used = np.flatnonzero(profile)
        # Halves are rounded up, as n // 2 does it for an even number of equal weights.
        centre = math.floor(float(profile @ np.arange(profile.size)) + 0.5)
        half = max(centre - used[0], used[-1] - centre)
        first, stop = centre - half, centre + half + 1
        margins = [(0, 0)] * kernel.ndim
        margins[axis] = (max(0, -first), max(0, stop - profile.size))
        first = max(first, 0)
        kernel = np.pad(kernel, margins).take(range(first, first + 2 * half + 1), axis=axis)
    return kernel.copy()


def _normalised(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    normalised: NDArray[np.float64] = kernel / kernel.sum()
    return normalised
