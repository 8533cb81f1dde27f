"""Which frequencies of a large image become one when every K-th pixel is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Aliases"]


@dataclass(frozen=True, eq=False)
class Aliases:
    """Rows of the spectra of a large and a small image, numbered along all axes but the last one.

    Attributes
    ----------
    rows : array, ``(rows of the small spectrum, aliases)``
        The rows of the large spectrum that each row of the small one is the sum of.
    pairs : array, ``(pairs, 2)``
        All rows of the small spectrum, each beside the one that has the negative frequencies, which may be itself.

    Examples
    --------
    >>> aliases = Aliases.build((8, 6), 2)
    >>> aliases.rows.tolist()
    [[0, 4], [1, 5], [2, 6], [3, 7]]
    >>> aliases.pairs.tolist()
    [[0, 0], [1, 3], [2, 2]]
    """

    rows: NDArray[np.int64]
    pairs: NDArray[np.int64]

    @classmethod
    def build(cls, shape: tuple[int, ...], factor: int) -> Aliases:
        """Find the rows for a large image of this shape, sampled at every `factor`-th pixel."""
        large = shape[:-1]
        small = tuple(n // factor for n in large)
        split = np.arange(np.prod(large), dtype=np.int64).reshape([n for length in small for n in (factor, length)])
        order = [*range(1, split.ndim, 2), *range(0, split.ndim, 2)]
        numbers = np.arange(np.prod(small), dtype=np.int64).reshape(small)
        axes = tuple(range(numbers.ndim))
        opposite = np.roll(np.flip(numbers, axes), 1, axes)  # the frequency zero stays where it is
        rows = np.ascontiguousarray(split.transpose(order).reshape(numbers.size, -1))
        pairs = np.stack([numbers.ravel(), opposite.ravel()], axis=1)
        return cls(rows, np.ascontiguousarray(pairs[pairs[:, 0] <= pairs[:, 1]]))
