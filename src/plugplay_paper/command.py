"""``plugplay reproduce``: the paper's tables and figures, computed anew.

The command line imports this module for every command, so that everything heavy is imported only when it runs.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from plugplay_paper.runner import Failure

__all__ = ["reproduce"]

USAGE_ERROR = 2
INTERRUPTED = 130


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
        typer.Option(help="Folder of images, such as the paper's ten. Default: images from scikit-image."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report.")] = Path("plugplay-report"),
    quick: Annotated[bool, typer.Option("--quick", help="A reduced set: a few minutes instead of hours.")] = False,
    realisations: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of noise realisations; the paper has 5 and 8.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of worker processes. Default and maximum: all cores.")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="Who computes: auto is worker processes here; processes:N, dask, or tcp://host:8786.",
        ),
    ] = "auto",
    estimate: Annotated[bool, typer.Option("--estimate", help="Print how long it would take, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write a summary as JSON.")] = False,
) -> None:
    """Run the paper's experiments and compare with the printed numbers, as HTML, JSON and CSV.

    An interrupted run can be resumed: rerun the same command.

    Example: plugplay reproduce all --images paper10 --out report
    """
    from plugplay.scale import LostSchedulerError, executor
    from plugplay_paper import Reproduction
    from plugplay_paper.progress import CellProgress
    from plugplay_paper.runner import WorkerLostError

    try:
        crew = None if on == "auto" else executor(on, workers=1)
        run = Reproduction.of(
            experiments, out=out, images=images, quick=quick, realisations=realisations, workers=workers
        )
    except ValueError as error:
        _log(f"plugplay: {error}")
        raise typer.Exit(USAGE_ERROR) from None
    total, left = len(run.cells), len(run.waiting)
    cores = f"{run.workers} core{'s' * (run.workers > 1)}"
    _log(f"{total} cells, {total - left} already done; about {_duration(run.seconds)} on {cores}")
    if estimate:
        if as_json:
            typer.echo(json.dumps({"cells": total, "done": total - left, "seconds": round(run.seconds)}))
        return
    began = time.monotonic()
    failures: list[Failure] = []
    trouble, code = "", 0
    run.prepare()
    try:
        with CellProgress(total=left) as progress:
            run.run(progress, failures, executor=crew)
    except KeyboardInterrupt:
        trouble, code = "interrupted; rerun to resume", INTERRUPTED
    except (WorkerLostError, LostSchedulerError) as error:
        trouble, code = str(error), 1
    command = shlex.join(["plugplay", *sys.argv[1:]])
    page = run.report(command=command, seconds=time.monotonic() - began, failures=failures)
    if as_json:
        failed = [failure.label for failure in failures]
        typer.echo(json.dumps({"report": str(page), "cells": total, "failed": failed, "trouble": trouble or None}))
    else:
        typer.echo(f"wrote {page}")
    for failure in failures:
        _log(f"failed: {failure.label}: {failure.error}")
    if trouble:
        _log(trouble)
    if code or failures:
        raise typer.Exit(code or 1)


def _log(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
