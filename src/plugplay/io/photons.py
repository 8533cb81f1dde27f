"""Photon cubes: binary frames in files of any size, reduced to counts of ones for each pixel.

Whether a pixel is K x K jots in one frame, one jot in T frames, or both, all that its likelihood needs is how many
of its jots fired and how many could have. A cube is therefore read once, block by block, and never held.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plugplay.arrays.checks import check_integer, check_mask, check_same_shape, frozen
from plugplay.arrays.records import Fingerprinted
from plugplay.io.errors import ImageFileError, printable
from plugplay.io.limits import check_size
from plugplay.io.paths import check_regular
from plugplay.io.photon_files import open_cube

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from plugplay.io.photon_files import Cube

__all__ = ["PhotonCounts", "count_ones"]

# Memory of one block of unpacked jots.
BLOCK_BYTES = 2**24

_POPCOUNT = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class PhotonCounts(Fingerprinted):
    """How many jots of each pixel fired.

    Attributes
    ----------
    ones : array ``(H, W)`` of int64
        Jots that fired, over all frames.
    trials : array ``(H, W)`` of int64
        Jots that could have fired; 0 where all jots of a pixel were left out.
    oversampling : int
        K, the jots along each side of a pixel.
    frames : int
        T, the number of frames.
    """

    ones: NDArray[np.int64]
    trials: NDArray[np.int64]
    oversampling: int
    frames: int


def count_ones(
    source: str | os.PathLike[str] | ArrayLike,
    *,
    oversampling: int = 1,
    packed_axis: int | None = None,
    bit_order: Literal["big", "little"] = "big",
    frame_shape: tuple[int, int] | None = None,
    time_axis: int | None = None,
    frames: int | None = None,
    variable: str | None = None,
    mask: ArrayLike | None = None,
    limit: int | None = None,
) -> PhotonCounts:
    """Count the ones of a photon cube.

    Parameters
    ----------
    source : path or array
        A binary cube ``(T, H, W)`` or a single frame ``(H, W)``: an array, an NPY file (memory-mapped), a MATLAB
        file, or a raw BIN file of bit-packed frames, which needs `frame_shape`.
    oversampling : int
        K, the jots along each side of a pixel.
    packed_axis : int, optional
        The axis along which eight jots share a byte, as ``numpy.packbits`` does it; e.g. 2 for ``(T, H, W/8)``.
        By default bits are not packed, except in BIN files, which are packed along each row.
    bit_order : {"big", "little"}
        Whether the first of eight jots is the highest bit of its byte (as in NumPy) or the lowest.
    frame_shape : (int, int), optional
        Height and width of a frame in jots: needed for BIN files, and where packing has padded a frame.
    time_axis : int, optional
        The axis of the frames: by default the first, in MATLAB files the last.
    frames : int, optional
        How many frames to use, from the first on; by default all. Needed if packing has padded the time axis.
    variable : str, optional
        Which variable of a MATLAB file; by default the only one that can be a cube.
    mask : array of bool, optional
        Frame-shaped, True where a jot works. Hot and dead jots are left out, of the ones and of the trials.
    limit : int, optional
        How many bytes of memory may be needed, by default 4 GiB: for the counts of a frame, and for a MATLAB file
        before version 7.3, which cannot be read in blocks. It is looked at before anything is read.

    Returns
    -------
    PhotonCounts
        What ``plugplay.single_photon`` takes.

    Examples
    --------
    >>> import numpy as np
    >>> cube = np.zeros((10, 4, 8), np.uint8)
    >>> cube[:3, 0, 0] = 1
    >>> counts = count_ones(np.packbits(cube, axis=2), packed_axis=2, oversampling=2)
    >>> counts.ones.tolist(), int(counts.trials[0, 0])
    ([[3, 0, 0, 0], [0, 0, 0, 0]], 40)
    """
    k = check_integer(oversampling, "oversampling", minimum=1)
    if bit_order not in ("big", "little"):
        raise ValueError(f"bit_order must be 'big' or 'little'; got {bit_order!r}")
    if frame_shape is not None:
        frame_shape = _checked_shape(frame_shape)
    name = "the array"
    if isinstance(source, str | os.PathLike):
        name = printable(source)
        check_regular(source)
    try:
        cube, time, packed = open_cube(source, frame_shape, time_axis, packed_axis, variable, limit)
        _check_memory(cube, time=time, packed=packed, limit=limit)
        jots, used = _counted(cube, frames, time=time, packed=packed, bit_order=bit_order)
    except ImageFileError as error:
        raise ImageFileError(f"{name}: {error}") from error
    if frame_shape is not None:
        height, width = frame_shape
        if jots.shape[0] < height or jots.shape[1] < width:
            raise ValueError(
                f"{name} has frames of {jots.shape} jots, which is less than the frame_shape {frame_shape}"
            )
        jots = jots[:height, :width]
    works = np.ones(jots.shape, np.bool_)
    if mask is not None:
        works = check_mask(mask)
        check_same_shape(works, jots.shape, "mask", "a frame")
    return PhotonCounts(
        frozen(_binned(np.where(works, jots, 0), k)), frozen(_binned(works.astype(np.int64) * used, k)), k, used
    )


def _check_memory(cube: Cube, *, time: int | None, packed: int | None, limit: int | None) -> None:
    """Refuse cubes whose counts, or whose thinnest block, need too much memory."""
    shape = [8 * n if axis == packed else n for axis, n in enumerate(cube.shape)]
    jots = math.prod(n for axis, n in enumerate(shape) if axis != time)
    check_size(3 * 8 * jots + math.prod(cube.shape[1:]) * (8 if packed is not None else 1), limit=limit)


def _counted(
    cube: Cube, frames: int | None, *, time: int | None, packed: int | None, bit_order: Literal["big", "little"]
) -> tuple[NDArray[np.int64], int]:
    """Return the ones of each jot over the frames, and the number of frames."""
    shape = [8 * n if axis == packed else n for axis, n in enumerate(cube.shape)]
    there = 1 if time is None else shape[time]
    used = there if frames is None else check_integer(frames, "frames", minimum=1)
    if used > there:
        raise ImageFileError(f"{used} frames are asked for, but it has {there}")
    ones = np.zeros([n for axis, n in enumerate(shape) if axis != time], np.int64)
    for start, block in _blocks(cube, packed):
        if time is not None and packed == time:
            bits = _ones_in_bytes(block, time, used - (8 * start if time == 0 else 0), bit_order)
        else:
            bits = _unpacked(block, packed, bit_order)
            bits = bits if time is None else _first(bits, used - (start if time == 0 else 0), time)
        if time == 0:
            # Blocks have at most 255 frames, so that bytes can hold the sums.
            ones += np.add.reduce(bits, axis=0, dtype=np.uint8)
        else:
            first = start * (8 if packed == 0 else 1)
            ones[first : first + bits.shape[0]] = bits if time is None else bits.sum(axis=time, dtype=np.int64)
    return ones, used


def _first(bits: NDArray[np.uint8], count: int, axis: int) -> NDArray[np.uint8]:
    wanted = [slice(None)] * bits.ndim
    wanted[axis] = slice(max(0, count))
    return bits[tuple(wanted)]


def _ones_in_bytes(
    block: NDArray[np.uint8], axis: int, frames: int, bit_order: Literal["big", "little"]
) -> NDArray[np.uint8]:
    """Return how many of the first `frames` bits along `axis`, which is packed, are set in each byte."""
    there = np.clip(frames - 8 * np.arange(block.shape[axis]), 0, 8)
    mask = 255 >> (8 - there) if bit_order == "little" else 255 & (255 << (8 - there))
    shape = [-1 if other == axis else 1 for other in range(block.ndim)]
    ones: NDArray[np.uint8] = _POPCOUNT[block & mask.astype(np.uint8).reshape(shape)]
    return ones


def _blocks(cube: Cube, packed: int | None) -> Iterator[tuple[int, NDArray[Any]]]:
    unpacked = 8 if packed is not None else 1
    each = int(np.prod(cube.shape[1:], dtype=np.int64)) * unpacked
    count = max(1, min(BLOCK_BYTES // max(each, 1), 248 // (8 if packed == 0 else 1)))
    for start in range(0, cube.shape[0], count):
        yield start, np.asarray(cube[start : start + count])


def _unpacked(block: NDArray[Any], packed: int | None, bit_order: Literal["big", "little"]) -> NDArray[np.uint8]:
    if packed == block.ndim - 1:
        return np.unpackbits(block, axis=packed, bitorder=bit_order)
    if packed is not None:  # numpy.unpackbits takes ten times as long along any other axis
        shifts = np.arange(8, dtype=np.uint8)
        shape = (8, *[1] * (block.ndim - 1 - packed))
        order = (shifts[::-1] if bit_order == "big" else shifts).reshape(shape)
        separate: NDArray[np.uint8] = (np.expand_dims(block, packed + 1) >> order) & np.uint8(1)
        return separate.reshape(*block.shape[:packed], -1, *block.shape[packed + 1 :])
    bits: NDArray[np.uint8] = block.astype(np.uint8)
    if bits.max(initial=0) > 1 or (block.dtype.kind in "if" and not np.array_equal(bits, block)):
        raise ImageFileError(
            f"its values must be 0 or 1, but {block.min()} to {block.max()} were found; if eight jots share a byte, "
            "say along which axis with packed_axis"
        )
    return bits


def _binned(jots: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    height, width = jots.shape
    if height % k or width % k:
        raise ValueError(f"a frame of {height} x {width} jots is not divisible by the oversampling, {k}")
    binned: NDArray[np.int64] = jots.reshape(height // k, k, width // k, k).sum(axis=(1, 3))
    return binned


def _checked_shape(value: object) -> tuple[int, int]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"frame_shape must be two integers, height and width; got {value!r}")
    return check_integer(value[0], "frame_shape[0]", minimum=1), check_integer(value[1], "frame_shape[1]", minimum=1)
