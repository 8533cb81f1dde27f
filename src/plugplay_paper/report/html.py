"""The report as one HTML page, with its images beside it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from plugplay_paper.report.blocks import Block, Column, Comparison, Entry, Plot, Row, Section, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plugplay_paper.report.document import Document, Run

__all__ = ["page"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1500px; margin: 2em auto; padding: 0 1.5em; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5em; border-bottom: 1px solid #ccc; }
p { max-width: 75em; } .conventions { color: #555; font-size: 90%; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .4em 0; }
th, td { padding: .3em .5em; text-align: right; vertical-align: top; white-space: nowrap; }
thead th { border-bottom: 2px solid #888; } tbody th { text-align: left; font-weight: 600; }
tbody tr { border-bottom: 1px solid #ddd; }
.paper, .spread, .note { display: block; font-size: 78%; color: #666; }
.up { color: #17702a; } .down { color: #a3261b; }
.missing { color: #999; }
.average { background: #f5f5f2; } figure { margin: 1em 0; } figure img { max-width: 100%; }
figcaption { font-weight: 600; } dl { display: grid; grid-template-columns: max-content auto; gap: .1em 1em; }
dt { font-weight: 600; } dd { margin: 0; } .warning { background: #fff3d6; padding: .5em 1em; }
"""


def page(document: Document, files: Mapping[str, str]) -> str:
    """Return the page; `files` says where the figure of each plot is."""
    links = "".join(
        f'<li><a href="#{section.name}">{_text(section.title)}</a>{_state(section)}</li>'
        for section in document.sections
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>plugplay: the paper, reproduced</title><style>{STYLE}</style></head><body>",
        "<h1>The paper, reproduced</h1>",
        "<p>The experiments of S. H. Chan, X. Wang and O. A. Elgendy, “Plug-and-Play ADMM for Image Restoration: Fixed "
        "Point Convergence and Applications” (IEEE Transactions on Computational Imaging, 2017), run with plugplay. "
        "Large numbers were measured; small ones below them are the paper’s, with the difference.</p>",
        _circumstances(document.run),
        f"<ul>{links}</ul>",
        _summary(document.against_the_paper()),
        *(_section(section, files) for section in document.sections),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _circumstances(run: Run) -> str:
    machine = run.environment
    libraries = ", ".join(f"{name} {version}" for name, version in machine.libraries)
    facts = {
        "command": run.command,
        "images": run.images + (" (a reduced set, --quick)" if run.quick else ""),
        "plugplay": f"{machine.plugplay}, code {machine.code}",
        "libraries": f"Python {machine.python}, {libraries}",
        "machine": f"{machine.cpu}, {machine.cores} cores, {machine.system}",
        "finished": f"{run.when}, after {_duration(run.seconds)} with {run.workers} cells at a time",
        "cells": f"{run.computed} computed in this run, {run.earlier} by the same code in earlier runs, "
        f"{run.missing} not run",
        "random numbers": "NumPy's default generator; realisation r has the seed r",
    }
    listed = "".join(f"<dt>{_text(name)}</dt><dd>{_text(fact)}</dd>" for name, fact in facts.items())
    failed = "".join(f"<li>{_text(failure.label)}: {_text(failure.error)}</li>" for failure in run.failures)
    warning = f'<div class="warning">Failed:<ul>{failed}</ul></div>' if failed else ""
    return f"<dl>{listed}</dl>{warning}"


def _summary(compared: Sequence[Comparison]) -> str:
    if not compared:
        return '<p class="missing">Nothing that has been run has numbers in the paper.</p>'
    rows = "".join(
        f"<tr><th>{_text(row.table)}</th><td>{_text(row.method)}</td><td>{row.images}</td>"
        f"<td>{_signed(row.average)}</td><td>{_signed(row.worst)}</td><td>{_text(row.worst_image)}</td></tr>"
        for row in compared
    )
    head = "".join(
        f"<th>{name}</th>" for name in ("", "method", "images", "average difference", "lowest difference", "image")
    )
    return (
        '<h2 id="summary">Against the paper</h2><p class="conventions">Measured less printed, in dB. What is called '
        "automatic had nothing tuned by hand, and is compared with the better of the paper’s own rows for photons, and "
        "with its Ours-M for super-resolution. Images are taken for the paper’s by their names and sizes.</p>"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _section(section: Section, files: Mapping[str, str]) -> str:
    blocks = "\n".join(_block(block, files) for block in section.blocks)
    return (
        f'<h2 id="{section.name}">{_text(section.title)}{_state(section)}</h2>\n'
        f'<p class="conventions">{_text(" ".join(section.conventions.split()))}</p>\n{blocks}'
    )


def _state(section: Section) -> str:
    if section.done == section.planned:
        return ""
    ran = "not run" if section.done == 0 else f"{section.done} of {section.planned} cells run"
    return f' <small class="missing">({ran})</small>'


def _block(block: Block, files: Mapping[str, str]) -> str:
    return _table(block) if isinstance(block, Table) else _plot(block, files)


def _plot(plot: Plot, files: Mapping[str, str]) -> str:
    if plot.name not in files:
        return f'<p class="missing">{_text(plot.caption)}: not run.</p>'
    source = html.escape(files[plot.name], quote=True)
    caption = _text(plot.caption)
    return f'<figure><figcaption>{caption}</figcaption><img src="{source}" alt="{caption}"></figure>'


def _table(table: Table) -> str:
    head = "".join(f"<th{_shade(column)}>{_text(column.name)}</th>" for column in table.columns)
    rows = "\n".join(_row(row, table.columns) for row in table.rows)
    return (
        f'<div class="wide"><table><caption>{_text(table.caption)}</caption><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _row(row: Row, columns: Sequence[Column]) -> str:
    cells = "".join(
        f"<td{_shade(column)}>{_entry(entry, column)}</td>" for entry, column in zip(row.entries, columns, strict=True)
    )
    return f"<tr><th>{_text(row.label)}</th>{cells}</tr>"


def _entry(entry: Entry, column: Column) -> str:
    if entry.value is None and column.summary:
        return ""
    parts = ['<span class="missing">not run</span>' if entry.value is None else f"{entry.value:.{column.digits}f}"]
    if entry.spread is not None:
        parts.append(f'<span class="spread">± {entry.spread:.3f}</span>')
    if entry.paper is not None:
        difference = "" if entry.difference is None else f" ({_signed(entry.difference, column.digits)})"
        parts.append(f'<span class="paper">{entry.paper:.{column.digits}f}{difference}</span>')
    if entry.note:
        parts.append(f'<span class="note">{_text(entry.note)}</span>')
    return "".join(parts)


def _shade(column: Column) -> str:
    return ' class="average"' if column.summary else ""


def _signed(value: float, digits: int = 2) -> str:
    kind = "up" if value >= 0 else "down"
    return f'<span class="{kind}">{value:+.{digits}f}</span>'


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _text(text: str) -> str:
    return html.escape(text, quote=True)
