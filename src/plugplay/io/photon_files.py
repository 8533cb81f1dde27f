"""The files that photon cubes come in: NPY, MATLAB and raw ones, read block by block where the format allows it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plugplay.arrays.checks import check_integer
from plugplay.io.record import ImageFileError

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
) -> tuple[Cube, int | None, int | None]:
    """Return the stored array, its time axis (None for a single frame) and its packed axis."""
    matlab = False
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.is_file():
            raise ImageFileError("it is a folder" if path.is_dir() else "there is no such file")
        if path.suffix.lower() == ".bin":
            return _raw(path, frame_shape), 0, 2
        matlab = path.suffix.lower() == ".mat"
        cube: Cube = _matlab(path, variable) if matlab else _memory_mapped(path)
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


def _matlab(path: Path, variable: str | None) -> Cube:
    from scipy.io import loadmat, whosmat

    try:
        found = {name: shape for name, shape, _ in whosmat(path)}
        name = _variable(found, variable)
        loaded: NDArray[Any] = loadmat(path, variable_names=[name])[name]
    except ImageFileError:
        raise
    except NotImplementedError:  # how scipy says that it is HDF5
        return _matlab_hdf5(path, variable)
    except Exception as error:  # damaged files make scipy raise anything
        raise ImageFileError(f"not a readable MATLAB file ({error})") from None
    return loaded


def _matlab_hdf5(path: Path, variable: str | None) -> Cube:
    try:
        import h5py
    except ImportError:
        raise ImageFileError("a MATLAB file of version 7.3 needs h5py: pip install 'plugplay[matlab]'") from None
    try:
        file = h5py.File(path, "r")
        sizes = {name: item.shape for name, item in file.items() if isinstance(item, h5py.Dataset)}
        return _Transposed(file[_variable(sizes, variable)])
    except OSError as error:
        raise ImageFileError(f"not a readable MATLAB file ({error})") from None


class _Transposed:
    """MATLAB's array in an HDF5 file, which stores its axes in the other order."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.shape: tuple[int, ...] = dataset.shape[::-1]
        self.dtype: np.dtype[Any] = dataset.dtype

    def __getitem__(self, block: slice) -> NDArray[Any]:
        return np.asarray(self._dataset[..., block]).T


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
    raise ImageFileError(f"it cannot be told which variable is the cube; name one of {names}")


def _axis(axis: int, rank: int, name: str) -> int:
    if not -rank <= axis < rank:
        raise ImageFileError(f"{name} is {axis}, but there are {rank} axes")
    return axis % rank
