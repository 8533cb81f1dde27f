"""NumPy's files. Pickles are never loaded: they can run code."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.io.atomic import atomic
from plugplay.io.errors import ImageFileError, printable
from plugplay.io.limits import check_size
from plugplay.io.paths import check_regular
from plugplay.io.record import ImageFile

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import IO

    from numpy.typing import NDArray

__all__ = ["load_arrays", "read", "save_arrays", "write_npy", "write_npz"]


def read(path: Path, limit: int | None) -> ImageFile:
    """Read an NPY file, or an NPZ file with one array in it (or one that is called ``image``)."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"PK"
        stream.seek(0)
        array = _image_in_zip(stream, size, limit) if zipped else _array(stream, size, stored=size, limit=limit)
    # A short last axis after two long ones holds channels; (N, H, W) is a stack.
    colour = array.ndim >= 3 and array.shape[-1] <= 4
    return ImageFile.of(array, colour=colour, transfer="linear")


def write_npy(stream: IO[bytes], image: ImageFile) -> None:
    """Write the pixels; alpha becomes another channel."""
    np.save(stream, _with_alpha(image), allow_pickle=False)


def write_npz(stream: IO[bytes], image: ImageFile) -> None:
    """Write the pixels, compressed, under the name ``image``; alpha becomes another channel."""
    np.savez_compressed(stream, image=_with_alpha(image))


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays into an NPZ file, which is there completely or not at all.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "checkpoint.npz"
    >>> save_arrays(path, {"x": np.eye(2)})
    >>> load_arrays(path)["x"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    with atomic(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def load_arrays(path: str | os.PathLike[str], *, limit: int | None = None) -> dict[str, NDArray[Any]]:
    """Read all the arrays of an NPZ file; no pickles, and no more memory than is allowed.

    Parameters
    ----------
    path : path
        The file.
    limit : int, optional
        Bytes that the arrays may need together: see `plugplay.io.limits.check_size`.

    Raises
    ------
    ImageFileError
        If it is not such a file, is damaged or too large; in one line.
    """
    size = check_regular(path)
    try:
        with zipfile.ZipFile(Path(path)) as archive:
            members = archive.infolist()
            check_size(sum(info.file_size for info in members), stored=size, limit=limit, pages=len(members))
            return {info.filename.removesuffix(".npy"): _member(archive, info, size, limit) for info in members}
    except ImageFileError as error:
        raise ImageFileError(f"{printable(path)}: {error}") from None
    except Exception as error:  # damaged archives raise anything: zlib.error, NotImplementedError, …
        raise ImageFileError(
            f"{printable(path)}: damaged or no NPZ file ({str(error) or type(error).__name__})"
        ) from error


def _with_alpha(image: ImageFile) -> NDArray[Any]:
    pixels = image.pixels
    if image.alpha is None:
        return pixels
    alpha = image.alpha.astype(pixels.dtype)
    return np.concatenate([pixels if image.colour else pixels[..., None], alpha[..., None]], axis=-1)


def _image_in_zip(stream: IO[bytes], size: int, limit: int | None) -> NDArray[Any]:
    with zipfile.ZipFile(stream) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(members) != 1 and "image" not in members:
            raise ImageFileError(
                f"it holds the arrays {', '.join(members) or '(none)'}; one, or one called image, is needed"
            )
        return _member(archive, members["image"] if "image" in members else next(iter(members.values())), size, limit)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int, limit: int | None) -> NDArray[Any]:
    check_size(info.file_size, stored=size, limit=limit)
    content = archive.read(info)
    return _array(io.BytesIO(content), len(content), stored=size, limit=limit)


def _array(stream: IO[bytes], size: int, *, stored: int, limit: int | None) -> NDArray[Any]:
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
    check_size(needed, stored=stored, limit=limit)
    stream.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array
