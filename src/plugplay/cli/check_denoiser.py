"""``plugplay check-denoiser``: which assumptions a denoiser satisfies, and what the theory then guarantees."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from types import ModuleType

    from plugplay.denoisers.base import Denoiser

__all__ = ["check_denoiser"]


def check_denoiser(
    denoiser: Annotated[
        str,
        typer.Argument(
            help="A name that `plugplay denoisers` lists, or your own: module:function or file.py:function."
        ),
    ],
    effort: Annotated[Literal["quick", "thorough"], typer.Option(help="How long to search.")] = "quick",
    size: Annotated[int, typer.Option(help="Side of the test images.")] = 64,
    weights: Annotated[Path | None, typer.Option(help="Weight file of a learned denoiser.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the pair with the largest kappa and the worst image (npz).")
    ] = None,
) -> None:
    """Check a denoiser's contract, boundedness, expansiveness and calibration; the exit code is 1 if it fails.

    Example: plugplay check-denoiser my_module.py:my_denoiser --save pair.npz
    """
    import plugplay as pp
    from plugplay.cli.part_progress import PartProgress

    checked = _denoiser(denoiser, weights)
    with PartProgress(f"checking {denoiser}", quiet=quiet, parts="calls", first="the first call") as progress:
        report = pp.check_denoiser(checked, effort=effort, size=size, progress=progress.update)
    typer.echo(json.dumps(report.to_dict(), indent=2) if as_json else str(report))
    if save is not None:
        report.save(save)
        typer.echo(f"wrote {save}", err=True)
    if not report.passed:
        raise typer.Exit(1)


def _denoiser(text: str, weights: Path | None) -> Denoiser:
    import plugplay as pp

    module, colon, attribute = text.rpartition(":")
    if not colon:
        return pp.denoisers.get(text) if weights is None else pp.denoisers.get(text, weights=weights)
    if weights is not None:
        raise ValueError("--weights goes with a learned denoiser's name, not with module:function")
    try:
        found: object = _from_file(Path(module)) if module.endswith(".py") else _from_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise ValueError(f"{text!r} cannot be imported: {error}") from None
    made = found() if isinstance(found, type) else found
    if not callable(made):
        raise TypeError(f"{text!r} is {made!r}; a callable (image, sigma) -> image is needed")
    denoiser: Denoiser = made
    return denoiser


def _from_module(name: str) -> ModuleType:
    """Import a module; as with `python -m`, one in the current directory, too."""
    with _importable(Path.cwd()):
        return importlib.import_module(name)


def _from_file(path: Path) -> ModuleType:
    """Import a file, with its folder on the path, as `python file.py` does."""
    if not path.is_file():
        raise ImportError(f"there is no file {path}")
    described = importlib.util.spec_from_file_location(path.stem, path)
    assert described is not None  # its name ends with .py
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    sys.modules.setdefault(path.stem, module)  # where dataclasses look for the module of a class
    with _importable(path.resolve().parent):
        described.loader.exec_module(module)
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
