"""Files of photon cubes: NPY, MATLAB and raw ones, read block by block where the format allows it."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plugplay.arrays.checks import check_integer
from plugplay.io.errors import ImageFileError
from plugplay.io.limits import check_size
from plugplay.io.matlab import is_hdf5, load_variable, variables

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Cube", "open_cube"]


class Cube(Protocol):
    """An array, in memory or not, that gives blocks along its first axis."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        ...

    def __getitem__(self, block: slice, /) -> Any:
        """Return a block."""
        ...


def open_cube(
    source: str | os.PathLike[str] | ArrayLike,
    frame_shape: tuple[int, int] | None,
    time_axis: int | None,
    packed_axis: int | None,
    variable: str | None,
    limit: int | None,
) -> tuple[Cube, int | None, int | None]:
    """Return the stored array, its time axis (None for a single frame) and its packed axis."""
    matlab = False
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() == ".bin":
            return _raw(path, frame_shape), 0, 2
        matlab = path.suffix.lower() == ".mat"
        cube: Cube = _matlab(path, variable, limit) if matlab else _memory_mapped(path)
    else:
        cube = np.asarray(source)
    rank = len(cube.shape)
    if rank not in (2, 3) or 0 in cube.shape:
        raise ImageFileError(f"a cube (T, H, W) or a frame (H, W) is needed; it has the shape {tuple(cube.shape)}")
    if cube.dtype.kind not in "biuf" or (packed_axis is not None and cube.dtype != np.uint8):
        raise ImageFileError(f"bits are needed, packed ones as uint8; it has the type {cube.dtype}")
    default = rank - 1 if matlab else 0
    time = None if rank == 2 else _axis(default if time_axis is None else time_axis, rank, "time_axis")
    return cube, time, None if packed_axis is None else _axis(packed_axis, rank, "packed_axis")


def _memory_mapped(path: Path) -> Cube:
    with path.open("rb") as stream:
        if not stream.read(6).startswith((b"\x93NUMPY", b"PK")):
            raise ImageFileError("not a photon cube: NPY, MAT and BIN files are read")
    try:
        mapped: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header is parsed as Python, with whatever comes of it
        raise ImageFileError(f"not a readable NPY file ({error})") from None
    if not isinstance(mapped, np.ndarray):
        raise ImageFileError("an NPZ archive cannot be streamed; store the cube as NPY")
    cube: Cube = mapped
    return cube


def _raw(path: Path, frame_shape: tuple[int, int] | None) -> Cube:
    if frame_shape is None:
        raise ImageFileError("a BIN file does not say how large its frames are: frame_shape=(height, width) is needed")
    height, width = (check_integer(n, "frame_shape", minimum=1) for n in frame_shape)
    row = -(-width // 8)
    frames, rest = divmod(path.stat().st_size, height * row)
    if rest or not frames:
        raise ImageFileError(
            f"its {path.stat().st_size} bytes are not a whole number of frames of {height} x {width} jots, "
            f"{height * row} bytes each"
        )
    return np.memmap(path, np.uint8, mode="r", shape=(frames, height, row))


def _matlab(path: Path, variable: str | None, limit: int | None) -> Cube:
    if is_hdf5(path):
        return _matlab_hdf5(path, variable, limit)
    found = variables(path)
    name = _variable({name: each.shape for name, each in found.items()}, variable)
    return load_variable(path, found[name], limit=limit)


def _matlab_hdf5(path: Path, variable: str | None, limit: int | None) -> Cube:
    try:
        import h5py
    except ImportError:
        raise ImageFileError("a MATLAB file of version 7.3 needs h5py: pip install 'plugplay[matlab]'") from None
    with contextlib.ExitStack() as cleanup:
        try:
            file = cleanup.enter_context(h5py.File(path, "r"))
            dataset = _dataset_inside(h5py, file, variable)
            if dataset.chunks is not None:  # whole ones are unpacked
                check_size(math.prod(dataset.chunks) * dataset.dtype.itemsize, stored=path.stat().st_size, limit=limit)
        except ImageFileError:
            raise
        except Exception as error:  # damaged files make h5py raise anything
            raise ImageFileError(f"not a readable MATLAB file ({str(error) or type(error).__name__})") from None
        cleanup.pop_all()  # it stays open as long as the dataset is used
        return _Transposed(dataset)


def _dataset_inside(h5py: Any, file: Any, variable: str | None) -> Any:
    """Return the dataset of the cube; links and external storage, which would read other files, are not followed."""
    inside = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
    if variable is not None and variable in file.keys() - set(inside):
        raise ImageFileError(f"its variable {variable} is a link, which is not followed")
    items = {name: file[name] for name in inside}
    sizes = {name: item.shape for name, item in items.items() if isinstance(item, h5py.Dataset) and item.shape}
    dataset = items[_variable(sizes, variable)]
    if dataset.external or dataset.is_virtual:
        raise ImageFileError("its data are in other files, which are not read")
    return dataset


class _Transposed:
    """MATLAB's array in an HDF5 file, which stores its axes in the other order."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.shape: tuple[int, ...] = dataset.shape[::-1]
        self.dtype: np.dtype[Any] = dataset.dtype

    def __getitem__(self, block: slice) -> NDArray[Any]:
        try:
            return np.asarray(self._dataset[..., block]).T
        except Exception as error:  # a damaged chunk
            raise ImageFileError(f"not a readable MATLAB file ({str(error) or type(error).__name__})") from None


def _variable(found: dict[str, tuple[int, ...]], wanted: str | None) -> str:
    names = ", ".join(f"{name} {shape}" for name, shape in found.items()) or "none"
    if wanted is not None:
        if wanted not in found:
            raise ImageFileError(f"there is no variable {wanted!r}; its variables are {names}")
        return wanted
    for rank in (3, 2):  # a cube if there is one, else a frame
        fitting = [name for name, shape in found.items() if len(shape) == rank and min(shape) > 1]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            break
    raise ImageFileError(f"several variables could be the cube; name one of {names}")


def _axis(axis: int, rank: int, name: str) -> int:
    if not -rank <= axis < rank:
        raise ImageFileError(f"{name} is {axis}, but there are {rank} axes")
    return axis % rank
