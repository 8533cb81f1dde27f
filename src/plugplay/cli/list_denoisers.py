"""``plugplay denoisers``: which denoisers there are."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from plugplay.denoisers import DenoiserInfo

__all__ = ["denoisers"]

UNKNOWN = "-"


def denoisers(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, for machines.")] = False,
) -> None:
    """List the denoisers that --denoiser accepts: the built-in ones and those of installed plug-ins.

    Speed is for a gray image of 512 x 512 pixels on one core: instant up to 50 ms, fast up to 500 ms, else slow.

    Example: plugplay denoisers --json
    """
    from plugplay.denoisers import available

    known = [_row(info) for info in available().values()]
    if as_json:
        typer.echo(json.dumps(known, indent=2))
        return
    heads = {"name": "name", "summary": "what it is", "speed": "speed", "colour": "colour"}
    table = [[*heads.values(), "needs"]]
    table += [[*(str(row[key] or UNKNOWN) for key in heads), _needs(row)] for row in known]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _row(info: DenoiserInfo) -> dict[str, Any]:
    return {**asdict(info), "installed": info.extra is None or is_installed(info.extra)}


def _needs(row: dict[str, Any]) -> str:
    if row["extra"] is None:
        return "nothing" if row["origin"] == "plugplay" else f"{row['origin']} (installed)"
    return f"plugplay[{row['extra']}] ({'installed' if row['installed'] else 'not installed'})"


def is_installed(extra: str) -> bool:
    """Tell whether the packages of one of plugplay's extras are there, by asking the installer's records.

    Examples
    --------
    >>> is_installed("nosuch")
    False
    """
    needed = []
    for requirement in metadata.requires("plugplay") or []:
        package, _, condition = requirement.partition(";")
        if f"extra == '{extra}'" in condition.replace('"', "'"):
            needed.append(_bare_name(package))
    return bool(needed) and all(_has(name) for name in needed)


def _bare_name(requirement: str) -> str:
    """Return the name at the beginning of a requirement.

    Examples
    --------
    >>> _bare_name("torch>=2.2"), _bare_name("plugplay[test]")
    ('torch', 'plugplay')
    """
    name = requirement.strip()
    for index, character in enumerate(name):
        if not (character.isalnum() or character in "-_."):
            return name[:index]
    return name


def _has(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
