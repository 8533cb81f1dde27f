"""Writing a restored array in the depth and with the metadata of the original file."""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray

from plugplay.io.depths import Floats
from plugplay.io.errors import ImageFileError, printable
from plugplay.io.files import holds_floats, read, write
from plugplay.io.record import ImageFile

__all__ = ["save_image"]


def save_image(
    path: str | os.PathLike[str], image: NDArray[Any], *, like: str | os.PathLike[str] | ImageFile | None = None
) -> None:
    """Write a restored image.

    Parameters
    ----------
    path : path
        Its ending chooses the format.
    image : array
        As `plugplay.restore` returns it.
    like : path or ImageFile, optional
        The original file, whose depth, colour profile, resolution, coordinates and other metadata are used. Counts
        beyond the range of its integers, or with so few levels that rounding would be visible, are written as float32
        in the units of the file if the format supports floats; a warning says so. Without `like`, floats are written if
        the format supports them.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write(folder / "in.tif", ImageFile.of(np.full((4, 5), 1000, np.uint16)))
    >>> save_image(folder / "out.tif", np.full((4, 5), 0.5), like=folder / "in.tif")
    >>> read(folder / "out.tif").pixels[0, 0]
    np.uint16(32768)
    """
    if like is None:
        write(path, ImageFile.of(image, colour=image.ndim >= 3 and image.shape[-1] in (3, 4)))
        return
    source = like if isinstance(like, ImageFile) else read(like)
    name = "like" if isinstance(like, ImageFile) else printable(os.fspath(like))
    page = source.pages.shape[1:]
    pages = image[None] if image.ndim == len(page) else image.reshape(-1, *image.shape[-len(page) :])
    factors = {wide / narrow for wide, narrow in zip(pages.shape[1:3], page[:2], strict=True)}
    factor = factors.pop()
    if len(pages) != len(source.pages) or pages.shape[3:] != page[2:] or factors or factor < 1 or factor % 1:
        raise ImageFileError(
            f"{name} holds {source.pixels.shape} pixels, and the restored image has the shape {image.shape}; it must "
            "have the same, or be larger by a whole factor. For a page of a stack, or a crop, leave like= out"
        )
    floats: Floats = "needed" if holds_floats(path) else "never"
    write(path, source.restored(pages, factor=int(factor), floats=floats))
