"""About how long the calls of a session take, relative to each other: what the time that is left follows from.

Medians of the processor's seconds for whole iterations with one thread, in restorations of 18 images of 156 x 156
pixels (`benchmarks/photographs.py`). When groups are searched for is known beforehand, by the rules of
`plugplay.denoisers.bm3d.memory`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Call", "effort", "grid_of"]

Grid: TypeAlias = Literal[
    "usual", "sparse", "between", "decimated", "decimated sparse", "exact", "exact sparse", "mild"
]


@dataclass(frozen=True)
class Call:
    """What a call does.

    Attributes
    ----------
    grid : str
        How far apart reference blocks are.
    searches : bool
        Whether groups are searched for, not remembered.
    third, local : bool
        Whether there is a third stage, and a fourth.
    """

    grid: Grid
    searches: bool
    third: bool = False
    local: bool = False


# Calls with two stages and remembered groups, in gray images and in colour. The model's step of a deblurring takes
# longer while sigma is large, which is counted here, for images of one and three megapixels.
GRIDS: dict[Grid, tuple[float, float]] = {
    "usual": (1.0, 1.0),
    "sparse": (1.2, 1.1),
    "between": (1.3, 1.05),
    "decimated": (1.15, 1.05),
    "decimated sparse": (1.3, 1.3),
    "exact": (0.62, 0.52),
    "exact sparse": (0.6, 0.5),
    "mild": (0.8, 0.7),
}
# What a search and further stages add, as a share of that.
USUAL_SEARCH, THIRD, LOCAL = (1.05, 0.42), (1.1, 0.5), (0.15, 0.1)
SEARCH: dict[Grid, tuple[float, float]] = {
    "sparse": (0.4, 0.2),
    "exact": (1.75, 0.9),
    "exact sparse": (0.8, 0.5),
    "mild": (0.4, 0.2),
}


def grid_of(*, decimated: bool, exact: bool, mild: bool, sparse: bool, between: bool) -> Grid:
    """Return the name of a grid, by what `BM3D` knows about a call."""
    if mild:
        return "mild"
    if exact:
        return "exact sparse" if sparse else "exact"
    if decimated:
        return "decimated sparse" if sparse else "decimated"
    return "sparse" if sparse else "between" if between else "usual"


def effort(call: Call, *, colour: bool) -> float:
    """Return about how long a call takes, relative to one with two stages and remembered groups.

    Examples
    --------
    >>> effort(Call("usual", searches=False), colour=False), effort(Call("usual", searches=True), colour=False)
    (1.0, 2.05)
    """
    which = int(colour)
    search = SEARCH.get(call.grid, USUAL_SEARCH)
    more = search[which] * call.searches + THIRD[which] * call.third + LOCAL[which] * call.local
    return GRIDS[call.grid][which] * (1 + more)
