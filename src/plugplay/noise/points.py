"""Whether the objects on a sky are points, as stars are, or extended, as cells are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage, signal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray
    from plugplay.noise.sky import Sky

__all__ = ["MIN_POINTS_OF_PEAKS", "has_points", "peaks_are_points"]

# Bright pixels are this many standard deviations above the sky. A patch of them is a point if it has at most this many
# pixels, in units of the pixels that share the light of a point. Points must be this share of all bright pixels.
STANDS_OUT, MAX_PIXELS, MIN_POINTS = 5.0, 2.5, 0.8
# The brightest pixels must be this many standard deviations above the sky, and the sky this share of the image.
MIN_CONTRAST, MIN_SHARE = 10.0, 0.5
# Nothing is darker than a sky: a mean of 3 x 3 pixels is rarely further below it than this many standard deviations.
SIDE, BELOW, MAX_DARK = 3, 5.0, 5e-4
# Peaks stand out of the filtered sky by this many of its standard deviations. Around a point, light falls off like the
# filtered point-spread function, which is examined where it has these shares of its maximum. There, the image may be
# brighter by this share of what it would need to be flat, and so many of all peaks must be such points.
MIN_PEAK, RING, MAX_WIDENING, MIN_POINTS_OF_PEAKS = 10.0, (0.1, 0.35), 0.15, 0.4
# Hot pixels and cosmic rays are sharper than stars: less than this share of a star's light is around them.
MIN_WIDTH = 0.5
# The share of the filter that must lie on observed pixels, and that of the ring within the image.
MIN_SEEN = 0.7


def has_points(y: NDArray[np.floating], sky: Sky, psf: NDArray[np.float64], *, mask: BoolArray | None = None) -> bool:
    r"""Tell whether an image is a sky with points on it.

    The point-spread function h spreads the light of a point over :math:`1 / \sum h^2` pixels. Bright patches are not
    much larger if they are points, and nothing is darker than the sky.

    Found on 25 images of scikit-image, as they are and as negatives, and the cells of ``benchmarks/cells.py``, behind
    four Gaussians (0.6 to 3 pixels) with noise of 2 to 28/255. None of those with a contrast of 10 or more passes:
    bricks with 76 % of points come closest. Simulated star fields have at most 1e-4 of dark places.

    Parameters
    ----------
    y : array
        The image, gray and 2-D.
    sky : Sky
        Its sky.
    psf : array
        The point-spread function.
    mask : array of bool, optional
        True where it was observed.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> from plugplay.noise.sky import find_sky
    >>> psf = pp.kernels.gaussian(9, sigma=1.5)
    >>> y = np.random.default_rng(0).normal(50, 2, (64, 64))
    >>> y[20:29, 20:29] += 500 * psf
    >>> stripe = y.copy()
    >>> stripe[40:50] += 30
    >>> [has_points(each, find_sky(each, 2.0), psf) for each in (y, stripe)]
    [True, False]
    """
    if y.ndim != 2 or sky.contrast < MIN_CONTRAST:
        return False
    observed, above = _above(y, sky, mask)
    count = np.count_nonzero(observed)
    even = np.count_nonzero(observed & (np.abs(above) <= 3)) >= MIN_SHARE * count
    dark = np.count_nonzero(ndimage.uniform_filter(above, SIDE) < -BELOW / SIDE)
    patches, _ = ndimage.label(above > STANDS_OUT)
    sizes = np.bincount(patches.ravel())[1:]
    points = sizes[sizes * np.sum(np.square(psf)) <= MAX_PIXELS * float(psf.sum()) ** 2]
    return bool(even and dark <= MAX_DARK * count and points.sum() >= MIN_POINTS * max(sizes.sum(), 1))


def peaks_are_points(
    y: NDArray[np.floating],
    sky: Sky,
    psf: NDArray[np.float64],
    *,
    mask: BoolArray | None = None,
    share: float = MIN_POINTS_OF_PEAKS,
) -> bool:
    """Tell whether most of what stands out of a sky is as sharp as points are.

    The image is filtered with the point-spread function h, which makes points as clear as possible and turns them into
    ``h * h``. Each local maximum above the sky is then compared with the pixels around it, at which ``h * h`` has
    fallen to about a fifth: light falls off as fast around a star, and hardly inside a cell. Every peak counts the
    same, so that a few galaxies and saturated stars do not decide, however large they are.

    In the star fields of ``benchmarks/fields.py`` nine in ten peaks are points; where all stars have lost most of their
    light to saturation, five in ten. In simulated nuclei and bacteria there are none, in photographs with a dark
    background one in ten at most. Beads pass if they are hardly wider than the point-spread function.

    Parameters
    ----------
    y : array
        The image, gray and 2-D.
    sky : Sky
        Its sky.
    psf : array
        The point-spread function.
    mask : array of bool, optional
        True where it was observed.
    share : float
        How many of the peaks must be points.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> from plugplay.noise.sky import find_sky
    >>> psf, rng = pp.kernels.gaussian(9, sigma=1.5), np.random.default_rng(0)
    >>> star, disk = np.zeros((2, 64, 64))
    >>> star[20:29, 20:29] = 9000 * psf
    >>> disk[np.hypot(*(np.indices((64, 64)) - 32)) < 8] = 400
    >>> noisy = [rng.normal(50 + each, 2) for each in (star, disk)]
    >>> [peaks_are_points(each, find_sky(each, 2.0), psf) for each in noisy]
    [True, False]
    """
    if y.ndim != 2:
        return False
    observed, above = _above(y, sky, mask)
    taps = psf[::-1, ::-1] / math.sqrt(float(np.sum(np.square(psf))))
    seen = signal.fftconvolve(observed.astype(np.float64), np.square(taps), mode="same")
    filtered = np.where(seen >= MIN_SEEN, signal.fftconvolve(above, taps, mode="same"), 0.0)
    ring, expected = _ring(psf)
    apart = _disk(float(np.median(np.square(ring).sum(axis=1))))
    peaks = np.argwhere((filtered == ndimage.maximum_filter(filtered, footprint=apart)) & (filtered > MIN_PEAK))
    places = peaks[:, None] + ring
    inside = ((places >= 0) & (places < y.shape)).all(axis=-1)
    heights = filtered[tuple(peaks.T)][:, None]
    around = np.clip(filtered[tuple(np.moveaxis(np.clip(places, 0, np.array(y.shape) - 1), -1, 0))], 0, heights)
    told = inside.mean(axis=1) >= MIN_SEEN
    left = (np.sum(around * inside, axis=1) / np.maximum(inside.sum(axis=1), 1) / heights[:, 0])[told]
    left = left[left >= MIN_WIDTH * expected]
    points = left - expected <= MAX_WIDENING * (1 - expected)
    return bool(points.size and np.mean(points) >= share)


def _ring(psf: NDArray[np.float64]) -> tuple[NDArray[np.intp], float]:
    """Return where a filtered point has fallen to the shares of `RING`, and its mean there relative to its maximum."""
    point = signal.fftconvolve(psf, psf[::-1, ::-1])
    point /= point.max()
    point = np.pad(point, 1)
    middle = np.array(point.shape) // 2
    ring = np.argwhere((point >= RING[0]) & (point <= RING[1]))
    if len(ring) < 4:  # hardly any blur
        ring = np.argwhere(np.abs(np.indices(point.shape) - middle[:, None, None]).max(axis=0) == 1)
    return ring - middle, float(np.mean(point[tuple(ring.T)]))


def _disk(square: float) -> BoolArray:
    """Return a disk of this squared radius, of 3 x 3 pixels at least."""
    square = max(square, 2.0)
    reach = math.isqrt(int(square))
    return np.asarray(np.square(np.indices((2 * reach + 1,) * 2) - reach).sum(axis=0) <= square)


def _above(y: NDArray[np.floating], sky: Sky, mask: BoolArray | None) -> tuple[BoolArray, NDArray[np.float64]]:
    """Return where an image was observed, and how far it is above the sky there, in units of the noise."""
    observed = np.isfinite(y) if mask is None else mask & np.isfinite(y)
    above = np.where(observed, y - sky.surface.at(*(np.arange(n) for n in y.shape)), 0.0) / sky.noise
    return observed, above
