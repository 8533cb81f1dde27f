"""The counts of a photon cube as a source: one image, or the windows of a video."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.cli.sources import Page

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.io import ImageFile
    from plugplay.io.photons import PhotonCounts

__all__ = ["PhotonSource"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PhotonSource:
    """The counts of a photon cube.

    Attributes
    ----------
    counts : PhotonCounts
        Ones and trials of all frames that are used.
    gain : float
        Photons per pixel and frame at white.
    dark : float
        Dark counts per jot and frame.
    reference : ImageFile, optional
        The true image.
    integers : bool
        Whether the result is stored in 16 bits rather than as floats.
    doubts, notes : tuple of str
        Warnings, and other notes.
    recount : callable
        ``(start, frames) -> PhotonCounts``, for a window.
    windows : tuple of (int, int), optional
        First frame and number of frames of each image of a video.
    """

    counts: PhotonCounts
    gain: float
    dark: float
    reference: ImageFile | None
    integers: bool
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    recount: Callable[[int, int], PhotonCounts]
    windows: tuple[tuple[int, int], ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Workers count the frames of their windows themselves; the counts of all frames stay here.
        state = dict(self.__dict__)
        if self.windows is not None:
            nothing = np.zeros((0, 0), np.int64)
            state["counts"] = replace(self.counts, ones=nothing, trials=nothing)
        return state

    @property
    def count(self) -> int:
        """Number of images."""
        return 1 if self.windows is None else len(self.windows)

    @property
    def pixels(self) -> int:
        """Number of pixels of an image."""
        return int(self.counts.ones.size)

    def page(self, number: int) -> Page:
        """Return ones and trials."""
        counts = self.counts if self.windows is None else self.recount(*self.windows[number])
        reference = None if self.reference is None else self.reference.pages[number % len(self.reference.pages)]
        return Page(np.stack([counts.ones, counts.trials]), reference=reference)

    def before(self) -> NDArray[Any]:
        """Return the share of jots that fired."""
        share: NDArray[Any] = self.counts.ones / np.maximum(self.counts.trials, 1)
        return share

    def restored(
        self,
        images: Iterable[FloatArray],
        *,
        dtype: str | None = None,
        holds_floats: bool = False,  # noqa: ARG002
    ) -> ImageFile:
        """Return the image or the video, on [0, 1] or in 16 bits unless another depth is wanted."""
        from plugplay.io import ImageFile

        made = [image.astype(np.float32) for image in images]
        whole = made[0] if self.windows is None else np.stack(made)
        return ImageFile.of(whole, data_range=(0.0, 1.0)).converted(dtype or ("u2" if self.integers else "f4"))
