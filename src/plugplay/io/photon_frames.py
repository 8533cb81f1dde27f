r"""Whether the frames of a photon cube are along the axis that is taken for theirs.

The counts of all frames are an image, and counts over time are none: rows of an image are not alike, while each frame
of a scene that stays the same, or flickers, is the same scene in another light. Their difference is *structure*: with
the expectation :math:`e = \text{row} \cdot \text{column} / \text{total}` of counts m of n trials, it is by how many
standard errors the sum of :math:`(m - e)^2 / (e (1 - e / n))` exceeds its degrees of freedom.

If what should be a long frame has no structure, but the sums along one of its axes have, and are nearer to a square,
that axis is the time. If no frame would be much nearer to a square, nothing is said: in little light a scene that moves
through the whole frame looks like that as well. No cube of 648 that is read along the right axis is doubted, whether
its scene stays the same, flickers or moves (``python benchmarks/photon_layouts.py``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["structure", "summed"]

# Smooth light shows in the sums of neighbours, about so many along each axis.
MAX_GROUPS = 12
# Of more counts than this only these sums are looked at, which take no memory.
MAX_FINE = 2**22


def structure(sums: NDArray[np.int64], trials: int | None) -> float:
    """Return by how many standard errors counts are more than the product of a row and a column.

    Parameters
    ----------
    sums : array ``(H, W)``
        The counts.
    trials : int, optional
        Of so many each; None if they are counts of photons.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> light = np.outer(np.linspace(0.1, 0.3, 40), np.linspace(1, 2, 30))
    >>> structure(rng.binomial(50, light), 50) < 3
    True
    >>> light[10:20, 5:15] *= 0.25
    >>> structure(rng.binomial(50, light), 50) > 8
    True
    """
    tall, wide = (max(1, n // MAX_GROUPS) for n in sums.shape)
    rows, columns = sums.shape[0] // tall, sums.shape[1] // wide
    whole = sums[: rows * tall, : columns * wide]
    coarse = whole.reshape(rows, tall, columns, wide).sum(axis=(1, 3))
    found = _excess(coarse, None if trials is None else trials * tall * wide)
    return found if sums.size > MAX_FINE else max(found, _excess(sums, trials))


def _excess(sums: NDArray[np.int64], trials: int | None) -> float:
    rows, columns = sums.sum(axis=1, dtype=np.float64), sums.sum(axis=0, dtype=np.float64)
    sums = sums[rows > 0][:, columns > 0]
    rows, columns = rows[rows > 0], columns[columns > 0]
    if min(rows.size, columns.size) < 2:
        return 0.0
    freedom = (rows.size - 1) * (columns.size - 1)
    expected = np.outer(rows, columns) / rows.sum()
    variance = expected if trials is None else expected * np.maximum(1 - expected / trials, 1 / trials)
    excess = float(np.sum(np.square(sums - expected) / variance)) - freedom
    return float(excess / math.sqrt(float(np.sum(2 + 1 / variance))))


def summed(blocks: Iterable[NDArray[np.integer]], axis: int) -> tuple[NDArray[np.int64], int]:
    """Return sums along an axis of blocks, which follow each other along the first, and of how many numbers each is.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.ones((2, 1, 3, 4), int)
    >>> [(sums.shape, count) for sums, count in (summed(blocks, axis) for axis in range(3))]
    [((3, 4), 2), ((2, 4), 3), ((2, 3), 4)]
    """
    if axis == 0:
        total, count = np.zeros((), np.int64), 0
        for block in blocks:
            total, count = total + block.sum(axis=0, dtype=np.int64), count + block.shape[0]
        return total, count
    parts = [(block.sum(axis=axis, dtype=np.int64), block.shape[axis]) for block in blocks]
    return np.concatenate([part for part, _ in parts]), parts[0][1]
