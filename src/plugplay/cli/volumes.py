"""Stacks that are volumes: a blur with three axes mixes the pages of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.cli.sources import ImageSource, Page
    from plugplay.io import ImageFile

__all__ = ["VolumeSource"]


@dataclass(frozen=True, eq=False)
class VolumeSource:
    """An image file whose pages are slices: the last axis before height and width is depth.

    Attributes
    ----------
    inner : ImageSource
        The same file, page by page.
    """

    inner: ImageSource

    def __post_init__(self) -> None:
        if self.depth < 2:
            raise ValueError("the kernel has three axes, but the file is not a stack: a kernel with two axes is needed")

    @property
    def depth(self) -> int:
        """How many slices a volume has."""
        return int(self.inner.image.stack_shape[-1]) if self.inner.image.stack_shape else 1

    @property
    def count(self) -> int:
        """How many volumes there are."""
        return self.inner.count // self.depth

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is questionable about what was read."""
        return self.inner.doubts

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about what was read."""
        return (*self.inner.notes, f"the kernel has three axes: {self.depth} pages are restored as a volume")

    @property
    def pixels(self) -> int:
        """How many pixels a restored volume has."""
        return self.inner.pixels * self.depth

    def page(self, number: int) -> Page:
        """Return a volume."""
        slices = [self.inner.page(number * self.depth + n) for n in range(self.depth)]
        first, observed, reference = slices[0], None, None
        if any(each.observed is not None for each in slices):
            everywhere = np.ones(first.pixels.shape, np.bool_)
            observed = np.stack(
                [everywhere if each.observed is None else everywhere & each.observed for each in slices]
            )
        references = [each.reference for each in slices if each.reference is not None]
        if references:
            reference = np.stack(references)
        return replace(first, pixels=np.stack([each.pixels for each in slices]), observed=observed, reference=reference)

    def before(self) -> NDArray[Any]:
        """Return the slice in the middle of the first volume."""
        middle: NDArray[Any] = self.inner.image.pages[self.depth // 2]
        return middle

    def restored(
        self, images: Iterable[FloatArray], *, dtype: str | None = None, holds_floats: bool = False
    ) -> ImageFile:
        """Return the file with restored pages."""
        return self.inner.restored(_slices(images), dtype=dtype, holds_floats=holds_floats)


def _slices(volumes: Iterable[FloatArray]) -> Iterator[FloatArray]:
    for volume in volumes:
        yield from volume
