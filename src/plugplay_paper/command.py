"""``plugplay reproduce``: the paper's tables and figures, computed anew."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plugplay.cli.options import UsageError

if TYPE_CHECKING:
    from plugplay_paper.runner import Failure

__all__ = ["reproduce"]


def reproduce(
    experiments: Annotated[
        list[str],
        typer.Argument(
            help="all; tables (both of the paper's); figures; or any of super-resolution, single-photon, images, "
            "tolerance, rho0, starts, runtime, colour-super-resolution, colour-single-photon, expansiveness, "
            "deblurring, inpainting.",
        ),
    ],
    images: Annotated[
        Path | None,
        typer.Option(help="Folder of pictures, such as the paper's ten. Default: some that scikit-image brings."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report.")] = Path("plugplay-report"),
    quick: Annotated[bool, typer.Option("--quick", help="A reduced set: a few minutes instead of hours.")] = False,
    realisations: Annotated[
        int | None, typer.Option(min=1, help="At most this many realisations of the noise; the paper has 5 and 8.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Cells at a time, one core each. Default, and most: all cores.")
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say how long it would take, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write a summary as JSON.")] = False,
) -> None:
    """Run the paper's experiments and set the numbers beside the printed ones, as HTML, JSON and CSV.

    A run can be interrupted: the same command goes on where it stopped.

    Example: plugplay reproduce all --images paper10 --out report
    """
    from plugplay.cli.progress import CellProgress
    from plugplay_paper import Plan
    from plugplay_paper.runner import WorkerLostError

    try:
        plan = Plan.of(experiments, out=out, images=images, quick=quick, realisations=realisations, workers=workers)
    except ValueError as error:
        raise UsageError(str(error)) from None
    total, left = len(plan.cells), len(plan.waiting)
    cores = f"{plan.workers} core{'s' * (plan.workers > 1)}"
    _say(f"{total} cells, {total - left} of them done already; about {_span(plan.seconds)} on {cores}.")
    if estimate:
        if as_json:
            typer.echo(json.dumps({"cells": total, "done": total - left, "seconds": round(plan.seconds)}))
        return
    began = time.monotonic()
    failures: list[Failure] = []
    trouble = ""
    plan.prepare()
    try:
        with CellProgress(total=left) as progress:
            plan.run(progress, failures)
    except KeyboardInterrupt:
        trouble = "interrupted; the same command goes on from here"
    except WorkerLostError as error:
        trouble = str(error)
    command = shlex.join(["plugplay", *sys.argv[1:]])
    page = plan.report(command=command, seconds=time.monotonic() - began, failures=failures)
    if as_json:
        failed = [failure.label for failure in failures]
        typer.echo(json.dumps({"report": str(page), "cells": total, "failed": failed, "trouble": trouble or None}))
    else:
        typer.echo(f"wrote {page}")
    for failure in failures:
        _say(f"failed: {failure.label}: {failure.error}")
    if trouble:
        _say(trouble)
    if trouble.startswith("interrupted"):
        raise typer.Exit(130)
    if failures or trouble:
        raise typer.Exit(1)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _span(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
