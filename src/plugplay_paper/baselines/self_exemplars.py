"""Super-resolution from transformed self-exemplars (TSE).

After Huang, Singh and Ahuja (CVPR 2015): patches of an image recur in a smaller version of it, moved, scaled, turned
and sheared, and on planes that recede from the camera in perspective. What the image shows at such a place, beyond its
smaller version, is what the enlarged patch should show. The image grows by small steps, and back-projection after each
makes it agree with what was observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay_paper.arrays import FloatArray
from plugplay_paper.baselines.back_projection import check_gray
from plugplay_paper.baselines.patch_match import OVERSAMPLING, match, vote
from plugplay_paper.baselines.planes import Planes, planes
from plugplay_paper.baselines.resampling import resampled

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Search", "self_exemplars"]


@dataclass(frozen=True)
class Search:
    """How exemplars are looked for.

    Attributes
    ----------
    steps : int
        In which the image doubles.
    passes, trials : int
        Of PatchMatch.
    spread : float
        Distance of two patches, per pixel, at which a match counts less by the factor e.
    doubt : float
        How much it counts, beside matches that count up to 1, that nothing is to be added.
    corrections : int
        Passes of back-projection after each step.
    perspective : bool
        Whether planes are looked for.
    """

    steps: int = 2
    passes: int = 4
    trials: int = 6
    spread: float = 0.08
    doubt: float = 0.2
    corrections: int = 10
    perspective: bool = True


def self_exemplars(y: ArrayLike, factor: int, *, search: Search | None = None) -> FloatArray:
    """Enlarge a gray image, taken for the bicubic decimation of a larger one.

    Parameters
    ----------
    y : array, ``(h, w)``
        The small image, floats on [0, 1]; sample i is centred at pixel ``K i + (K-1)/2`` of the large one. The domain
        is circular.
    factor : int
        K, at least 2.
    search : Search, optional
        How exemplars are looked for.

    Returns
    -------
    array, ``(K h, K w)``
        The large image, in the dtype of y; not clipped. Exemplars are compared in single precision.

    Examples
    --------
    >>> self_exemplars(np.eye(8), 2).shape
    (16, 16)
    """
    observed, factor = check_gray(y, factor)
    search = Search() if search is None else search
    count = round(search.steps * np.log2(factor))
    found = planes(observed) if search.perspective else Planes.none()
    image = observed
    for step in range(count):
        scale = factor ** ((step + 1) / count)
        height, width = (round(scale * side) for side in observed.shape)
        image = _enlarged(image, (height, width), found, search, seed=step)
        for _ in range(search.corrections):
            image = image + resampled(observed - resampled(image, observed.shape), image.shape)
    return image


def _enlarged(image: FloatArray, shape: tuple[int, int], on: Planes, search: Search, *, seed: int) -> FloatArray:
    """Enlarge by one step: interpolate, and add details from where the patches recur in the smaller image."""
    height, width = (round(side * side / larger) for side, larger in zip(image.shape, shape, strict=True))
    small = resampled(image, (height, width))
    details = image - resampled(small, image.shape)
    target, passes, trials = image.astype(np.float32), search.passes, search.trials
    matches, costs = match(target, _fine(small), on.lines, on.support, passes, trials, seed)
    weights = np.exp(-costs / np.float32(search.spread**2))
    found = vote(matches, weights, _fine(details), shape, small.shape, search.doubt)
    return resampled(image, shape) + found.astype(image.dtype)


def _fine(image: FloatArray) -> FloatArray:
    height, width = image.shape
    return resampled(image, (OVERSAMPLING * height, OVERSAMPLING * width)).astype(np.float32)
