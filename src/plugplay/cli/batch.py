"""Process many files: finished ones are skipped, failures are reported, and outputs are written atomically."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from plugplay.cli.jobs import STANDARD, Job, collect, is_report
from plugplay.cli.notices import show_warning
from plugplay.cli.options import Common, UsageError
from plugplay.cli.targets import check_targets
from plugplay.cli.terminal import err, out
from plugplay.cli.values import size_limit

if TYPE_CHECKING:
    from plugplay.cli.outcomes import Outcome
    from plugplay.cli.parts import PartsTask
    from plugplay.cli.planning import Verb
    from plugplay.cli.tasks import Task
    from plugplay.scale import Executor

__all__ = ["run"]

SOME_FAILED, USAGE, DOUBTFUL, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143


def run(
    common: Common,
    verb: Verb,
    *,
    accepts: Callable[[Path], bool] | None = None,
    suffix: str | None = None,
) -> None:
    """Process every input file and exit with a code that tells success from failure.

    Parameters
    ----------
    common : Common
        The shared options.
    verb : Verb
        The command's verb.
    accepts : callable, optional
        Tells which files of a folder are inputs; by default image files.
    suffix : str, optional
        Default suffix of results in a folder; by default that of the source.
    """
    from plugplay.cli.parts import PartsTask
    from plugplay.cli.planning import Settings
    from plugplay.cli.sinks import Sink
    from plugplay.cli.tasks import Task
    from plugplay.scale import executor

    if common.output is None:
        raise UsageError("--output is required: a file, a folder, or - for standard output")
    memory = size_limit(common.memory, "--memory")
    try:
        crew = executor(common.on, workers=common.workers, memory=memory)
    except ValueError as error:
        raise UsageError(f"--on: {error}") from None
    jobs = collect(
        common.inputs,
        common.output,
        accepts=accepts or _is_image,
        writable=_is_image,
        suffix=common.suffix or suffix,
    )
    task = Task(
        verb,
        Settings.of(common),
        Sink(common.depth, common.suffix or suffix),
        plot=common.plot,
        overwrite=common.overwrite,
        quiet=common.quiet,
        debug=common.debug,
    )
    _check_paths(task, jobs)
    if getattr(verb, "makes_video", False):  # the images of each are tasks
        task = replace(task, crew=crew)
    parts = PartsTask(task, crew, memory)
    if common.dry_run:
        for job in jobs:
            out(parts.rehearse(job) if parts.wants(job) else task.rehearse(job))
        told = _forecast(crew, task, [job for job in jobs if not parts.wants(job)])
        if told:
            out(told)
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        with closing(_outcomes(crew, task, parts, jobs)) as outcomes:
            code = _all_done(outcomes, jobs, common)
    finally:
        signal.signal(signal.SIGTERM, before)
    raise typer.Exit(code)


def _outcomes(crew: Executor, task: Task, parts: PartsTask, jobs: list[Job]) -> Generator[Outcome, None, None]:
    """Yield the outcome of each job as it ends; jobs that are done in parts come last, one by one."""
    from plugplay.cli.outcomes import Outcome

    if task.crew is not None:
        yield from map(task, jobs)
        return
    large = [job for job in jobs if parts.wants(job)]
    whole = [job for job in jobs if job not in large] if large else jobs
    for ended in crew.map(task, whole, needs=task.needs, warm=task.warm) if whole else ():
        yield ended.value or Outcome(ended.item, "failed", error=ended.error, silent=True)
    yield from map(parts, large)


def _forecast(crew: Executor, task: Task, jobs: list[Job]) -> str | None:
    """Predict how long all files will take, from a trial on a small part of one; None if that is not known."""
    from plugplay.arrays.checks import check_workers
    from plugplay.cli.progress_display import duration

    pending = [job for job in jobs if task.values(job) and task.is_pending(job)]
    each = next((found for job in pending if (found := task.trial(job)) is not None), None)
    if each is None:
        return None
    # Threads of one file do as much as files side by side.
    cores = crew.slots if crew.slots > 1 else check_workers(task.settings.workers)
    seconds = each * sum(map(task.values, pending)) / cores
    return f"{len(pending)} to restore, about {duration(seconds)} on {cores} core{'s' * (cores > 1)}"


def _is_image(path: Path) -> bool:
    from plugplay import io

    return io.is_image_name(path) or path.suffix.lower() == ".zarr"


def _all_done(outcomes: Iterator[Outcome], jobs: list[Job], common: Common) -> int:
    """Report the outcomes as they come, and return the exit code."""
    from plugplay.cli.reporting import Reporter
    from plugplay.scale import LostSchedulerError

    reporter = Reporter(
        json=common.json,
        quiet=common.quiet,
        verbose=common.verbose,
        standard_output_taken=common.output == STANDARD,
    )
    try:
        for outcome in outcomes:
            for text in outcome.warnings if outcome.silent else ():
                show_warning(outcome.job, text)
            reporter.show(outcome)
    except (KeyboardInterrupt, SystemExit) as end:
        interrupted = isinstance(end, KeyboardInterrupt)
        what = "interrupted" if interrupted else "terminated"
        err(f"{what}: {reporter.finished} of {len(jobs)} done; rerun to resume")
        return INTERRUPTED if interrupted else TERMINATED
    except LostSchedulerError as error:
        err(f"plugplay: --on: {error}")
        return SOME_FAILED
    if len(jobs) > 1:
        reporter.summary()
    if reporter.failed:
        return SOME_FAILED
    return DOUBTFUL if common.strict and reporter.doubtful else 0


def _check_paths(task: Task, jobs: list[Job]) -> None:
    """Refuse to overwrite inputs or other outputs, before anything is done."""
    plots = [(job, plot) for job in jobs if (plot := task.plot_of(job)) is not None]
    if task.plot is not None and task.plot.suffix and len(jobs) > 1:
        raise UsageError(f"--plot: several inputs need a folder for their plots, but {task.plot} is a file")
    sources = [("an input", job.source) for job in jobs if job.source is not None]
    sources += [(f"the file of {option}", path) for job in jobs for option, path in task.files_of(job)]
    targets = [("--output", job.target) for job in jobs if job.target is not None]
    check_targets([*targets, *(("--plot", plot) for _, plot in plots)], sources)
    for _, plot in plots:
        if plot.suffix.lower() != ".png":
            raise UsageError(f"--plot: a PNG file or a folder is needed; got {plot}")
        if plot.exists() and not task.overwrite and not is_report(plot):
            raise UsageError(f"--plot: {plot} exists and is not a report; --overwrite replaces it")


def _terminate(*_: object) -> None:
    # Cleans up as after any error, so that no temporary file is left behind.
    sys.exit(TERMINATED)
