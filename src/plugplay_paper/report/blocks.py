"""What a report consists of, whatever it is about: sections of tables and plots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Block", "Column", "Comparison", "Entry", "Plot", "Row", "Section", "Series", "Table", "comparisons"]


@dataclass(frozen=True)
class Column:
    """A column's heading, the number of decimals, and whether it sums up the others or adds to them."""

    name: str
    digits: int = 2
    summary: bool = False


@dataclass(frozen=True)
class Entry:
    """A number of a table.

    Attributes
    ----------
    value : float or None
        What was measured; None if it was not.
    spread : float or None
        Standard deviation over realisations.
    paper : float or None
        What the paper printed.
    note : str
        What has to be said about it.
    """

    value: float | None
    spread: float | None = None
    paper: float | None = None
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Measured less printed."""
        return None if self.value is None or self.paper is None else self.value - self.paper


@dataclass(frozen=True)
class Row:
    """A method's row."""

    label: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """Methods by columns, in dB where nothing else is said; a results table is one that the paper has too."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    results: bool = False


@dataclass(frozen=True)
class Series:
    """A line of a plot, for those who want the numbers."""

    label: str
    x_name: str
    y_name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Plot:
    """A figure; None if its cells have not been run."""

    name: str
    caption: str
    figure: Figure | None
    series: tuple[Series, ...] = ()


Block = Table | Plot


@dataclass(frozen=True, eq=False)
class Section:
    """An experiment's part of the report.

    Attributes
    ----------
    name, title : str
        For machines and for people.
    conventions : str
        How the numbers were measured: data, borders, clipping, parameters.
    blocks : tuple of Table and Plot
        The content.
    planned, done : int
        Cells.
    """

    name: str
    title: str
    conventions: str
    blocks: tuple[Block, ...]
    planned: int
    done: int


@dataclass(frozen=True)
class Comparison:
    """A method's row against the paper's.

    Attributes
    ----------
    table, method : str
        Where it stands.
    average : float
        Mean difference over the images that both have.
    worst : float
        The lowest difference.
    worst_image : str
        Where that is.
    images : int
        How many images both have.
    """

    table: str
    method: str
    average: float
    worst: float
    worst_image: str
    images: int


def comparisons(table: Table) -> Iterator[Comparison]:
    """Yield the rows of a table that can be compared with the paper's.

    Examples
    --------
    >>> row = Row("ours", (Entry(30.5, paper=30.0), Entry(29.9, paper=30.0), Entry(30.2, paper=30.0)))
    >>> columns = (Column("a"), Column("b"), Column("average", summary=True))
    >>> [row] = comparisons(Table("t", "", columns, (row,)))
    >>> [(round(row.average, 2), round(row.worst, 2), row.worst_image)]
    [(0.2, -0.1, 'b')]
    """
    for row in table.rows:
        differences = {
            column.name: entry.difference
            for column, entry in zip(table.columns, row.entries, strict=True)
            if not column.summary and entry.difference is not None
        }
        if differences:
            worst = min(differences, key=lambda name: differences[name])
            average = sum(differences.values()) / len(differences)
            yield Comparison(table.caption, row.label, average, differences[worst], worst, len(differences))
