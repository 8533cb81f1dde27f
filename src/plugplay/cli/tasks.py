"""One job from source to sink.

A `Task` is a plain record that can be pickled, so that jobs can be done by any executor: one after another, or in other
processes.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from plugplay.cli.jobs import Job, companion
from plugplay.cli.notices import Notices, one_line
from plugplay.cli.outcomes import Outcome, failure

if TYPE_CHECKING:
    from plugplay.cli.planning import Settings, Verb
    from plugplay.cli.sinks import Sink
    from plugplay.cli.sources import Source
    from plugplay.scale import Executor

__all__ = ["Task"]

# What a process takes with all its libraries, and more for each value of the restored image: a colour photograph of 3
# megapixels took 65 bytes each for denoising and 92 for deblurring (/usr/bin/time plugplay ... --workers 1).
WORKER_BYTES = 2**28
BYTES_PER_VALUE, LOOP_BYTES_PER_VALUE = 70, 100
# Side of the part by which the time is estimated.
TRIAL = 192


@dataclass(frozen=True)
class Task:
    """Everything that the jobs of one command have in common; calling it does a job.

    Attributes
    ----------
    verb : Verb
        What the command is about.
    settings : Settings
        How it restores.
    sink : Sink
        Where results go.
    plot : Path, optional
        A file for reports, or a folder of them.
    overwrite, quiet, debug : bool
        As on the command line.
    crew : Executor, optional
        Who restores the images of a video, if this process does not do it alone.
    sent : bool
        Whether a worker has it, whose terminal is not the user's.
    """

    verb: Verb
    settings: Settings
    sink: Sink
    plot: Path | None = None
    overwrite: bool = False
    quiet: bool = False
    debug: bool = False
    crew: Executor | None = None
    sent: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "sent": True}

    def __call__(self, job: Job, threads: int | None = None) -> Outcome:
        """Do a job with so many threads; whatever goes wrong concerns this one only."""
        if threads is not None:
            return replace(self, settings=replace(self.settings, workers=threads))(job)
        if self.sent and not self.quiet:
            return replace(self, quiet=True)(job)
        notices = Notices(job, silent=self.sent)
        try:
            with notices:
                return replace(self._done(job, notices), silent=self.sent)
        except Exception as error:  # a decoder, a denoiser, a plug-in: the other files must not suffer for it
            if self.debug:
                traceback.print_exc()
            return Outcome(job, "failed", error=one_line(error), warnings=notices.texts, silent=self.sent)

    def warm(self) -> None:
        """Compile what jobs will need, on the smallest of images."""
        import numpy as np

        import plugplay as pp

        for shape in ((32, 32), (32, 32, 3)):
            image = np.random.default_rng(0).random(shape, np.float32)
            axis = -1 if len(shape) == 3 else None
            pp.denoise(image, denoiser=self.settings.denoiser, noise=0.1, channel_axis=axis, workers=1)

    def needs(self, job: Job) -> int:
        """Return about how many bytes of memory a job takes, from the header of its source."""
        each = BYTES_PER_VALUE if self.verb.name == "denoise" else LOOP_BYTES_PER_VALUE
        return WORKER_BYTES + each * self.values(job) * int(self.verb.options().get("factor", 1)) ** 2

    def values(self, job: Job) -> int:
        """Return how many numbers the source of a job holds, from its header; 0 if that is not known."""
        from plugplay.io.extents import values_in

        return 0 if job.source is None else values_in(job.source)

    def is_pending(self, job: Job) -> bool:
        """Tell whether there is something to do, and nothing in its way."""
        try:
            return job.source is not None and not self.is_finished(job, self.recipe(job, job.source))
        except Exception:  # told when its turn comes
            return False

    def trial(self, job: Job) -> float | None:
        """Return about how many seconds a value of an image takes, on one core; None if that cannot be told."""
        from plugplay.cli.sources import ImageSource

        try:
            source = self.verb.read(cast("Path", job.source), job, self.settings)
            if not isinstance(source, ImageSource):
                return None
            page = source.page(0)
            middle = tuple(slice(max(n - TRIAL, 0) // 2, max(n - TRIAL, 0) // 2 + TRIAL) for n in page.pixels.shape[:2])
            seen = None if page.observed is None else page.observed[middle]
            part = replace(page, pixels=page.pixels[middle], observed=seen, reference=None)
            self.warm()
            began = time.perf_counter()
            replace(self.settings, workers=1).plan(part, self.verb.model(source, part)).run()
        except Exception:  # told when its turn comes
            return None
        return (time.perf_counter() - began) / part.pixels.size

    def rehearse(self, job: Job) -> str:
        """Say what would be done."""
        from plugplay.cli.sources import local_copy

        try:
            with local_copy(job) as path:
                finished = self.is_finished(job, self.recipe(job, path))
                size = "" if finished else f", {self.verb.size(path, self.settings)}"
                if self.crew is not None and not finished:
                    size += f", {self._rehearsed(self.crew, path, job)}"
        except Exception as error:
            return f"would fail: {failure(job, one_line(error))}"
        return f"would {'skip' if finished else 'restore'} {job.source_name} -> {job.target_name}{size}"

    def _rehearsed(self, crew: Executor, path: Path, job: Job) -> str:
        from plugplay.cli.windows import rehearsed

        source = self.verb.read(path, job, self.settings)
        return rehearsed(crew, source, self.verb, self.settings, bytes_each=_bytes_of_page(source))

    def plot_of(self, job: Job) -> Path | None:
        """Return where the report about a job goes."""
        if self.plot is None:
            return None
        folder = job.count > 1 or not self.plot.suffix
        return self.plot / job.relative.with_suffix(".png") if folder else self.plot

    def files_of(self, job: Job) -> Iterator[tuple[str, Path]]:
        """Yield the files beside its source that a job reads, with the option that names each."""
        from plugplay import io

        more = {"--reference": self.settings.reference, "--weights": self.settings.weights}
        for option, path in {**self.verb.files(), **more}.items():
            if path is not None:
                try:
                    yield option, companion(path, job, option.lstrip("-"), io.is_image_name)
                except ValueError:
                    continue  # it fails when its turn comes

    def _done(self, job: Job, notices: Notices) -> Outcome:
        from plugplay import io
        from plugplay.cli.checkpoints import remove_checkpoints
        from plugplay.cli.plotting import write_plot
        from plugplay.cli.restoring import Restoration
        from plugplay.cli.sources import local_copy

        began = time.perf_counter()
        if job.target is not None and not io.is_image_name(job.target):
            raise ValueError(f"{job.target}: name an output format, e.g. with --format png")
        with local_copy(job) as path:
            io.check_regular(path)
            recipe = self.recipe(job, path)
            if self.is_finished(job, recipe):
                return Outcome(job, "skipped")
            source = self.verb.read(path, job, self.settings)
            format_ = None if job.target is not None or job.source is not None else io.sniff(path)
        for note in source.notes:
            notices.add(note)
        for doubt in source.doubts:
            notices.add(doubt, doubtful=True)
        crew = None
        if self.crew is not None and source.count > 1:
            from plugplay.scale.whole import crew_for

            crew = crew_for(self.crew, source.count)
        restoration = Restoration(
            source,
            job,
            self.verb,
            self.settings,
            recipe=recipe,
            notices=notices,
            quiet=self.quiet,
            crew=None if crew is None or crew.slots == 1 else crew,
            bytes_each=_bytes_of_page(source),
        )
        image = source.restored(
            restoration.images(), dtype=self.sink.dtype, holds_floats=self.sink.holds_floats(job, format_)
        )
        assert restoration.first is not None  # every source has a page
        _, parameters = restoration.first
        # Integers that became floats keep the black and white of their type.
        worked = parameters.working_range if source.before().dtype.kind == "f" else None
        image = self.sink.write(job, image, recipe, working_range=worked, sniffed=format_)
        if job.target is not None:
            remove_checkpoints(job.target)
        plot = self.plot_of(job)
        if plot is not None:
            write_plot(plot, source, image, *restoration.first)
        return Outcome(
            job,
            "restored",
            seconds=time.perf_counter() - began,
            warnings=notices.texts,
            doubtful=notices.doubtful,
            shape=image.pixels.shape,
            dtype=str(image.pixels.dtype),
            # A float file has no black and white of its own; what its numbers refer to is said instead.
            data_range=(parameters.data_range if image.pixels.dtype.kind == "f" else None) or image.data_range,
            channels=image.pixels.shape[-1] if image.colour else None,
            pages=tuple(restoration.figures),
        )

    def recipe(self, job: Job, path: Path) -> str:
        """Return the digest of everything that decides about the result; `path` is where the source is."""
        from plugplay.io.manifest import content_digest, recipe_digest, stamp

        inputs: dict[str, Any] = {option: stamp(file) for option, file in self.files_of(job) if option != "--reference"}
        inputs["source"] = content_digest(path) if job.source is None else stamp(path)
        options = {
            "verb": self.verb.name,
            **self.verb.options(),
            "settings": self.settings.options(),
            "depth": self.sink.depth.value,
        }
        return recipe_digest(inputs, options)

    def is_finished(self, job: Job, recipe: str) -> bool:
        """Tell whether there is nothing to do; raise if the result would replace a file that is not ours."""
        from plugplay.io.manifest import Finding

        if self.overwrite:
            return False
        finding = self.sink.find(job, recipe)
        if finding is Finding.FOREIGN:
            raise FileExistsError(
                f"{job.target} exists, and was not made by plugplay or has been changed since; --overwrite replaces it"
            )
        plot = self.plot_of(job)
        return finding is Finding.SAME and (plot is None or plot.exists())


def _bytes_of_page(source: Source) -> int:
    return WORKER_BYTES + LOOP_BYTES_PER_VALUE * source.pixels
