"""What an experiment is, and how much of it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from plugplay_paper.images import TestImage

if TYPE_CHECKING:
    from plugplay_paper.cells.base import Cell
    from plugplay_paper.report.blocks import Section
    from plugplay_paper.results import Results

__all__ = ["Experiment", "Scope"]

Amount = TypeVar("Amount")

# A quick run looks at this many images, the smallest.
QUICK_IMAGES = 2


@dataclass(frozen=True, eq=False)
class Scope:
    """How much to do.

    Attributes
    ----------
    images : tuple of TestImage
        The gray test images.
    colour : TestImage
        The image of the colour figures.
    quick : bool
        Whether a reduced set will do.
    max_realisations : int or None
        Limit of the number of realisations of the noise; None means as many as the paper averaged.
    """

    images: tuple[TestImage, ...]
    colour: TestImage
    quick: bool = False
    max_realisations: int | None = None

    def amount(self, full: Amount, quick: Amount) -> Amount:
        """Return one or the other."""
        return quick if self.quick else full

    def realisations(self, paper: int) -> int:
        """Return how many realisations of the noise to average."""
        wanted = self.amount(paper, 1)
        return wanted if self.max_realisations is None else min(wanted, self.max_realisations)

    @property
    def chosen(self) -> tuple[TestImage, ...]:
        """The images of the tables: all, or the smallest ones."""
        if not self.quick:
            return self.images
        smallest = sorted(self.images, key=lambda image: image.pixels.size)[:QUICK_IMAGES]
        return tuple(image for image in self.images if image in smallest)

    @property
    def example(self) -> TestImage:
        """The image of experiments that look at a single one: the first of the smallest."""
        return min(self.images, key=lambda image: image.pixels.size)


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
