"""NumPy's files. Pickles are never loaded: they can run code."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.io.geometry import check_size
from plugplay.io.record import ImageFile, ImageFileError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

    from numpy.typing import NDArray

__all__ = ["read", "write"]


def read(path: Path) -> ImageFile:
    """Read an NPY file, or an NPZ file with one array in it (or one that is called ``image``)."""
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"PK"
        stream.seek(0)
        array = _from_zip(stream, path) if zipped else _array(stream, path.stat().st_size)
    # A short last axis after two long ones holds channels; (N, H, W) is a stack.
    colour = array.ndim >= 3 and array.shape[-1] <= 4
    return ImageFile.of(array, colour=colour)


def write(path: Path, image: ImageFile) -> None:
    """Write the pixels; alpha becomes another channel."""
    pixels = image.pixels
    if image.alpha is not None:
        alpha = image.alpha.astype(pixels.dtype)
        pixels = np.concatenate([pixels if image.colour else pixels[..., None], alpha[..., None]], axis=-1)
    with path.open("wb") as stream:
        if path.suffix.lower() == ".npz":
            np.savez_compressed(stream, image=pixels)
        else:
            np.save(stream, pixels, allow_pickle=False)


def _from_zip(stream: IO[bytes], path: Path) -> NDArray[Any]:
    with zipfile.ZipFile(stream) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(members) != 1 and "image" not in members:
            raise ImageFileError(
                f"it holds the arrays {', '.join(members) or '(none)'}; one, or one called image, is needed"
            )
        chosen = members["image"] if "image" in members else next(iter(members.values()))
        check_size(chosen.file_size, path.stat().st_size)
        content = archive.read(chosen)
    return _array(io.BytesIO(content), len(content))


def _array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Read one array; its header is compared with the size of the file before any memory is asked for."""
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    if dtype.hasobject:
        raise ImageFileError("it holds Python objects (pickles), which are never loaded")
    needed = dtype.itemsize
    for n in shape:
        needed *= n
    if stream.tell() + needed > size:
        raise ImageFileError(f"it is cut off: {needed} bytes of pixels are announced, {size - stream.tell()} are there")
    stream.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array
