"""Hot and dead jots (binary pixels of a sensor), found from how often each of them fired.

Because a lens blurs, a jot that fires much more often than all its neighbours does not see the scene. It is hot if it
fired more often than even the second most active of its neighbours (the first may be hot, too) by more than chance and
a margin allow; dead jots are found in the same way. Chance is given by the binomial law, so that no jot is marked on
the evidence of a few frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from plugplay.arrays.checks import frozen
from plugplay.arrays.records import Fingerprinted

__all__ = ["Defects", "find_defects"]

# The neighbours are those in a square of so many jots along each side.
SIDE = 5
# The largest probability by chance.
CHANCE = 1e-7
# By how much the rate of a hot jot is above that of its neighbours at least, and that of a dead one below it: detail
# differs, too.
HOT, DEAD = 1.3, 0.4
ROUNDS = 3
# With more defects than this share, they are not the exception.
MAX_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Defects(Fingerprinted):
    """Hot and dead jots.

    Attributes
    ----------
    hot, dead : arrays of bool
        In the shape of a frame.
    """

    hot: NDArray[np.bool_]
    dead: NDArray[np.bool_]

    @property
    def works(self) -> NDArray[np.bool_]:
        """True where a jot is neither."""
        return ~(self.hot | self.dead)

    def __str__(self) -> str:
        count = self.hot.size
        kinds = [(np.count_nonzero(self.hot), "hot"), (np.count_nonzero(self.dead), "dead")]
        told = " and ".join(f"{number} {kind}" for number, kind in kinds if number)
        return f"{told or 'no'} jots of {count}"


def find_defects(ones: NDArray[np.int64], frames: int, works: NDArray[np.bool_] | None = None) -> Defects:
    """Find hot and dead jots.

    Parameters
    ----------
    ones : array ``(H, W)``
        How often each jot fired.
    frames : int
        Number of frames.
    works : array of bool, optional
        False where a jot is known to be defective; it is then no neighbour, and not reported.

    Examples
    --------
    >>> import numpy as np
    >>> ones = np.random.default_rng(0).binomial(400, 0.2, (16, 16))
    >>> ones[3, 4], ones[9, 9] = 380, 0
    >>> found = find_defects(ones, 400)
    >>> np.argwhere(found.hot).tolist(), np.argwhere(found.dead).tolist()
    ([[3, 4]], [[9, 9]])
    """
    from scipy.stats import binom  # slow to import, and few runs need it

    good = np.ones(ones.shape, np.bool_) if works is None else works.copy()
    hot, dead = np.zeros(ones.shape, np.bool_), np.zeros(ones.shape, np.bool_)
    around = np.ones((SIDE, SIDE), np.bool_)
    around[SIDE // 2, SIDE // 2] = False
    for _ in range(ROUNDS):
        # What is no neighbour must not be the most or least active one.
        high = ndimage.rank_filter(np.where(good, ones, -1), -2, footprint=around, mode="mirror")
        low = ndimage.rank_filter(np.where(good, ones, frames + 1), 1, footprint=around, mode="mirror")
        above = good & (high >= 0) & (_rate(ones, frames) > HOT * _rate(high, frames))
        below = good & (low <= frames) & (_rate(ones, frames) < DEAD * _rate(low, frames))
        above[above] = binom.sf(ones[above] - 1, frames, _share(high[above], frames)) < CHANCE
        below[below] = binom.cdf(ones[below], frames, _share(low[below], frames)) < CHANCE
        if not (above | below).any():
            break
        hot, dead, good = hot | above, dead | below, good & ~above & ~below
    if np.count_nonzero(hot | dead) > MAX_SHARE * ones.size:
        hot, dead = np.zeros_like(hot), np.zeros_like(dead)
    return Defects(frozen(hot), frozen(dead))


def _share(ones: NDArray[np.int64], frames: int) -> NDArray[np.float64]:
    """Return the chance of firing, never quite 0 or 1."""
    return np.asarray((np.clip(ones, 0, frames) + 0.5) / (frames + 1))


def _rate(ones: NDArray[np.int64], frames: int) -> NDArray[np.float64]:
    """Return the photons a frame that make a jot fire so often."""
    return np.asarray(-np.log1p(-_share(ones, frames)))
