"""Groups in half of the room, for as long as a session remembers them.

Of a large image, the groups that a restoration remembers from call to call take as much memory as the image itself. No
displacement is longer than the window reaches, so that 16 bits hold both its parts.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugplay.compiling import kernel
from plugplay.denoisers.bm3d.canvas import pitch_for
from plugplay.denoisers.bm3d.matching import Matches

__all__ = ["PackedGroups"]

_BITS = 6  # of a displacement along a row, with its sign


@dataclass(frozen=True, eq=False)
class _Packed:
    codes: NDArray[np.int16]
    counts: NDArray[np.uint8]


class PackedGroups(MutableMapping[tuple[int, int], Matches]):
    """The groups of an image of some width, by stage and strip.

    Examples
    --------
    >>> groups = PackedGroups(100)
    >>> groups[0, 3] = Matches(np.array([0, 5, -7, 2 * pitch_for(100) - 1], np.int32), np.array([4], np.int32))
    >>> groups[0, 3].offsets - np.array([0, 5, -7, 2 * pitch_for(100) - 1])
    array([0, 0, 0, 0])
    """

    def __init__(self, width: int) -> None:
        self._pitch = pitch_for(width)
        self._packed: dict[tuple[int, int], _Packed] = {}

    def __getitem__(self, key: tuple[int, int]) -> Matches:
        packed = self._packed[key]
        offsets = np.empty(packed.codes.size, np.int32)
        _unpack(packed.codes, self._pitch, offsets)
        return Matches(offsets, packed.counts.astype(np.int32))

    def __setitem__(self, key: tuple[int, int], matches: Matches) -> None:
        codes = np.empty(matches.offsets.size, np.int16)
        _pack(matches.offsets, self._pitch, codes)
        self._packed[key] = _Packed(codes, matches.counts.astype(np.uint8))

    def __delitem__(self, key: tuple[int, int]) -> None:
        del self._packed[key]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


@kernel
def _pack(offsets: NDArray[np.int32], pitch: int, codes: NDArray[np.int16]) -> None:
    for i in range(offsets.size):
        # The row is what the offset is nearest to: rows are much longer than the window.
        dy = (offsets[i] + pitch // 2) // pitch
        codes[i] = offsets[i] + dy * ((1 << _BITS) - pitch)


@kernel
def _unpack(codes: NDArray[np.int16], pitch: int, offsets: NDArray[np.int32]) -> None:
    step = np.int32(pitch - (1 << _BITS))
    for i in range(codes.size):
        code = np.int32(codes[i])
        offsets[i] = code + ((code + np.int32(1 << (_BITS - 1))) >> np.int32(_BITS)) * step
