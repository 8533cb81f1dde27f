"""Photon cubes: binary frames in files of any size, reduced to counts of ones for each pixel.

Whether a pixel is K x K jots in one frame, one jot in T frames, or both, its likelihood only depends on how many of its
jots fired and how many could have. A cube is therefore read once, block by block, and never kept in memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from plugplay.arrays.checks import check_integer, check_mask, check_same_shape, frozen
from plugplay.arrays.records import Fingerprinted
from plugplay.io.errors import ImageFileError, printable
from plugplay.io.paths import check_regular
from plugplay.io.photon_defects import Defects, find_defects
from plugplay.io.photon_files import open_cube
from plugplay.io.photon_jots import BLOCK_BYTES, JotCounts, count_jots

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["BLOCK_BYTES", "PhotonCounts", "count_ones"]


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
    exposures : int
        Binary exposures that a frame stands for: 1, unless its frames hold counts.
    hot, dead : int
        Jots that were found to be hot or dead, and left out.
    doubts : tuple of str
        What is questionable about how the cube was read, in plain sentences.
    works : array of bool, optional
        Frame-shaped, False where a jot was left out; None if all were used.
    """

    ones: NDArray[np.int64]
    trials: NDArray[np.int64]
    oversampling: int
    frames: int
    exposures: int = 1
    hot: int = 0
    dead: int = 0
    doubts: tuple[str, ...] = ()
    works: NDArray[np.bool_] | None = None


def count_ones(
    source: str | os.PathLike[str] | ArrayLike,
    *,
    oversampling: int = 1,
    packed_axis: int | None = None,
    bit_order: Literal["big", "little"] = "big",
    frame_shape: tuple[int, int] | None = None,
    time_axis: int | None = None,
    frames: int | None = None,
    start: int = 0,
    max_count: int | None = None,
    variable: str | None = None,
    mask: ArrayLike | None = None,
    defects: bool = False,
    limit: int | None = None,
) -> PhotonCounts:
    """Count the ones of a photon cube, or the photons of one whose frames hold counts.

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
        How many frames to use, from `start` on; by default all. Needed if packing has padded the time axis.
    start : int
        The first frame to use, counted from 0.
    max_count : int, optional
        If frames hold counts (of several bits): where they end, because each is the sum of so many binary exposures.
        By default they are counts without an end.
    variable : str, optional
        Which variable of a MATLAB file; by default the only one that can be a cube.
    mask : array of bool, optional
        Frame-shaped, True where a jot works. Hot and dead jots are left out, of the ones and of the trials.
    defects : bool
        Whether to find hot and dead jots, too, and leave them out: see `plugplay.io.photon_defects`.
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
    jots = _read_jots(
        source,
        packed_axis=packed_axis,
        bit_order=bit_order,
        frame_shape=frame_shape,
        time_axis=time_axis,
        frames=frames,
        start=start,
        max_count=max_count,
        variable=variable,
        limit=limit,
    )
    works = np.ones(jots.ones.shape, np.bool_)
    if mask is not None:
        works = check_mask(mask)
        check_same_shape(works, jots.ones.shape, "mask", "a frame")
    tries, found = jots.frames * jots.exposures, Defects(~works & False, ~works & False)
    if defects:
        found = find_defects(jots.ones, tries, works)
        works = works & found.works
    ones, trials = _binned(np.where(works, jots.ones, 0), k), _binned(works.astype(np.int64) * tries, k)
    return PhotonCounts(
        frozen(ones),
        frozen(trials),
        k,
        jots.frames,
        jots.exposures,
        int(np.count_nonzero(found.hot)),
        int(np.count_nonzero(found.dead)),
        (*jots.doubts, *_says_nothing(ones, trials, jots.frames)),
        None if works.all() else frozen(works),
    )


def _read_jots(
    source: str | os.PathLike[str] | ArrayLike,
    *,
    packed_axis: int | None,
    bit_order: Literal["big", "little"],
    frame_shape: tuple[int, int] | None,
    time_axis: int | None,
    frames: int | None,
    start: int,
    max_count: int | None,
    variable: str | None,
    limit: int | None,
) -> JotCounts:
    """Open a cube and count, with its name in errors."""
    name = "the array"
    if isinstance(source, str | os.PathLike):
        name = printable(source)
        check_regular(source)
    try:
        cube, time, packed = open_cube(source, frame_shape, time_axis, packed_axis, variable, limit)
        jots = count_jots(
            cube,
            time=time,
            packed=packed,
            bit_order=bit_order,
            start=start,
            frames=frames,
            max_count=max_count,
            limit=limit,
        )
    except ImageFileError as error:
        raise ImageFileError(f"{name}: {error}") from error
    if frame_shape is None:
        return jots
    height, width = frame_shape
    if jots.ones.shape[0] < height or jots.ones.shape[1] < width:
        raise ValueError(
            f"{name} has frames of {jots.ones.shape} jots, which is less than the frame_shape {frame_shape}"
        )
    return replace(jots, ones=jots.ones[:height, :width])


def _binned(jots: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    height, width = jots.shape
    if height % k or width % k:
        raise ValueError(f"a frame of {height} x {width} jots is not divisible by the oversampling, {k}")
    binned: NDArray[np.int64] = jots.reshape(height // k, k, width // k, k).sum(axis=(1, 3))
    return binned


def _says_nothing(ones: NDArray[np.int64], trials: NDArray[np.int64], frames: int) -> tuple[str, ...]:
    """Return a warning about a cube that is the same everywhere, and so contains no image, if it is."""
    total, most = int(ones.sum()), int(trials.sum())
    if most == 0 or 0 < total < most:
        return ()
    used = "the only frame" if frames == 1 else f"all {frames} frames"
    if total == 0:
        return (f"no photon was counted in {used}, so the image is black: is it the right cube, with light on it?",)
    return (
        f"every jot fired in {used}, so the image is white: was there too much light for the gain and the threshold, "
        "or are the bits another way round than was said?",
    )


def _checked_shape(value: object) -> tuple[int, int]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"frame_shape must be two integers, height and width; got {value!r}")
    return check_integer(value[0], "frame_shape[0]", minimum=1), check_integer(value[1], "frame_shape[1]", minimum=1)
