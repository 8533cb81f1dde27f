"""The windows of a photon video, side by side."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.cli.outcomes import PageFigures, page_figures
from plugplay.cli.part_progress import PartProgress

if TYPE_CHECKING:
    from pathlib import Path

    from plugplay.arrays.checks import FloatArray
    from plugplay.cli.jobs import Job
    from plugplay.cli.planning import Settings, Verb
    from plugplay.cli.sources import Source
    from plugplay.pnp.results import Parameters
    from plugplay.pnp.state import History
    from plugplay.scale import Executor

__all__ = ["Window", "rehearsed", "windows_by"]


@dataclass(frozen=True)
class Window:
    """A restored window.

    Attributes
    ----------
    image : array
        What was restored.
    figures : PageFigures
        About its run.
    notices : tuple of str
        What was noticed before it.
    course : (History, Parameters), optional
        The run of the first window, for the report.
    """

    image: FloatArray
    figures: PageFigures
    notices: tuple[str, ...]
    course: tuple[History, Parameters] | None


@dataclass(frozen=True, eq=False)
class _Windows:
    """Restores a window by its number, and keeps it in a file; made for workers."""

    source: Source
    verb: Verb
    settings: Settings
    work: Path

    def __call__(self, number: int, threads: int) -> tuple[History, Parameters] | None:
        from plugplay.io.atomic import atomic

        page = self.source.page(number)
        plan = replace(self.settings, workers=threads).plan(page, self.verb.model(self.source, page))
        result = plan.run()
        figures = page_figures(page, result, verb=self.verb.name)
        record = json.dumps({"figures": asdict(figures), "notices": plan.warnings})
        with atomic(self.part(number)) as temporary, temporary.open("wb") as stream:
            np.savez(stream, image=result.image, record=np.array(record))
        return (result.history, result.parameters) if number == 0 else None

    def part(self, number: int) -> Path:
        """Return where a window is kept."""
        return self.work / "parts" / f"{number:06}.npz"

    def load(self, number: int, course: tuple[History, Parameters] | None) -> Window:
        """Return a window that is done."""
        with np.load(self.part(number)) as kept:
            image, record = kept["image"], json.loads(str(kept["record"]))
        told: dict[str, Any] = record["figures"]
        figures = PageFigures(**{**told, "warnings": tuple(told["warnings"])})
        return Window(image, figures, tuple(record["notices"]), course if number == 0 else None)

    def warm(self) -> None:
        """Compile what windows need."""
        import plugplay as pp

        image = np.random.default_rng(0).random((32, 32), np.float32)
        pp.denoise(image, denoiser=self.settings.denoiser, noise=0.1, workers=1)


def rehearsed(crew: Executor, source: Source, verb: Verb, settings: Settings, *, bytes_each: int) -> str:
    """Say how many images a video has, how many are done at a time, in how much memory, and how long it takes."""
    from plugplay.cli.progress_display import duration
    from plugplay.scale.executors import room_for

    slots = room_for(crew, source.count, bytes_each)
    for _ in range(2):  # the first time compiles
        began = time.perf_counter()
        page = source.page(0)
        replace(settings, workers=1).plan(page, verb.model(source, page)).run()
    seconds = (time.perf_counter() - began) * source.count / slots
    height, width = page.pixels.shape[-2:]
    return (
        f"{source.count} images of {width} x {height}, {slots} at a time in {slots * bytes_each / 2**30:.1f} GiB, "
        f"about {duration(seconds)}"
    )


def windows_by(
    crew: Executor,
    source: Source,
    job: Job,
    verb: Verb,
    settings: Settings,
    *,
    recipe: str,
    bytes_each: int,
    quiet: bool,
) -> Iterator[Window]:
    """Restore all windows, then yield them in their order; those that an interrupted run has finished are taken up.

    Unless it is `quiet`, how many are done is shown.

    Raises
    ------
    PartError
        If windows failed; the others are kept.
    """
    from plugplay.scale.large import PartError, work_folder

    assert job.target is not None  # a video is written to a file
    work = work_folder(job.target, recipe)
    windows = _Windows(source, verb, settings, work)
    # The first is done in any case: the report shows its course.
    missing = [number for number in range(source.count) if number == 0 or not windows.part(number).exists()]
    course: tuple[History, Parameters] | None = None
    failures = []
    with PartProgress(job.label, quiet=quiet, parts="images") as progress:
        progress.update(source.count - len(missing), source.count)
        for number, ended in enumerate(crew.map(windows, missing, needs=lambda _: bytes_each, warm=windows.warm)):
            progress.update(source.count - len(missing) + number + 1, source.count)
            if ended.error is not None:
                failures.append(f"window {ended.item + 1}: {ended.error}")
            elif ended.item == 0:
                course = ended.value
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise PartError(f"{failures[0]}{more}; the rest is kept: rerun to resume")
    for number in range(source.count):
        yield windows.load(number, course)
    shutil.rmtree(work, ignore_errors=True)
