r"""Whether a photon cube was unpacked correctly: the eight jots of a byte must match those of the next byte.

Neighbouring jots see nearly the same light. If bits are unpacked in the wrong order, or along the wrong axis,
neighbours within a byte may still be neighbours, but those on both sides of the border between two bytes are not. All
layouts of the same bytes are rearrangements of the same counts, so that the smoothest one can be found from the counts
alone.

If the bits of a byte are eight frames of one jot, they see the same light: their counts vary as chance has it and no
more, while those of neighbouring bytes differ. No scene is like that. Where light changes evenly, by a from jot to jot,
the counts of a byte have the variance :math:`5.25\, a^2` beside that of chance, and half the squared difference of the
means of two bytes is :math:`32\, a^2`, a sixth of it; where it changes less evenly, there is more within the bytes.
In little light chance hides that, but such a frame is also eight times too long, and so is everything in it: means of
8 x 8 jots then change much less along it than across. On crops of 64 to 256 pixels of nine photographs, in 160 and 1000
frames, that is noticed in 271 of 312 cases with 0.1 to 2 photons at white and in 63 of 104 with 0.02, with no false
alarm in 1248 frames that were unpacked rightly and one in 312 long strips. Of frames with 0.5 % hot jots, in 20 frames
or more, the wrong order of bits is noticed in 229 of 416 cases and the wrong axis in 245; the others are dim, or
texture that changes from jot to jot (``python benchmarks/photon_layouts.py``).

Square frames become 64 times as long as wide by the wrong axis. If a frame is so long, less is enough: it changes much
less along it than across, and bytes would go no worse with their neighbours across. In 624 frames at least 17 times as
long as wide, unpacked rightly, there is no false alarm.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["questions"]

# Another layout must be smoother by so many standard errors, and so much.
MIN_SIGNIFICANCE = 4.0
MIN_GAIN = 0.02
# What is brighter than this quantile counts as that bright.
BRIGHT = 0.98
# If so many standard errors more than what light varies by within bytes were less than this share of what it varies by
# between them, bytes are not rows of neighbours.
MIN_WITHIN, WITHIN_ERRORS = 0.08, 4.0
# A frame so many times as long as wide is unusual, and a scene that changes so much more across it than along it, by so
# many standard errors.
LONG, STRETCHED, STRETCHED_ERRORS = 2.5, 2.0, 3.0
# Square frames become 64 times as long as wide if they are unpacked along the wrong axis.
VERY_LONG = 16


def questions(ones: NDArray[np.int64], frames: int, packed: int, bit_order: Literal["big", "little"]) -> list[str]:
    """Return warnings about the layout of a cube whose jots share bytes along an axis of the frame.

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
    # A few hot jots differ from their neighbours in any layout, and by more than all light does.
    capped = np.minimum(bytes_first, max(1, int(np.quantile(bytes_first, BRIGHT))))
    as_is = _seams(capped)
    other = "little" if bit_order == "big" else "big"
    turned = _seams(_turned(capped))
    if _is_smoother(turned, as_is):
        return [f"the bits of each byte seem to be in the other order: is it bit_order {other}?"]
    # The same bytes, with their bits along the other axis of the frame.
    crossed = capped.reshape(rows, columns // 8, 8).transpose(0, 2, 1).reshape(rows * 8, columns // 8).T
    best_crossed = min((_seams(crossed), _seams(_turned(crossed))), key=lambda seams: float(np.mean(seams)))
    # Or not along an axis of the frame at all: then the eight jots of a byte are one jot in eight frames.
    if (
        _is_smoother(best_crossed, as_is)
        or (frames > 1 and _share_light(bytes_first, frames))
        or _is_a_square_in_disguise(capped, frames, as_is, best_crossed)
    ):
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
    if one.shape == other.shape:  # of the same bytes: what the scene is like there does not matter
        error = float(np.std(other - one)) / math.sqrt(one.size)
    else:
        error = math.hypot(*(float(np.std(each)) / math.sqrt(each.size) for each in (one, other)))
    return gain > MIN_SIGNIFICANCE * error and gain > MIN_GAIN * float(np.mean(other))


def _share_light(counts: NDArray[np.int64], frames: int) -> bool:
    """Tell whether the eight jots of a byte see the same light, though neighbouring bytes do not."""
    rows, columns = counts.shape
    shares = counts.reshape(rows, columns // 8, 8) / frames
    means = shares.mean(axis=-1)
    chance = float(np.mean(means * (1 - means))) / (frames - 1 / 8)
    within = float(np.mean(shares.var(axis=-1, ddof=1))) - chance
    between = float(np.mean(np.square(np.diff(means, axis=1)))) / 2 - chance / 8
    error = chance * math.sqrt(2 / (7 * means.size))
    if within < -WITHIN_ERRORS * error:  # less than chance: these are no counts of single photons, and tell nothing
        return False
    if within + WITHIN_ERRORS * error < MIN_WITHIN * between:
        return True
    return columns > LONG * rows and within < WITHIN_ERRORS * error and _is_stretched(means, chance / 8)


def _is_a_square_in_disguise(
    counts: NDArray[np.int64], frames: int, as_is: NDArray[np.float64], crossed: NDArray[np.float64]
) -> bool:
    """Tell whether a very long frame is stretched, and no smoother than with its bytes along the other axis."""
    rows, columns = counts.shape
    if columns <= VERY_LONG * rows or float(np.mean(crossed)) >= float(np.mean(as_is)):
        return False
    means = counts.reshape(rows, columns // 8, 8).mean(axis=-1) / frames
    return _is_stretched(means, float(np.mean(means * (1 - means))) / max(frames - 1 / 8, 1) / 8)


def _is_stretched(means: NDArray[np.float64], chance: float) -> bool:
    """Tell whether the means of bytes, in rows, change much less along rows than across; `chance` is their variance."""
    rows = len(means) // 8
    if rows < 2:
        return False
    blocks = means[: 8 * rows].reshape(rows, 8, -1).mean(axis=1)
    along, across = (float(np.mean(np.square(np.diff(blocks, axis=axis)))) / 2 - chance / 8 for axis in (1, 0))
    error = STRETCHED_ERRORS * chance / 8 * math.sqrt(2 / blocks.size)
    return across - error > STRETCHED * (max(along, 0.0) + error)
