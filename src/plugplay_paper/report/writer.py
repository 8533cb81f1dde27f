"""Writes a report: ``index.html``, ``report.json``, a CSV file for each table and each plot, and the images."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from typing import TYPE_CHECKING, Any

from plugplay_paper.files import write_atomically
from plugplay_paper.report.blocks import Plot, Table
from plugplay_paper.report.html import page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from plugplay_paper.report.document import Document

__all__ = ["write_report"]

RESOLUTION = 110


def write_report(folder: Path, document: Document) -> Path:
    """Write the report into a folder and return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    _forget_tables_and_figures(folder)
    files: dict[str, str] = {}
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Table):
                write_atomically(folder / "tables" / f"{block.name}.csv", _csv(_table_rows(block)))
            elif block.figure is not None:
                files[block.name] = f"figures/{block.name}.png"
                write_atomically(folder / files[block.name], _png(block))
                if block.series:
                    write_atomically(folder / "figures" / f"{block.name}.csv", _csv(_series_rows(block)))
    write_atomically(folder / "cells.csv", _csv(_trial_rows(document)))
    plain = json.dumps(_plain(document, files), indent=1, allow_nan=False)
    write_atomically(folder / "report.json", f"{plain}\n".encode())
    target = folder / "index.html"
    write_atomically(target, page(document, files).encode())
    return target


def _forget_tables_and_figures(folder: Path) -> None:
    """Remove the files of an earlier report: this one may have fewer, and its numbers must not stand beside others."""
    for pattern in ("tables/*.csv", "figures/*.csv", "figures/*.png"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)  # another run may write the same report at this moment


def _png(plot: Plot) -> bytes:
    assert plot.figure is not None  # write_report looked
    buffer = io.BytesIO()
    plot.figure.savefig(buffer, format="png", dpi=RESOLUTION)
    return buffer.getvalue()


def _csv(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _table_rows(table: Table) -> Iterable[Sequence[object]]:
    yield ("method", "column", "measured", "standard deviation", "paper", "difference", "note")
    for row in table.rows:
        for column, entry in zip(table.columns, row.entries, strict=True):
            missing = entry.value is None and not column.summary
            note = entry.note or ("not run" if missing else "")
            yield (row.label, column.name, entry.value, entry.spread, entry.paper, entry.difference, note)


def _series_rows(plot: Plot) -> Iterable[Sequence[object]]:
    yield ("line", plot.series[0].x_name, plot.series[0].y_name)
    for line in plot.series:
        for x, y in zip(line.x, line.y, strict=True):
            yield (line.label, x, y)


def _trial_rows(document: Document) -> Iterable[Sequence[object]]:
    yield ("image", "problem", "method", "seed", "border", "PSNR (dB)", "seconds", "iterations")
    for trial, record in document.trials:
        yield (
            trial.image.name,
            trial.problem.name,
            repr(trial.method),
            trial.seed,
            trial.border,
            record.psnr,
            record.seconds,
            record.iterations,
        )


def _plain(document: Document, files: dict[str, str]) -> Any:
    """Return the report as JSON has it: tables in full, plots as their lines and files."""
    sections = []
    for section in document.sections:
        blocks = [
            _plain_table(block) if isinstance(block, Table) else _plain_plot(block, files) for block in section.blocks
        ]
        conventions = " ".join(section.conventions.split())
        facts = {"name": section.name, "title": section.title, "conventions": conventions}
        sections.append({**facts, "planned": section.planned, "done": section.done, "blocks": blocks})
    compared = [dataclasses.asdict(comparison) for comparison in document.against_the_paper()]
    run = {**dataclasses.asdict(document.run), "finished": document.run.when}
    return _finite({"run": run, "against_the_paper": compared, "sections": sections})


def _plain_table(table: Table) -> dict[str, Any]:
    return {"kind": "table", **dataclasses.asdict(table)}


def _plain_plot(plot: Plot, files: dict[str, str]) -> dict[str, Any]:
    lines = [dataclasses.asdict(line) for line in plot.series]
    return {"kind": "plot", "name": plot.name, "caption": plot.caption, "file": files.get(plot.name), "series": lines}


def _finite(value: Any) -> Any:
    """Replace what JSON has no words for, as the PSNR of a perfect image."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
