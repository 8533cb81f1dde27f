"""Many files, one after another: what is done is skipped, what fails is reported, what is written is complete."""

from __future__ import annotations

import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from plugplay.cli.jobs import Job, collect, companion
from plugplay.cli.options import Common, Depth, UsageError, numbers

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from plugplay.io import ImageFile
    from plugplay.pnp.results import Result
    from plugplay.restoration import RestoreOptions

__all__ = ["Outcome", "Product", "Runner", "run"]

SOME_FAILED, USAGE, INTERRUPTED, TERMINATED = 1, 2, 130, 143


@dataclass(frozen=True)
class Product:
    """What a command made of one file.

    Attributes
    ----------
    image : ImageFile
        What is to be written.
    before : array
        The first page before the restoration, for the report.
    results : tuple of Result
        One for each page.
    """

    image: ImageFile
    before: NDArray[Any]
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of one file."""

    job: Job
    status: str
    error: str | None = None
    product: Product | None = None
    quality: tuple[dict[str, float | None], ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()


@dataclass
class Runner:
    """The options of one page's restoration, for the job at hand."""

    common: Common
    job: Job
    label: str
    data_range: tuple[float, float] | None
    usual_limit: int | None = None
    reference: ImageFile | None = None
    warned: list[str] = field(default_factory=list)

    def restore(
        self,
        restore: Callable[[RestoreOptions], Result],
        *,
        page: int = 0,
        pages: int = 1,
        reference: NDArray[Any] | None = None,
    ) -> Result:
        """Call `restore` with the common options and a progress bar."""
        from plugplay.cli.progress import Progress

        label = self.label if pages == 1 else f"{self.label}, page {page + 1}/{pages}"
        with Progress(limit=self.common.max_iter or self.usual_limit, label=label) as progress:
            return restore(
                {
                    "denoiser": self.common.denoiser,
                    "max_iter": self.common.max_iter,
                    "workers": self.common.workers,
                    "reference": reference,
                    "callback": progress.update,
                }
            )


def run(
    common: Common,
    process: Callable[[Runner], Product],
    *,
    accepts: Callable[[Path], bool] | None = None,
    suffix: str | None = None,
    usual_limit: int | None = None,
) -> None:
    """Process every input file and leave with the exit code that tells how it went.

    Parameters
    ----------
    common : Common
        The shared options.
    process : callable
        Makes a product of one job.
    accepts : callable, optional
        Which files of a folder are inputs; by default image files.
    suffix : str, optional
        Ending of results in a folder unless the user asks for another; by default that of the source.
    usual_limit : int, optional
        How many iterations the progress bar expects.
    """
    from plugplay import denoisers, io
    from plugplay.cli import report

    data_range = numbers(common.data_range, "--data-range", float)
    if common.denoiser not in denoisers.available():
        raise UsageError(f"there is no denoiser {common.denoiser!r}; known are {', '.join(denoisers.available())}")
    jobs = collect(
        common.inputs,
        common.output,
        accepts=accepts or io.is_image_name,
        writable=io.is_image_name,
        suffix=common.suffix or suffix,
    )
    if common.plot is not None and len(jobs) > 1 and common.plot.suffix:
        raise UsageError(f"several inputs need a folder for their plots, but --plot is the file {common.plot}")
    signal.signal(signal.SIGTERM, _terminate)
    outcomes: list[Outcome] = []
    try:
        for number, job in enumerate(jobs):
            label = str(job.relative) if len(jobs) == 1 else f"[{number + 1}/{len(jobs)}] {job.relative}"
            outcome = _one(Runner(common, job, label, data_range, usual_limit), process, several=len(jobs) > 1)
            outcomes.append(outcome)
            report.show(outcome, common)
    except KeyboardInterrupt:
        done = sum(outcome.status != "failed" for outcome in outcomes)
        _say(f"interrupted: {done} of {len(jobs)} done; the same command goes on from here")
        raise typer.Exit(INTERRUPTED) from None
    if len(jobs) > 1:
        report.summary(outcomes, common)
    if any(outcome.status == "failed" for outcome in outcomes):
        raise typer.Exit(SOME_FAILED)


def _one(runner: Runner, process: Callable[[Runner], Product], *, several: bool) -> Outcome:
    """Process one job; whatever goes wrong concerns this one only."""
    from plugplay import io
    from plugplay.cli import report

    common, job, began = runner.common, runner.job, time.perf_counter()
    if job.target.exists() and not common.overwrite:
        return Outcome(job, "skipped")
    try:
        with _shown_warnings(runner.warned):
            if not io.is_image_name(job.target):
                raise ValueError(f"{job.target}: name an output format, e.g. with --format png")
            if common.reference is not None:
                path = companion(common.reference, job, "reference", io.is_image_name)
                runner.reference = io.read(path)
            product = process(runner)
            image = _in_depth(product.image, common.depth)
            job.target.parent.mkdir(parents=True, exist_ok=True)
            io.write(job.target, image)
            quality = report.quality(product, runner.reference)
            if common.plot is not None:
                folder = several or not common.plot.suffix
                plot = common.plot / job.relative.with_suffix(".png") if folder else common.plot
                report.write_plot(plot, product, runner.reference)
    except Exception as error:  # a decoder, a denoiser, a plug-in: the other files must not suffer for it
        if common.debug:
            traceback.print_exc()
        return Outcome(job, "failed", error=_one_line(error), warnings=tuple(runner.warned))
    seconds = time.perf_counter() - began
    return Outcome(job, "restored", None, product, quality, seconds, tuple(runner.warned))


def _in_depth(image: ImageFile, depth: Depth) -> ImageFile:
    if depth is Depth.SAME:
        return image
    return image.converted({Depth.INTEGER8: "u1", Depth.INTEGER16: "u2", Depth.FLOAT32: "f4"}[depth])


@contextmanager
def _shown_warnings(kept: list[str]) -> Iterator[None]:
    """Show warnings as single lines when they arise, before anything is written, and keep their texts."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in kept:
            kept.append(text)
            _say(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    known = isinstance(error, ValueError | TypeError | OSError)
    return text if known and text else f"{type(error).__name__}: {text}".removesuffix(": ")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _terminate(*_: object) -> None:
    # Leaves through the same cleaning-up as any error, so that no half-written file stays behind.
    raise SystemExit(TERMINATED)
