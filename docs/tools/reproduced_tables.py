"""Write the tables of ``docs/reproduce.md``: ``python docs/tools/reproduced_tables.py FOLDER ... --write``.

Each folder is one that ``plugplay reproduce`` wrote, also one of a run that was interrupted; where several have the
same row of a table, the last folder's is used. Without ``--write`` the tables are printed.

A cell has the mean PSNR over the images and the standard deviation over realisations of the noise, averaged over the
images; below them the paper's numbers and the difference. Numbers of realisations stand in the headings, or in the
cells where rows differ.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "reproduce.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
# Headings of the two tables that the paper has, and of their columns, by the names of their parts in reports.
TABLES = {
    "super-resolution": {
        "super-resolution-1": "x2, bicubic",
        "super-resolution-2": "x4, bicubic",
        "super-resolution-3": "x2, Gaussian, noise",
        "super-resolution-4": "x4, Gaussian, noise",
    },
    "single-photon": {f"single-photon-{k}": f"K = {k}" for k in (4, 6, 8, 10)},
}


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description="Turn reports of plugplay reproduce into the tables of the page.")
    parser.add_argument("folders", nargs="+", type=Path, help="folders with a report.json; later ones win")
    parser.add_argument("--write", action="store_true", help="replace the tables in docs/reproduce.md")
    options = parser.parse_args()
    text = tables([json.loads((folder / "report.json").read_text(encoding="utf-8")) for folder in options.folders])
    if options.write:
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    else:
        sys.stdout.write(f"{text}\n")


def replaced(page: str, text: str) -> str:
    """Return the page with other tables between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page needs the lines {BEGIN} and {END} around its tables")
    return f"{before}{begin}\n{text}\n{end}{after}"


def tables(reports: list[dict[str, Any]]) -> str:
    """Return the tables as Markdown, without those of which no row is complete."""
    found = [_table(name, columns, _rows(reports, name)) for name, columns in TABLES.items()]
    return "\n\n".join(table for table in found if table)


def _rows(reports: list[dict[str, Any]], experiment: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the rows by method and part; a row without an average is not complete and is left out."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for report in reports:
        for section in report["sections"]:
            if section["name"] != experiment:
                continue
            averaged = re.search(r"averages over (\d+) realisations", section["conventions"])
            for table in section["blocks"]:
                for row in table["rows"]:
                    entries = dict(zip((column["name"] for column in table["columns"]), row["entries"], strict=True))
                    if entries["average"]["value"] is not None and not entries["average"]["note"]:
                        several = entries["STD"]["value"] is not None
                        count = int(averaged[1]) if averaged and several else 1
                        rows.setdefault(row["label"], {})[table["name"]] = {"count": count, **entries}
    return rows


def _table(name: str, columns: dict[str, str], rows: dict[str, dict[str, dict[str, Any]]]) -> str:
    if not rows:
        return ""
    counts = {part: {row[part]["count"] for row in rows.values() if part in row} for part in columns}
    headings = [f"{heading}{_times(counts[part])}" for part, heading in columns.items()]
    lines = [f"| {name} | " + " | ".join(headings) + " |"]
    lines.append("|---" * (1 + len(columns)) + "|")
    for label, row in rows.items():
        cells = [_cell(row[part], len(counts[part]) > 1) if part in row else "" for part in columns]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _times(counts: set[int]) -> str:
    """Return how many realisations a column has, if all its rows have as many."""
    return f" ({next(iter(counts))})" if len(counts) == 1 else ""


def _cell(entries: dict[str, Any], counted: bool) -> str:
    average, spread = entries["average"], entries["STD"]
    text = _number(average["value"], spread["value"]) + (f" ({entries['count']})" if counted else "")
    if average["paper"] is not None:
        difference = f"{average['value'] - average['paper']:+.2f}".replace("-", "−")
        text += f"<br>{_number(average['paper'], spread['paper'])} ({difference})"
    return text


def _number(value: float, spread: float | None) -> str:
    return f"{value:.2f}" if spread is None else f"{value:.2f} ± {spread:.3f}"


if __name__ == "__main__":
    main()
