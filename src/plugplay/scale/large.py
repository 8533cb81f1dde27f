"""Restore an image larger than memory tile by tile, resumably.

Unfinished work is kept in a hidden folder beside the target, whose name contains a digest of the input, the parameters
and the code::

    .plugplay-parts-<target>-<recipe>/
        parts/000000-000003-000001.npy    a restored tile with its bands, until all cores that need it are written
        output.zarr                       the result; a shard is written by one task
        journal.jsonl                     a line for each tile and each core that is complete

The result gets its name in one step, when it is complete. If anything is killed, the same command resumes from there,
and never uses parts of another input, of other parameters or of other code.
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

from plugplay.io.atomic import atomic
from plugplay.io.errors import ImageFileError, printable
from plugplay.preparation import prepare
from plugplay.scale.executors import WAIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from plugplay.scale.executors import Executor
    from plugplay.scale.stores import Store
    from plugplay.scale.tiles import Tile
    from plugplay.scale.whole import Parts

__all__ = ["Large", "PartError", "TileReport", "restore_parts", "work_folder"]


class PartError(RuntimeError):
    """A part of an image could not be restored; the rest is kept."""


@dataclass(frozen=True)
class TileReport:
    """The outcome of a tile.

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
    page : int
        Which image of a stack it belongs to.
    parameters : dict, optional
        What was used, as plain values, if that is not what all tiles share.
    """

    name: str
    status: str
    iterations: int
    warnings: tuple[str, ...]
    seconds: float
    page: int = 0
    parameters: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Large:
    """Everything that a worker needs; calling it does a step.

    Attributes
    ----------
    parts : Parts
        The image and its parameters.
    output : Store
        The result.
    work : Path
        The hidden folder.
    """

    parts: Parts
    output: Store
    work: Path

    def __call__(self, step: tuple[str, Tile], threads: int) -> TileReport | str:
        """Restore a tile, or put a core together."""
        kind, tile = step
        return self._restored(tile, threads) if kind == "tile" else self._written(tile)

    def part(self, tile: Tile) -> Path:
        """Return where a restored tile is kept."""
        return self.work / "parts" / f"{tile.name}.npy"

    def needs(self, _: object) -> int:
        """Return the memory that a step takes."""
        return self.parts.bytes_per_tile

    def _restored(self, tile: Tile, threads: int) -> TileReport:
        began = time.perf_counter()
        decided = self.parts
        pixels, observed = decided.observation.read(tile.page, tile.outer)
        if decided.own is not None and decided.grid.counts == (1, 1):  # the page by itself
            result = prepare(pixels, decided.model_for(observed), workers=threads, **decided.own).run()
        else:
            choices = decided.choices if decided.own is None else decided.choices_of(tile.page, decided.own)
            result = choices.finished(choices.plan(pixels, decided.model_for, observed, workers=threads).run())
        part = self.part(tile)
        with atomic(part) as temporary, temporary.open("wb") as stream:
            np.save(stream, tile.kept(result.image, decided.grid.factor))
        report = TileReport(
            tile.name,
            result.status.name,
            len(result.history),
            (*result.warnings, *decided.depth.lost(result.image, pixels)),
            time.perf_counter() - began,
            tile.page,
            None if decided.own is None else result.parameters.plain(),
        )
        note(self.work, {"tile": asdict(report)})
        return report

    def _written(self, tile: Tile) -> str:
        grid = self.parts.grid
        core = grid.assembled(
            tile, {other.name: np.load(self.part(other), mmap_mode="r") for other in grid.around(tile)}
        )
        rows, columns = (slice(place.start * grid.factor, place.stop * grid.factor) for place in tile.core)
        pixels = self.parts.depth.stored(core)
        self.output.write(tile.page, (rows, columns), pixels)
        note(self.work, {"core": tile.name, "content": hashlib.sha256(pixels.tobytes()).hexdigest()})
        return tile.name


def restore_parts(
    large: Large, executor: Executor, *, progress: Callable[[int, int], object] | None = None
) -> list[TileReport]:
    """Restore all tiles that are not restored yet; return the reports of all tiles.

    Parameters
    ----------
    large : Large
        The work; its folder and its output exist.
    executor : Executor
        The executor.
    progress : callable, optional
        Called with the number of cores that are written, and of all.

    Raises
    ------
    PartError
        If tiles failed; everything else has been done.
    """
    state = _State(large)
    failures = []
    for ended in executor.map(large, state.steps(), needs=large.needs, warm=large.parts.choices.warm):
        kind, tile = ended.item
        if ended.error is not None:
            failures.append(f"{'tile' if kind == 'tile' else 'core'} {tile.name}: {ended.error}")
        state.ended(kind, tile, ended.value, failed=ended.error is not None)
        if progress is not None:
            progress(len(state.cores), len(large.parts.grid))
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
        """Yield steps that can be done now, or WAIT if others have to end first."""
        grid = self.large.parts.grid
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
            for other in self.large.parts.grid.around(tile):
                if all(near.name in self.cores for near in self.large.parts.grid.around(other)):
                    self.large.part(other).unlink(missing_ok=True)
                    self.parts.discard(other.name)

    def _is_needed(self, tile: Tile) -> bool:
        """Tell whether a tile has to be restored for a core that is not written."""
        wanted = any(near.name not in self.cores for near in self.large.parts.grid.around(tile))
        return wanted and not (tile.name in self.reports and tile.name in self.parts)

    def _is_ready(self, tile: Tile) -> bool:
        return all(
            near.name in self.reports and near.name in self.parts and ("tile", near.name) not in self.begun
            for near in self.large.parts.grid.around(tile)
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
        # The line break in front ends a line that was cut short when a process was killed.
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
