"""``plugplay reproduce``: the paper's tables and figures, computed anew."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from plugplay.cli.options import UsageError

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
        int | None, typer.Option(min=1, help="Cells at a time, one core each. Default: all cores.")
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say how long it would take, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write a summary as JSON.")] = False,
) -> None:
    """Run the paper's experiments and set the numbers beside the printed ones, as HTML, JSON and CSV.

    A run can be interrupted: the same command goes on where it stopped.

    Example: plugplay reproduce all --images paper10 --out report
    """
    from plugplay.cli.progress import CellProgress
    from plugplay.reproduce import Plan

    try:
        plan = Plan.of(experiments, out=out, images=images, quick=quick, realisations=realisations, workers=workers)
    except ValueError as error:
        raise UsageError(str(error)) from None
    total, left = len(plan.cells), len(plan.waiting)
    _say(f"{total} cells, {total - left} of them done already; about {_span(plan.seconds)} on {plan.workers} cores.")
    if estimate:
        return
    began = time.monotonic()
    failures, interrupted = [], False
    try:
        with CellProgress(total=left) as progress:
            failures = plan.run(progress)
    except KeyboardInterrupt:
        interrupted = True
    command = shlex.join(["plugplay", *sys.argv[1:]])
    page = plan.report(command=command, seconds=time.monotonic() - began, failures=failures)
    if as_json:
        typer.echo(json.dumps({"report": str(page), "failed": [failure.label for failure in failures]}))
    else:
        typer.echo(f"wrote {page}")
    for failure in failures:
        _say(f"failed: {failure.label}: {failure.error}")
    if interrupted:
        _say("interrupted; the same command goes on from here")
        raise typer.Exit(130)
    if failures:
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
