"""What an experiment is, and how much of it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from plugplay_paper.images import Picture

if TYPE_CHECKING:
    from plugplay_paper.cells.base import Cell
    from plugplay_paper.report.blocks import Section
    from plugplay_paper.results import Results

__all__ = ["Experiment", "Scope"]

Amount = TypeVar("Amount")

# A quick run looks at this many pictures, the smallest.
QUICK_PICTURES = 2


@dataclass(frozen=True, eq=False)
class Scope:
    """How much to do.

    Attributes
    ----------
    pictures : tuple of Picture
        The gray test pictures.
    colour : Picture
        The picture of the colour figures.
    quick : bool
        Whether a reduced set will do.
    most_realisations : int or None
        Limit of the number of realisations of the noise; None means as many as the paper averaged.
    """

    pictures: tuple[Picture, ...]
    colour: Picture
    quick: bool = False
    most_realisations: int | None = None

    def amount(self, full: Amount, quick: Amount) -> Amount:
        """Return one or the other."""
        return quick if self.quick else full

    def realisations(self, paper: int) -> int:
        """Return how many realisations of the noise to average."""
        wanted = self.amount(paper, 1)
        return wanted if self.most_realisations is None else min(wanted, self.most_realisations)

    @property
    def chosen(self) -> tuple[Picture, ...]:
        """The pictures of the tables: all, or the smallest ones."""
        if not self.quick:
            return self.pictures
        smallest = sorted(self.pictures, key=lambda picture: picture.pixels.size)[:QUICK_PICTURES]
        return tuple(picture for picture in self.pictures if picture in smallest)

    @property
    def example(self) -> Picture:
        """The picture of experiments that look at a single one: the first of the smallest."""
        return min(self.pictures, key=lambda picture: picture.pixels.size)


class Experiment(Protocol):
    """Plans cells, and makes a section of the report from what they measured."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        ...

    @property
    def title(self) -> str:
        """The heading."""
        ...

    def cells(self, scope: Scope) -> Sequence[Cell[Any]]:
        """Return everything that has to be computed."""
        ...

    def section(self, scope: Scope, results: Results) -> Section:
        """Return the section, with gaps where cells have not been computed."""
        ...
