"""Whether a photon cube was unpacked the right way: eight jots that share a byte must fit to those of the next.

Jots side by side see nearly the same light. If bits are taken in the wrong order, or along the wrong axis, neighbours
within a byte may still be neighbours, but where one byte ends and the next begins strangers meet. All ways to lay out
the same bytes are rearrangements of the same counts, so that the smoothest of them can be found from the counts alone.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["questions"]

# Another layout must be smoother by so many standard errors, and so much. The same goes for differences within bytes,
# beside those between them: if they are smaller, bytes are not rows of neighbours at all.
MIN_SIGNIFICANCE = 6.0
MIN_GAIN = 0.05


def questions(ones: NDArray[np.int64], frames: int, packed: int, bit_order: Literal["big", "little"]) -> list[str]:
    """Return what is questionable about the layout of a cube whose jots share bytes along an axis of the frame.

    Parameters
    ----------
    ones : array ``(H, W)``
        How often each jot fired, as it was unpacked.
    frames : int
        In so many frames.
    packed : {0, 1}
        The axis of the frame along which it was unpacked.
    bit_order : {"big", "little"}
        The order in which.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.tile(np.arange(64), (64, 1))
    >>> questions(ramp, 100, 1, "big")
    []
    >>> turned = ramp.reshape(64, 8, 8)[..., ::-1].reshape(64, 64)
    >>> questions(turned, 100, 1, "big")
    ['the bits of each byte seem to be in the other order: is it bit_order little?']
    """
    bytes_first = ones if packed == 1 else ones.T
    rows, columns = bytes_first.shape
    if columns % 8 or columns < 24 or rows < 8:
        return []
    used = np.flatnonzero(bytes_first.reshape(rows, -1, 8).any(axis=(0, 1)))
    if used.size == 1 and used[0] == (7 if bit_order == "big" else 0):
        return ["all bytes are 0 or 1: the jots do not seem to be packed, so leave packed_axis out"]
    as_is = _seams(bytes_first)
    other = "little" if bit_order == "big" else "big"
    turned = _seams(_turned(bytes_first))
    if _is_smoother(turned, as_is):
        return [f"the bits of each byte seem to be in the other order: is it bit_order {other}?"]
    # The same bytes, with their bits along the other axis of the frame.
    crossed = bytes_first.reshape(rows, columns // 8, 8).transpose(0, 2, 1).reshape(rows * 8, columns // 8).T
    best_crossed = min((_seams(crossed), _seams(_turned(crossed))), key=lambda seams: float(np.mean(seams)))
    # Or not along an axis of the frame at all: then the eight jots of a byte are one jot in eight frames.
    if _is_smoother(best_crossed, as_is) or (frames > 1 and _has_steps(bytes_first, as_is)):
        return ["the jots seem to be packed along another axis: is it another packed_axis?"]
    return []


def _turned(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    rows, columns = counts.shape
    return counts.reshape(rows, columns // 8, 8)[..., ::-1].reshape(rows, columns)


def _seams(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the differences between jots where a byte ends."""
    return np.asarray(np.abs(np.diff(counts.astype(np.float64), axis=1)[:, 7::8]))


def _is_smoother(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether seams are clearly smaller than those of another layout."""
    gain = float(np.mean(other) - np.mean(one))
    error = math.hypot(*(float(np.std(each)) / math.sqrt(each.size) for each in (one, other)))
    return gain > MIN_SIGNIFICANCE * error and gain > MIN_GAIN * float(np.mean(other))


def _has_steps(counts: NDArray[np.int64], seams: NDArray[np.float64]) -> bool:
    """Tell whether jots within bytes differ much less than those of neighbouring bytes."""
    inside = np.abs(np.delete(np.diff(counts.astype(np.float64), axis=1), np.s_[7::8], axis=1))
    return _is_smoother(inside, seams)
