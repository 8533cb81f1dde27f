"""Impulses ("salt and pepper"): single black or white pixels that do not belong to the image.

Denoisers of Gaussian noise keep them, because they stand out too far to be such noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["impulses", "share_of_impulses"]

# An impulse differs from all neighbours but one by this share of the image's range and this many times the noise.
MIN_GAP, MIN_DEVIATIONS = 0.2, 5.0
# Letters have isolated pixels of one sign, stars bright ones. Of both signs there were at most 0.075 % in drawn text
# and 0.02 % in photographs.
MIN_SHARE = 0.0015
# Images with only two shades, such as halftones and letters, naturally have isolated pixels.
MIN_SHADES = 0.5


def impulses(y: NDArray[Any], noise: float, spatial_ndim: int) -> tuple[str, ...]:
    """Return a warning about the impulses of an image, ``(H, W)`` or ``(H, W, C)``, if there are any."""
    if spatial_ndim != 2 or y.dtype.kind not in "iuf":
        return ()
    channels = [y] if y.ndim == 2 else [y[..., channel] for channel in range(y.shape[-1])]
    share = max(share_of_impulses(channel, noise) for channel in channels)
    if share == 0:
        return ()
    return (
        f"at least {100 * share:.1g} % of the pixels are single black or white ones in surroundings of another shade "
        "(impulse noise, or salt and pepper), which denoising keeps: mark them in a mask, and inpaint them",
    )


def share_of_impulses(image: NDArray[Any], noise: float = 0.0) -> float:
    """Return the share of pixels that are impulses; 0 if there are not enough of them, dark and bright, to be sure.

    Parameters
    ----------
    image : array
        ``(H, W)``.
    noise : float
        The standard deviation of its other noise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> image = rng.normal(0.5, 0.02, (100, 100))
    >>> spoilt = np.where(rng.random(image.shape) < 0.02, rng.integers(0, 2, image.shape), image)
    >>> share_of_impulses(image), round(share_of_impulses(spoilt), 2)
    (0.0, 0.02)
    """
    low, high = float(image.min()), float(image.max())
    if min(image.shape) < 3 or not high > low or np.mean((image > low) & (image < high)) < MIN_SHADES:
        return 0.0
    gap = max(MIN_GAP * (high - low), MIN_DEVIATIONS * noise)
    # Few pixels are at the ends of the range; only their neighbours are examined.
    found = [_isolated(image, image <= low, 1.0, gap), _isolated(image, image >= high, -1.0, gap)]
    return sum(found) / image.size if min(found) > MIN_SHARE * image.size else 0.0


def _isolated(image: NDArray[Any], extreme: NDArray[np.bool_], sign: float, gap: float) -> int:
    """Count extreme pixels from which all neighbours but one are further than `gap`."""
    rows, columns = np.nonzero(extreme[1:-1, 1:-1])
    around = np.stack([image[rows + i, columns + j] for i in range(3) for j in range(3) if (i, j) != (1, 1)])
    away = sign * (around.astype(np.float64) - image[rows + 1, columns + 1])
    return int(np.count_nonzero(np.count_nonzero(away > gap, axis=0) >= len(around) - 1))
