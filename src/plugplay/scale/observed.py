"""Reading parts of an image and of its mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.scale.choices import patches_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.scale.stores import Store

    Part = tuple[NDArray[Any], NDArray[np.bool_] | None]

__all__ = ["Observation", "without_missing"]

# A pixel was observed if its mask is as white as the brightest pixel, less this margin for lossy compression.
WHITE = 0.9


@dataclass(frozen=True, eq=False)
class Observation:
    """An image and its mask; made by `Observation.of`.

    Attributes
    ----------
    source : Store
        What was observed.
    mask : Store, optional
        White where a pixel was observed.
    white : float
        What is white in the mask.
    always_masked : bool
        Whether it is said which pixels were observed even where all were.
    """

    source: Store
    mask: Store | None = None
    white: float = 1.0
    always_masked: bool = False

    @classmethod
    def of(cls, source: Store, mask: Store | None, *, always_masked: bool) -> Observation:
        """Check the mask; with one anywhere, all parts are solved alike."""
        if mask is None:
            return cls(source, always_masked=always_masked)
        if mask.layout.size != source.layout.size:
            raise ValueError(f"the mask has the shape {mask.layout.size}, but the image has {source.layout.size}")
        brightest = max(float(np.max(mask.read(0, place), initial=0)) for place in patches_of(mask.layout.size))
        if not brightest > 0:
            raise ValueError("the mask is black everywhere: white means observed")
        return cls(source, mask, brightest, always_masked=True)

    def read(self, page: int, region: tuple[slice, slice]) -> Part:
        """Return the pixels of a part and which of them were observed; None if all were, unless it shall be said."""
        observed = None
        if self.mask is not None:
            drawn = self.mask.read(page % self.mask.layout.pages, region)
            observed = (drawn if drawn.ndim == 2 else drawn[..., 0]) >= WHITE * self.white
        pixels, observed = without_missing(self.source.read(page, region), observed)
        if observed is None and self.always_masked:
            observed = np.ones(pixels.shape[:2], bool)
        return pixels, observed


def without_missing(pixels: NDArray[Any], observed: NDArray[np.bool_] | None) -> Part:
    """Return pixels, and which of them were observed: those that are no numbers were not.

    Examples
    --------
    >>> without_missing(np.array([[1.0, np.nan]]), None)[1]
    array([[ True, False]])
    """
    if pixels.dtype.kind != "f" or (finite := np.isfinite(pixels)).all():
        return pixels, observed
    every = finite if finite.ndim == 2 else finite.all(axis=-1)
    return pixels, every if observed is None else observed & every
