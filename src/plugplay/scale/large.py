"""An image larger than memory: its tiles are restored, its cores put together, and all of it can be resumed.

Everything that is not finished lies in one hidden folder beside the target, whose name holds a digest of the input, the
parameters and the code::

    .plugplay-parts-<target>-<recipe>/
        parts/000000-000003-000001.npy    a restored tile with its bands, until all cores that need it are written
        output.zarr                       the result; a shard is written by one task
        journal.jsonl                     a line for each tile and each core that is complete

The result gets its name in one step, when it is complete. The same command goes on from there after a kill of anything,
and never takes up parts of another input, of other parameters or of other code.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.transfer import linearise
from plugplay.io.atomic import atomic
from plugplay.io.errors import ImageFileError, printable
from plugplay.io.record import stored_as
from plugplay.plan import prepare
from plugplay.scale.choices import choose_globally
from plugplay.scale.executors import WAIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from plugplay.scale.choices import Choices, ModelFor
    from plugplay.scale.executors import Executor
    from plugplay.scale.stores import Store
    from plugplay.scale.tiles import Grid, Tile

__all__ = ["Large", "PartError", "TileReport", "restore_parts", "work_folder"]


# A mask is observed where it is as white as its brightest pixel, less this margin for what compression does to white.
WHITE = 0.9


class PartError(RuntimeError):
    """A part of an image could not be restored; the rest is kept."""


@dataclass(frozen=True)
class TileReport:
    """What became of a tile.

    Attributes
    ----------
    name : str
        Page, row and column.
    status : str
        Name of the `Status`.
    iterations : int
        How many there were.
    warnings : tuple of str
        What was noticed.
    seconds : float
        How long it took.
    """

    name: str
    status: str
    iterations: int
    warnings: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class Large:
    """All that a worker needs to know; calling it does a step.

    Attributes
    ----------
    source, output : Store
        What is read and what is written.
    grid : Grid
        How it is cut.
    choices : Choices
        What all tiles share.
    model_for : callable
        Gives the model of a part.
    work : Path
        The hidden folder.
    data_range : (float, float)
        Black and white of integers.
    mask : Store, optional
        White where a pixel was observed.
    white : float
        What is white in the mask.
    always_masked : bool
        Whether the model asks for a mask even where everything was observed.
    bytes_per_tile : int
        The memory that a tile takes.
    own : dict, optional
        What `plugplay.prepare` is told if each page has parameters of its own.
    undone : str
        The transfer curve that is undone before values are stored: floats are in proportion to light.
    """

    source: Store
    output: Store
    grid: Grid
    choices: Choices
    model_for: ModelFor
    work: Path
    data_range: tuple[float, float]
    mask: Store | None = None
    white: float = 1.0
    always_masked: bool = False
    bytes_per_tile: int = 0
    own: dict[str, Any] | None = None
    undone: str = "linear"

    def __call__(self, step: tuple[str, Tile], threads: int) -> TileReport | str:
        """Restore a tile, or put a core together."""
        kind, tile = step
        return self._restored(tile, threads) if kind == "tile" else self._written(tile)

    def part(self, tile: Tile) -> Path:
        """Return where a restored tile is kept."""
        return self.work / "parts" / f"{tile.name}.npy"

    def read(self, page: int, region: tuple[slice, slice]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return pixels, and which of them were observed."""
        return observed_part(self.source, self.mask, page, region, white=self.white, always=self.always_masked)

    def needs(self, _: object) -> int:
        """Return the memory that a step takes."""
        return self.bytes_per_tile

    def _restored(self, tile: Tile, threads: int) -> TileReport:
        began = time.perf_counter()
        pixels, observed = self.read(tile.page, tile.outer)
        if self.own is not None and self.grid.counts == (1, 1):  # the page by itself
            result = prepare(pixels, self.model_for(observed), workers=threads, **self.own).run()
        else:
            choices = self.choices if self.own is None else self._choices_of(tile.page)
            result = choices.finished(choices.plan(pixels, self.model_for, observed, workers=threads).run())
        part = self.part(tile)
        with atomic(part) as temporary, temporary.open("wb") as stream:
            np.save(stream, tile.kept(result.image, self.grid.factor))
        report = TileReport(
            tile.name, result.status.name, len(result.history), result.warnings, time.perf_counter() - began
        )
        note(self.work, {"tile": asdict(report)})
        return report

    def _choices_of(self, page: int) -> Choices:
        """Return what the tiles of one page share."""
        assert self.own is not None  # else all pages share theirs
        return choose_globally(
            lambda _, region: self.read(page, region), self.grid.shape, self.model_for, self.own, workers=1
        )

    def _written(self, tile: Tile) -> str:
        parts = {other.name: np.load(self.part(other), mmap_mode="r") for other in self.grid.around(tile)}
        core = self.grid.assembled(tile, parts)
        factor, dtype = self.grid.factor, np.dtype(self.output.layout.dtype)
        rows, columns = (slice(place.start * factor, place.stop * factor) for place in tile.core)
        pixels = stored_as(core if self.undone == "linear" else linearise(core, self.undone), self.data_range, dtype)
        self.output.write(tile.page, (rows, columns), pixels)
        note(self.work, {"core": tile.name, "content": hashlib.sha256(pixels.tobytes()).hexdigest()})
        return tile.name


def observed_part(
    source: Store,
    mask: Store | None,
    page: int,
    region: tuple[slice, slice],
    *,
    white: float = 1.0,
    always: bool = False,
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the pixels of a part and which of them were observed; None if all were, unless it shall be said."""
    pixels = source.read(page, region)
    finite = np.isfinite(pixels) if pixels.dtype.kind == "f" else None
    observed = None
    if mask is not None:
        drawn = mask.read(page % mask.layout.pages, region)
        observed = (drawn if drawn.ndim == 2 else drawn[..., 0]) >= WHITE * white
    if finite is not None and not finite.all():
        every = finite if finite.ndim == 2 else finite.all(axis=-1)
        observed = every if observed is None else observed & every
    if observed is None and always:
        observed = np.ones(pixels.shape[:2], bool)
    return pixels, observed


def restore_parts(
    large: Large, executor: Executor, *, progress: Callable[[int, int], object] | None = None
) -> list[TileReport]:
    """Restore what has not been restored yet; return the reports of all tiles.

    Parameters
    ----------
    large : Large
        What is to be done; its work folder and output exist.
    executor : Executor
        Who does it.
    progress : callable, optional
        Called with the number of cores that are written, and of all.

    Raises
    ------
    PartError
        If tiles failed; everything else has been done.
    """
    state = _State(large)
    failures = []
    for ended in executor.map(large, state.steps(), needs=large.needs, warm=large.choices.warm):
        kind, tile = ended.item
        if ended.error is not None:
            failures.append(f"{'tile' if kind == 'tile' else 'core'} {tile.name}: {ended.error}")
        state.ended(kind, tile, ended.value, failed=ended.error is not None)
        if progress is not None:
            progress(len(state.cores), len(large.grid))
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise PartError(f"{failures[0]}{more}; the rest is kept: rerun to resume")
    return sorted(state.reports.values(), key=lambda report: report.name)


@dataclass
class _State:
    """Which tiles and cores are done, and which can be begun."""

    large: Large
    reports: dict[str, TileReport] = field(default_factory=dict)
    cores: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    begun: set[tuple[str, str]] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.parts = {path.stem for path in (self.large.work / "parts").glob("[0-9]*.npy")}
        for line in journal(self.large.work):
            if "tile" in line:
                fields = {**line["tile"], "warnings": tuple(line["tile"]["warnings"])}
                self.reports[fields["name"]] = TileReport(**fields)
            elif "core" in line:
                self.cores.add(line["core"])

    def steps(self) -> Iterator[Any]:
        """Yield a step that can be done now, as long as there are any; WAIT if others have to end first."""
        grid = self.large.grid
        ready: list[tuple[str, Tile]] = []
        tiles = (tile for tile in grid.tiles() if self._is_needed(tile))
        waiting: list[Tile] = [tile for tile in grid.tiles() if tile.name not in self.cores]
        following = next(tiles, None)
        while True:
            # Cores first, so that as few parts as possible wait for their neighbours.
            core = next((tile for tile in waiting[: 4 * grid.counts[1] + 8] if self._is_ready(tile)), None)
            if core is not None:
                waiting.remove(core)
                ready.append(("core", core))
            elif following is not None:
                ready.append(("tile", following))
                following = next(tiles, None)
            if ready:
                self.begun.add((ready[-1][0], ready[-1][1].name))
                yield ready.pop()
            elif self.begun:
                yield WAIT
            else:
                return

    def ended(self, kind: str, tile: Tile, value: Any, *, failed: bool) -> None:
        """Take note of a step that has ended."""
        self.begun.discard((kind, tile.name))
        if failed:
            self.failed.add(tile.name)
        elif kind == "tile":
            self.reports[tile.name] = value
            self.parts.add(tile.name)
        else:
            self.cores.add(tile.name)
            for other in self.large.grid.around(tile):
                if all(near.name in self.cores for near in self.large.grid.around(other)):
                    self.large.part(other).unlink(missing_ok=True)
                    self.parts.discard(other.name)

    def _is_needed(self, tile: Tile) -> bool:
        """Tell whether a tile has to be restored for a core that is not written."""
        wanted = any(near.name not in self.cores for near in self.large.grid.around(tile))
        return wanted and not (tile.name in self.reports and tile.name in self.parts)

    def _is_ready(self, tile: Tile) -> bool:
        return all(
            near.name in self.reports and near.name in self.parts and ("tile", near.name) not in self.begun
            for near in self.large.grid.around(tile)
        )


def work_folder(target: Path, recipe: str) -> Path:
    """Return the hidden folder for a target and a recipe, made; those of other recipes are removed.

    Raises
    ------
    ImageFileError
        If nothing can be written there.
    """
    name = hashlib.sha256(target.name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    work = target.parent / f".plugplay-parts-{name}-{recipe[:16]}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        (work / "parts").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImageFileError(f"{printable(target)}: cannot be written ({error.strerror or error})") from None
    for other in target.parent.glob(f".plugplay-parts-{name}-*"):
        if other != work:
            shutil.rmtree(other, ignore_errors=True)
    return work


def note(work: Path, line: dict[str, Any]) -> None:
    """Append a line to the journal, in one write, after everything that it speaks of."""
    handle = os.open(work / "journal.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        # The line break in front ends a line that a killed process has cut short.
        os.write(handle, f"\n{json.dumps(line)}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def journal(work: Path) -> Iterator[dict[str, Any]]:
    """Yield the complete lines of the journal."""
    with suppress(OSError):
        for text in (work / "journal.jsonl").read_bytes().splitlines():
            with suppress(ValueError):
                line = json.loads(text)
                if isinstance(line, dict):
                    yield line
