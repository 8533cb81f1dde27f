"""Sources: the input of one job, page by page."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from plugplay.cli.companions import check_pages, cropped, mask_pages, unlike_reference
from plugplay.cli.jobs import Job, companion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.io import ImageFile
    from plugplay.io.depths import Floats

__all__ = ["ImageSource", "Page", "Source", "local_copy", "read_image"]


# The name of the mask that stands for the data-quality flags of a FITS file.
OWN_FLAGS = "dq"


@dataclass(frozen=True, eq=False)
class Page:
    """One image to restore, as stored in the file.

    Attributes
    ----------
    pixels : array
        In the depth of the file.
    channel_axis : int or None
        As `plugplay.prepare` takes it.
    observed : array of bool, optional
        True where a pixel was observed.
    reference : array, optional
        The true image, in the depth of its own file.
    transfer : str
        The curve between light, which is restored, and the pixels.
    noise_floor : float
        Lower limit of the estimated noise.
    """

    pixels: NDArray[Any]
    channel_axis: int | None = None
    observed: NDArray[np.bool_] | None = None
    reference: NDArray[Any] | None = None
    transfer: str = "linear"
    noise_floor: float = 0.0


class Source(Protocol):
    """The protocol of sources."""

    @property
    def count(self) -> int:
        """How many pages there are."""
        ...

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is questionable about what was read."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about what was read."""
        ...

    @property
    def pixels(self) -> int:
        """How many pixels a restored page has."""
        ...

    def page(self, number: int) -> Page:
        """Return a page."""
        ...

    def before(self) -> NDArray[Any]:
        """Return the first page as it is shown beside the result."""
        ...

    def restored(
        self, images: Iterable[FloatArray], *, dtype: str | None = None, holds_floats: bool = False
    ) -> ImageFile:
        """Return what is to be written, from the restored pages, each of which is stored before the next is made.

        Integers are stored in the depth that is wanted, `dtype`, at once; floats keep theirs. Unless a depth is wanted,
        counts become floats where integers would lose what was restored, if the format holds floats.
        """
        ...


@dataclass(frozen=True, eq=False)
class ImageSource:
    """An image file, with its masks and references.

    Attributes
    ----------
    image : ImageFile
        The file; its ``data_range`` is the nominal one.
    masks : array of bool, optional
        ``(N, H, W)``, one for all pages or one for each.
    reference : ImageFile, optional
        The true image.
    factor : int
        The factor by which the result is larger.
    offset : float, optional
        Where pixel 0 lies in the enlarged image: see ``ImageFile.restored``.
    doubts : tuple of str
        What is questionable.
    transfer : str
        The curve that is undone.
    notes : tuple of str
        What a user should know.
    """

    image: ImageFile
    masks: NDArray[np.bool_] | None
    reference: ImageFile | None
    factor: int = 1
    offset: float | None = None
    doubts: tuple[str, ...] = ()
    transfer: str = "linear"
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many pages there are."""
        return int(self.image.pages.shape[0])

    @property
    def pixels(self) -> int:
        """How many pixels a restored page has."""
        return int(self.image.pages.shape[1] * self.image.pages.shape[2] * self.factor**2)

    def page(self, number: int) -> Page:
        """Return a page; pixels that are NaN or infinite are missing."""
        pixels = self.image.pages[number]
        observed = None if self.masks is None else self.masks[number % len(self.masks)]
        finite = np.isfinite(pixels)
        if not finite.all():
            observed = finite if observed is None else finite & _broadcast(observed, pixels.ndim)
        reference = None if self.reference is None else self.reference.pages[number % len(self.reference.pages)]
        floor = self.image.metadata.noise_floor
        return Page(pixels, self.image.channel_axis, observed, reference, self.transfer, floor)

    def before(self) -> NDArray[Any]:
        """Return the first page."""
        first: NDArray[Any] = self.image.pages[0]
        return first

    def restored(
        self, images: Iterable[FloatArray], *, dtype: str | None = None, holds_floats: bool = False
    ) -> ImageFile:
        """Return the file with restored pages, in its own depth or in that which is wanted."""
        from plugplay.io import is_measured

        kept = self.image
        floats: Floats = "needed" if holds_floats and dtype is None else "never"
        if dtype == "f4" and kept.pixels.dtype.kind != "f" and is_measured(kept):
            floats = "always"
        elif dtype is not None and kept.pixels.dtype.kind != "f":
            # Before the pages are stored, because 16 bits keep more of the result than 8.
            kept = kept.converted(dtype)
        return kept.restored(images, factor=self.factor, offset=self.offset, floats=floats)


def _broadcast(mask: NDArray[np.bool_], rank: int) -> NDArray[np.bool_]:
    """Return a mask that serves all channels."""
    return mask if mask.ndim == rank else mask[..., None]


def read_image(
    path: Path,
    job: Job,
    *,
    mask: Path | None,
    reference: Path | None,
    data_range: tuple[float, float] | None,
    crop: tuple[int, int, int, int] | None,
    limit: int | None,
    factor: int = 1,
    offset: float | None = None,
    linear: Literal["auto", "on", "off"] = "auto",
    optical: bool = False,
) -> ImageSource:
    """Read an image file and what belongs to it; `linear` and `optical` as `plugplay.io.light_transfer` takes them."""
    from plugplay import io
    from plugplay.arrays.scale import nominal_range

    image = io.read(path, limit=limit)
    # The range of values is decided in one place, for files as for arrays.
    image = replace(image, data_range=nominal_range(image.pixels.dtype, data_range))
    image, whole = image if crop is None else cropped(image, crop), image
    pages = image.pages.shape[0]
    masks, truth = None, None
    doubts: list[str] = []
    if mask is not None and str(mask).lower() == OWN_FLAGS and not mask.exists():
        good = whole.quality_mask
        if good is None:
            raise ValueError(f"--mask {OWN_FLAGS}: the file has no flags (an extension DQ) for its pixels")
        masks = good.reshape(-1, *good.shape[-2:])
        masks = masks if crop is None else masks[:, crop[1] : crop[1] + crop[3], crop[0] : crop[0] + crop[2]]
    elif mask is not None:
        found = companion(mask, job, "mask", io.is_image_name)
        drawn = io.read(found, limit=limit)
        masks, doubts = mask_pages(drawn if crop is None else cropped(drawn, crop), found, image)
        check_pages("mask", len(masks), pages)
    if reference is not None:
        truth = io.read(companion(reference, job, "reference", io.is_image_name), limit=limit)
        truth = truth if crop is None else cropped(truth, crop, factor=factor)
        check_pages("reference", truth.pages.shape[0], pages)
    if masks is not None and masks.shape[1:] != image.pages.shape[1:3]:
        raise ValueError(f"the mask has the shape {masks.shape[1:]}, but the image has {image.pages.shape[1:3]}")
    transfer, notes = io.light_transfer(image, linear, optical=optical)
    if truth is not None and (unlike := unlike_reference(image, truth, factor)):
        truth, notes = None, (*notes, unlike)
    return ImageSource(image, masks, truth, factor, offset, tuple(doubts), transfer, notes)


@contextmanager
def local_copy(job: Job) -> Iterator[Path]:
    """Return the path of the input; standard input is copied into a file first."""
    if job.source is not None:
        yield job.source
        return
    with tempfile.TemporaryDirectory(prefix="plugplay-") as folder:
        path = Path(folder) / "standard-input"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        yield path
