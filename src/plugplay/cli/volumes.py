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

__all__ = ["VolumeSource", "volumes_of"]

# What TIFF files call the axes of a stack that are certainly not depth.
_OTHERS = {"C": "channels", "T": "times"}


@dataclass(frozen=True, eq=False)
class VolumeSource:
    """An image file whose pages are slices.

    Attributes
    ----------
    inner : ImageSource
        The same file, page by page; the last axis before height and width is depth.
    depth_axis : int
        Where the file has it.
    doubts : tuple of str
        What is questionable about what was read.
    """

    inner: ImageSource
    depth_axis: int
    doubts: tuple[str, ...]

    @property
    def depth(self) -> int:
        """How many slices a volume has."""
        return int(self.inner.image.stack_shape[-1])

    @property
    def count(self) -> int:
        """How many volumes there are."""
        return self.inner.count // self.depth

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about what was read."""
        volumes = "a volume" if self.count == 1 else f"{self.count} volumes of {self.depth} slices"
        return (*self.inner.notes, f"the kernel has three axes: {self.inner.count} pages are restored as {volumes}")

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
        image = self.inner.restored(_slices(images), dtype=dtype, holds_floats=holds_floats)
        return _with_axis(image, len(image.stack_shape) - 1, self.depth_axis)


def volumes_of(source: ImageSource) -> VolumeSource:
    """Return a source whose pages are slices of volumes.

    The slices are along the axis that the file calls Z; if it names none so, along the last axis that it does not call
    channels or times.
    """
    stack, letters = source.image.stack_shape, source.image.metadata.stack_axes
    if source.image.metadata.planar and not stack:
        raise ValueError(
            "the kernel has three axes, but the file is stored as one image in colours: if they are slices, write them "
            'as gray pages (with tifffile, photometric="minisblack")'
        )
    if not any(n > 1 for n in stack):
        raise ValueError("the kernel has three axes, but the file is not a stack: a kernel with two axes is needed")
    letters = letters if len(letters) == len(stack) else "?" * len(stack)
    doubts = source.doubts
    depth = letters.rfind("Z")
    if depth < 0:
        unnamed = [axis for axis, letter in enumerate(letters) if letter not in _OTHERS and stack[axis] > 1]
        long = [axis for axis, n in enumerate(stack) if n > 1]
        if not unnamed and len(long) > 1:
            raise ValueError(
                f"the kernel has three axes, but no axis of the file is called Z: its axes are {letters}YX, of the "
                f"shape {(*stack, *source.image.pages.shape[1:3])}"
            )
        depth = (unnamed or long)[-1]
        if not unnamed:
            doubts = (
                *doubts,
                f"the file calls its {stack[depth]} pages {_OTHERS[letters[depth]]}, but the kernel has three axes: "
                "they were taken for the slices of a volume",
            )
    elif stack[depth] < 2:
        raise ValueError(f"the kernel has three axes, but the file has only one slice: its axes are {letters}YX")
    return VolumeSource(_depth_last(source, depth), depth, doubts)


def _depth_last(source: ImageSource, depth: int) -> ImageSource:
    """Return the source with another order of pages, its masks and its reference alike."""
    stack = source.image.stack_shape
    if depth == len(stack) - 1:
        return source
    masks, reference = source.masks, source.reference
    if masks is not None and len(masks) > 1:
        apart = masks.reshape(*stack, *masks.shape[1:])
        masks = np.moveaxis(apart, depth, len(stack) - 1).reshape(masks.shape)
    if reference is not None and reference.pages.shape[0] > 1:
        apart = reference.pages.reshape(*stack, *reference.pages.shape[1:])
        reference = _with_axis(replace(reference, pixels=apart, alpha=None), depth, len(stack) - 1)
    return replace(source, image=_with_axis(source.image, depth, len(stack) - 1), masks=masks, reference=reference)


def _with_axis(image: ImageFile, axis: int, place: int) -> ImageFile:
    """Return an image file with an axis of its stack in another place."""
    if axis == place:
        return image
    pixels = np.ascontiguousarray(np.moveaxis(image.pixels, axis, place))
    alpha = None if image.alpha is None else np.ascontiguousarray(np.moveaxis(image.alpha, axis, place))
    return replace(image, pixels=pixels, alpha=alpha)


def _slices(volumes: Iterable[FloatArray]) -> Iterator[FloatArray]:
    for volume in volumes:
        yield from volume
