"""Write the tables of ``docs/reproduce.md``: ``python docs/tools/reproduced_tables.py FOLDER ... --write``.

Each folder is one that ``plugplay reproduce`` wrote, also one of a run that was interrupted; where several have the
same row of a table, the last folder's is used. Without ``--write`` the tables are printed. What no folder has stays on
the page as it is: the paper's two tables, and the two of every denoiser.

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
BEGIN_DENOISERS, END_DENOISERS = "<!-- denoisers: begin -->", "<!-- denoisers: end -->"
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
# Tables of every built-in denoiser by problems.
DENOISER_TABLES = ("deblurring", "inpainting")


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description="Turn reports of plugplay reproduce into the tables of the page.")
    parser.add_argument("folders", nargs="+", type=Path, help="folders with a report.json; later ones win")
    parser.add_argument("--write", action="store_true", help="replace the tables in docs/reproduce.md")
    options = parser.parse_args()
    reports = [json.loads((folder / "report.json").read_text(encoding="utf-8")) for folder in options.folders]
    made = {(BEGIN, END): tables(reports), (BEGIN_DENOISERS, END_DENOISERS): denoiser_tables(reports)}
    for marks, text in made.items():
        if text and options.write:
            PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), text, *marks), encoding="utf-8")
        elif text:
            sys.stdout.write(f"{text}\n")


def replaced(page: str, text: str, begin: str = BEGIN, end: str = END) -> str:
    """Return the page with other tables between its marks."""
    before, first, rest = page.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"the page needs the lines {begin} and {end} around its tables")
    return f"{before}{first}\n{text}\n{last}{after}"


def tables(reports: list[dict[str, Any]]) -> str:
    """Return the tables as Markdown, without those of which no row is complete."""
    found = [_table(name, columns, _rows(reports, name)) for name, columns in TABLES.items()]
    return "\n\n".join(table for table in found if table)


def denoiser_tables(reports: list[dict[str, Any]]) -> str:
    """Return the tables of every denoiser by problems as Markdown, those of the last report that has them."""
    found = {
        section["name"]: _denoisers(section["name"], section["blocks"][0])
        for report in reports
        for section in report["sections"]
        if section["name"] in DENOISER_TABLES
    }
    return "\n\n".join(found[name] for name in DENOISER_TABLES if name in found)


def _denoisers(name: str, table: dict[str, Any]) -> str:
    # Seconds depend on what else the machine did; the report has them.
    shown = [index for index, column in enumerate(table["columns"]) if column["name"] != "seconds"]
    lines = [f"| {name} | " + " | ".join(table["columns"][index]["name"] for index in shown) + " |"]
    lines.append("|---" * (1 + len(shown)) + "|")
    for row in table["rows"]:
        cells = [_plain(row["entries"][index]) for index in shown]
        lines.append(f"| {row['label']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _plain(entry: dict[str, Any]) -> str:
    if entry["value"] is None:
        return ""
    return f"{entry['value']:.2f}" + (f" ({entry['note']})" if entry["note"] else "")


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
