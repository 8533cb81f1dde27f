"""Counts of how often each jot of a photon cube fired; the cube is read once, block by block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plugplay.arrays.checks import check_integer
from plugplay.io.errors import ImageFileError
from plugplay.io.limits import check_size
from plugplay.io.photon_frames import structure, summed
from plugplay.io.photon_layout import questions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from plugplay.io.photon_files import Cube

__all__ = ["JotCounts", "count_jots"]

# Memory of one block of unpacked jots.
BLOCK_BYTES = 2**24
# Frames of counts, without a known end of the range, are those of so many binary exposures for each count of the
# highest: so many that a count is never likely to have missed a photon. There are at least so few, and at most so many
# in all.
EXPOSURES_PER_COUNT, MIN_EXPOSURES_PER_COUNT, MAX_EXPOSURES = 64, 8, 4_000_000
# Counts of photons vary as much as their mean is, and bytes of packed bits much more.
MAX_DISPERSION = 4.0
MAX_COUNT = 65535
# What stands for a one where bits are stored as black and white.
WHITE = (255, 65535)
# So many slices along the first axis are looked at again where the frames may be along another axis.
MAX_SLICES = 128
# The structure, in standard errors, of what is no image at most, and of what certainly is one; and by how much nearer
# to squares other frames must be. A scene that moves through the whole frame while it is exposed may look like none.
MAX_STRUCTURE, MIN_STRUCTURE, MUCH_LONGER = 4.0, 8.0, 4.0

_POPCOUNT = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class JotCounts:
    """How often each jot fired.

    Attributes
    ----------
    ones : array ``(H, W)`` of int64
        How often, over all frames.
    frames : int
        How many frames were used.
    exposures : int
        Binary exposures that a frame stands for: 1, unless frames hold counts.
    doubts : tuple of str
        Warnings about the layout.
    """

    ones: NDArray[np.int64]
    frames: int
    exposures: int
    doubts: tuple[str, ...]


def count_jots(
    cube: Cube,
    *,
    time: int | None,
    packed: int | None,
    bit_order: Literal["big", "little"],
    start: int = 0,
    frames: int | None = None,
    max_count: int | None = None,
    limit: int | None = None,
) -> JotCounts:
    """Count the ones of each jot.

    Parameters
    ----------
    cube : Cube
        What is stored.
    time, packed : int, optional
        The axis of the frames, and the one along which eight jots share a byte.
    bit_order, start, frames, max_count, limit
        As in `plugplay.io.photons.count_ones`.
    """
    _check_memory(cube, time=time, packed=packed, limit=limit)
    shape = [8 * n if axis == packed else n for axis, n in enumerate(cube.shape)]
    there = 1 if time is None else shape[time]
    first = check_integer(start, "start", minimum=0)
    used = there - first if frames is None else check_integer(frames, "frames", minimum=1)
    if used < 1 or first + used > there:
        after = f" from frame {first} on" if first else ""
        raise ImageFileError(f"{used} frames are asked for{after}, but it has {there}")
    last = first + used
    ones = np.zeros([n for axis, n in enumerate(shape) if axis != time], np.int64)
    highest, checked, levels = 1, False, set[int]()
    for begin, block in _blocks(cube, packed, _stored(time, packed, first, last, cube.shape[0])):
        if time is not None and packed == time:
            jots: NDArray[Any] = _ones_in_bytes(block, time, begin if time == 0 else 0, first, last, bit_order)
        else:
            if packed is None:
                jots, level = _numbers(block) if max_count is None else (_counts(block), 1)
                levels |= {level} if jots.any() else set()
                if len(levels) > 1:
                    raise ImageFileError(f"some of its values are 0 and {max(levels)} only, and others are between")
            else:
                jots = _unpacked(block, packed, bit_order)
            if time not in (None, 0):
                jots = _between(jots, first, last, time)
        if packed is None:
            highest = max(highest, int(jots.max(initial=0)))
            if highest > 1 and not checked:
                _check_counts(jots, time)
                checked = True
        if time == 0:
            ones += np.add.reduce(jots, axis=0, dtype=np.int64)
        else:
            place = begin * (8 if packed == 0 else 1)
            ones[place : place + jots.shape[0]] = jots if time is None else jots.sum(axis=time, dtype=np.int64)
    doubts: list[str] = []
    if packed is not None and packed != time:
        doubts = questions(ones, used, packed - (time is not None and time < packed), bit_order)
    elif packed is not None:
        doubts = _time_questions(cube, time)
    if time is not None and not doubts:
        doubts = _frame_questions(cube, ones, time, packed, bit_order, used if highest <= 1 else None)
    return JotCounts(ones, used, _exposures(highest, max_count, used), tuple(doubts))


def _check_memory(cube: Cube, *, time: int | None, packed: int | None, limit: int | None) -> None:
    """Refuse cubes whose counts, or whose thinnest block, need too much memory."""
    shape = [8 * n if axis == packed else n for axis, n in enumerate(cube.shape)]
    jots = math.prod(n for axis, n in enumerate(shape) if axis != time)
    check_size(3 * 8 * jots + math.prod(cube.shape[1:]) * (8 if packed is not None else 1), limit=limit)


def _stored(time: int | None, packed: int | None, first: int, last: int, length: int) -> tuple[int, int]:
    """Return which part of the first axis has to be read."""
    if time != 0:
        return 0, length
    return (first // 8, -(-last // 8)) if packed == 0 else (first, last)


def _blocks(cube: Cube, packed: int | None, part: tuple[int, int]) -> Iterator[tuple[int, NDArray[Any]]]:
    unpacked = 8 if packed is not None else 1
    each = int(np.prod(cube.shape[1:], dtype=np.int64)) * unpacked
    count = max(1, min(BLOCK_BYTES // max(each, 1), 248 // (8 if packed == 0 else 1)))
    for start in range(part[0], part[1], count):
        yield start, np.asarray(cube[start : min(start + count, part[1])])


def _between(jots: NDArray[Any], first: int, last: int, axis: int) -> NDArray[Any]:
    wanted = [slice(None)] * jots.ndim
    wanted[axis] = slice(first, last)
    return jots[tuple(wanted)]


def _ones_in_bytes(
    block: NDArray[np.uint8], axis: int, begin: int, first: int, last: int, bit_order: Literal["big", "little"]
) -> NDArray[np.uint8]:
    """Return how many of the bits from `first` to `last` along `axis`, which is packed, are set in each byte."""
    places = 8 * (begin + np.arange(block.shape[axis]))[:, None] + np.arange(8)
    wanted = ((places >= first) & (places < last)).astype(np.uint8)
    mask = np.packbits(wanted, axis=1, bitorder=bit_order)[:, 0]
    shape = [-1 if other == axis else 1 for other in range(block.ndim)]
    ones: NDArray[np.uint8] = _POPCOUNT[block & mask.reshape(shape)]
    return ones


def _unpacked(block: NDArray[Any], packed: int, bit_order: Literal["big", "little"]) -> NDArray[np.uint8]:
    if packed == block.ndim - 1:
        return np.unpackbits(block, axis=packed, bitorder=bit_order)
    # numpy.unpackbits takes ten times as long along any other axis
    shifts = np.arange(8, dtype=np.uint8)
    shape = (8, *[1] * (block.ndim - 1 - packed))
    order = (shifts[::-1] if bit_order == "big" else shifts).reshape(shape)
    separate: NDArray[np.uint8] = (np.expand_dims(block, packed + 1) >> order) & np.uint8(1)
    return separate.reshape(*block.shape[:packed], -1, *block.shape[packed + 1 :])


def _numbers(block: NDArray[Any]) -> tuple[NDArray[np.uint16], int]:
    """Return bits or counts, and the number that stands for 1: images of bits are often stored as 0 and 255."""
    numbers = _counts(block)
    highest = int(numbers.max(initial=0))
    if highest in WHITE and bool(((numbers == 0) | (numbers == highest)).all()):
        return (numbers > 0).astype(np.uint16), highest
    return numbers, 1


def _counts(block: NDArray[Any]) -> NDArray[np.uint16]:
    """Return bits or counts, or refuse what are neither."""
    low, high = block.min(initial=0), block.max(initial=0)
    if block.dtype.kind == "f" and not np.isfinite(block).all():
        raise ImageFileError("its values must be 0 or 1, or counts, but some are not finite")
    numbers: NDArray[np.uint16] = np.clip(block, 0, MAX_COUNT).astype(np.uint16)
    if low < 0 or high > MAX_COUNT or (block.dtype.kind == "f" and not np.array_equal(numbers, block)):
        raise ImageFileError(f"its values must be 0 or 1, or counts, but {low} to {high} were found")
    return numbers


def _check_counts(numbers: NDArray[np.uint16], time: int | None) -> None:
    """Refuse numbers that vary much more than counts of photons do: from frame to frame, or between neighbours."""
    values = numbers.astype(np.float64)
    if time is not None and values.shape[time] > 1:
        variance, mean = values.var(axis=time, ddof=1), values.mean(axis=time)
    else:
        frame = values if time is None else np.take(values, 0, axis=time)
        variance, mean = np.square(np.diff(frame, axis=1)) / 2, (frame[:, 1:] + frame[:, :-1]) / 2
    spread, level = float(np.mean(variance)), float(np.mean(mean))
    if spread > MAX_DISPERSION * max(level, 0.05):
        raise ImageFileError(
            f"its values must be 0 or 1, or counts of photons, but {numbers.min()} to {numbers.max()} were found, "
            f"which vary {spread / max(level, 1e-9):.0f} times as much as counts do; if eight jots share a byte, say "
            "along which axis with packed_axis"
        )


def _exposures(highest: int, max_count: int | None, frames: int) -> int:
    """Return how many binary exposures a frame stands for."""
    if max_count is not None:
        limit = check_integer(max_count, "max_count", minimum=1)
        if highest > limit:
            raise ImageFileError(f"max_count is {limit}, but counts up to {highest} were found")
        return limit
    if highest <= 1:
        return 1
    return int(np.clip(MAX_EXPOSURES // frames, MIN_EXPOSURES_PER_COUNT * highest, EXPOSURES_PER_COUNT * highest))


def _time_questions(cube: Cube, time: int | None) -> list[str]:
    """Tell whether the bits of a byte, which should be eight frames of one jot, see different light."""
    if time != 0 or cube.shape[0] < 8:
        return []
    block = np.asarray(cube[: min(cube.shape[0], 256)])
    rows = block[:, :: max(1, block.shape[1] // 64)]
    bits = np.unpackbits(rows[..., None], axis=-1).sum(axis=0, dtype=np.float64) / len(rows)
    share = bits.mean(axis=-1)
    expected = float(np.mean(share * (1 - share))) / len(rows)
    found = float(np.mean(bits.var(axis=-1, ddof=1)))
    chance = math.sqrt(2 / (7 * share.size))
    if found > (1 + max(0.1, 6 * chance)) * expected > 0:
        return ["the eight bits of a byte see different light: is it an axis of the frame that is packed?"]
    return []


def _frame_questions(
    cube: Cube,
    ones: NDArray[np.int64],
    time: int,
    packed: int | None,
    bit_order: Literal["big", "little"],
    trials: int | None,
) -> list[str]:
    """Tell whether another axis is that of the frames; `trials` is their number, unless they hold counts."""
    shape = [8 * n if axis == packed else n for axis, n in enumerate(cube.shape)]
    others = {axis: [n for place, n in enumerate(shape) if place != axis] for axis in range(3) if axis != time}
    likely = [axis for axis, sides in others.items() if _elongation(ones.shape) >= MUCH_LONGER * _elongation(sides)]
    if not likely or structure(ones, trials) > MAX_STRUCTURE:
        return []
    for axis in likely:
        every = max(1, cube.shape[0] // MAX_SLICES)
        slices = (np.asarray(cube[start : start + 1]) for start in range(0, cube.shape[0], every))
        blocks = (_numbers(block)[0] if packed is None else _unpacked(block, packed, bit_order) for block in slices)
        sums, count = summed(blocks, axis)
        if structure(sums, None if trials is None else count) > MIN_STRUCTURE:
            return [f"the frames seem to be along another axis: is it time_axis {axis}?"]
    return []


def _elongation(sides: Sequence[int]) -> float:
    return max(sides) / min(sides)
