"""Restore images that are larger than memory in parts."""

from __future__ import annotations

import hashlib
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from plugplay.cli.jobs import Job, companion
from plugplay.cli.notices import Notices, one_line, spelt_as_options
from plugplay.cli.outcomes import Outcome, PageFigures, failure, plain_status
from plugplay.cli.part_progress import PartProgress
from plugplay.models import Denoising

if TYPE_CHECKING:
    from pathlib import Path

    from plugplay.cli.planning import Settings
    from plugplay.cli.sources import Source
    from plugplay.cli.tasks import Task
    from plugplay.scale import Executor
    from plugplay.scale.large import TileReport
    from plugplay.scale.stores import Store
    from plugplay.scale.whole import Parts

__all__ = ["PartsTask"]

_VERBS = ("denoise", "deblur", "inpaint", "upscale")
_ENDINGS = (".zarr", ".npy", ".tif", ".tiff")
# A mask for a model that wants one; each part gets its own.
_ANY = np.ones((8, 8), bool)


@dataclass(frozen=True)
class PartsTask:
    """Restores Zarr stores, and files that need more than ``--memory``, in parts.

    Attributes
    ----------
    task : Task
        The settings that all jobs share.
    crew : Executor
        The executor that restores the parts.
    memory : int, optional
        Bytes that parts restored at the same time may take together.
    """

    task: Task
    crew: Executor
    memory: int | None

    def wants(self, job: Job) -> bool:
        """Tell whether a job is done in parts."""
        if job.source is None or job.target is None or self.task.verb.name not in _VERBS:
            return False
        if ".zarr" in (job.source.suffix.lower(), job.target.suffix.lower()) or job.source.is_dir():
            return True
        if not {job.source.suffix.lower(), job.target.suffix.lower()} <= set(_ENDINGS):
            return False
        if self.memory is not None and self.task.needs(job) > self.memory:
            return True
        return self._is_stack(job.source)

    def _is_stack(self, source: Path) -> bool:
        """Tell whether the pages of a stack are tasks: if they share parameters, or there are workers for them."""
        from plugplay.io import ImageFileError
        from plugplay.scale import Adaptive
        from plugplay.scale.stores import opened

        settings = self.task.settings
        several = not isinstance(self.crew, Adaptive) and self.crew.slots > 1
        if settings.crop is not None or settings.reference is not None or self.task.plot is not None:
            return False
        if not (settings.shared_parameters or several):
            return False
        try:
            return opened(source).layout.pages > 1
        except (ImageFileError, OSError):
            return False

    def __call__(self, job: Job) -> Outcome:
        """Restore an image in parts; an error fails this job only."""
        from plugplay.scale import LostSchedulerError

        notices = Notices(job)
        try:
            with notices:
                return self._done(job, notices)
        except LostSchedulerError:
            raise
        except Exception as error:  # a decoder, a denoiser, a plug-in: other files must not suffer for it
            if self.task.debug:
                traceback.print_exc()
            return Outcome(job, "failed", error=one_line(error), warnings=notices.texts)

    def rehearse(self, job: Job) -> str:
        """Describe what would be done: the number of tiles, the memory and the time."""
        from plugplay.cli.progress_display import duration
        from plugplay.scale.executors import room_for

        assert job.source is not None  # `wants` said so
        try:
            if self.task.is_finished(job, self.task.recipe(job, job.source)):
                return f"would skip {job.source_name} -> {job.target_name}"
            parts, _ = self._parts(job)
            slots = room_for(self.crew, len(parts.grid), parts.bytes_per_tile)
            seconds = parts.trial() * len(parts.grid) / slots
        except Exception as error:
            return f"would fail: {failure(job, one_line(error))}"
        grid, layout = parts.grid, parts.layout
        height, width = layout.size
        tiles = f"{len(grid)} tile{'s' * (len(grid) > 1)} of {grid.core[1]} x {grid.core[0]}"
        pages = f", {layout.pages} pages" if layout.pages > 1 else ""
        memory = slots * parts.bytes_per_tile / 2**30
        return (
            f"would restore {job.source_name} -> {job.target_name}, {width} x {height}, {layout.dtype}{pages}, "
            f"{tiles} with a halo of {grid.halo}, {slots} at a "
            f"time in {memory:.1f} GiB, about {duration(seconds)}"
        )

    def _done(self, job: Job, notices: Notices) -> Outcome:
        assert job.source is not None  # `wants` said so
        assert job.target is not None
        began = time.perf_counter()
        recipe = self.task.recipe(job, job.source)
        if self.task.is_finished(job, recipe):
            return Outcome(job, "skipped")
        parts, notes = self._parts(job)
        for text in (*notes, *parts.choices.warnings):
            notices.add(text)
        cut = hashlib.sha256(f"{recipe} {parts.grid}".encode()).hexdigest()
        with PartProgress(job.label, quiet=self.task.quiet) as progress:
            record = partial(self.task.sink.record, job, recipe)
            reports = parts.run(self.crew, cut, ready=record, progress=progress.update)
        pages = _pages(parts, reports, time.perf_counter() - began)
        for number, page in enumerate(pages):
            for text in page.warnings or ((page.advice,) if page.doubtful else ()):
                notices.add(text, doubtful=page.doubtful, page=number)
        return Outcome(
            job,
            "restored",
            seconds=time.perf_counter() - began,
            warnings=notices.texts,
            doubtful=any(page.doubtful for page in pages),
            shape=parts.layout.shape,
            dtype=parts.layout.dtype,
            data_range=parts.choices.parameters.data_range or (0.0, 1.0),
            channels=parts.layout.channels if parts.layout.colour else None,
            pages=pages,
        )

    def _parts(self, job: Job) -> tuple[Parts, tuple[str, ...]]:
        """Prepare a job, and return warnings about its file."""
        from plugplay.cli.sources import Page
        from plugplay.scale.stores import opened
        from plugplay.scale.whole import Parts

        settings, verb = self.task.settings, self.task.verb
        assert job.source is not None  # `wants` said so
        assert job.target is not None
        if job.target.suffix.lower() not in _ENDINGS:
            raise ValueError(f"{job.target}: what is restored in parts is written as .zarr, .tif or .npy")
        for option, value in (
            ("--crop", settings.crop),
            ("--reference", settings.reference),
            ("--plot", self.task.plot),
        ):
            if value is not None:
                raise ValueError(f"{option} is for images that fit into memory, and this one is restored in parts")
        mask = _mask(verb, job)
        # The models of images follow from the options and from which pixels were observed.
        page = Page(np.empty(0), observed=_ANY if verb.name == "inpaint" else None)
        model = verb.model(cast("Source", None), page)
        source = opened(job.source)
        transfer, notes = _transfer(source, settings, optical=cast("Any", verb).optical)
        parts = Parts.of(
            source,
            job.target,
            model,
            {**settings.arguments(np.dtype(source.layout.dtype)), "transfer": transfer},
            memory=self.memory,
            mask=None if mask is None else opened(mask),
            dtype=self.task.sink.dtype,
            always_masked=verb.name == "inpaint",
            pages="shared" if settings.shared_parameters else "own",
        )
        return parts, notes


def _transfer(source: Store, settings: Settings, *, optical: bool) -> tuple[str, tuple[str, ...]]:
    """Return the transfer curve that is undone, and what a user should know about it, as for files in memory."""
    from plugplay.io.light import undone_transfer
    from plugplay.scale.choices import patches_of

    layout = source.layout
    sample = np.concatenate([source.read(layout.pages // 2, place).ravel() for place in patches_of(layout.size)])
    return undone_transfer(layout.transfer, sample, settings.data_range, settings.linear, optical=optical)


def _mask(verb: Any, job: Job) -> Path | None:
    from plugplay import io

    found = verb.files().get("--mask")
    return None if found is None else companion(found, job, "mask", io.is_image_name)


def _pages(parts: Parts, reports: list[TileReport], seconds: float) -> tuple[PageFigures, ...]:
    """Return the figures of each page."""
    single = isinstance(parts.model, Denoising) and parts.choices.parameters.max_iter == 1
    shared = parts.choices.parameters.plain()
    by_page: dict[int, list[TileReport]] = {}
    for report in reports:
        by_page.setdefault(report.page, []).append(report)
    return tuple(
        _figures(tiles, tiles[0].parameters or shared, seconds / len(by_page), single_step=single)
        for _, tiles in sorted(by_page.items())
    )


def _figures(tiles: list[TileReport], parameters: dict[str, Any], seconds: float, *, single_step: bool) -> PageFigures:
    """Return the figures of all tiles of a page together."""
    ends = Counter(tile.status for tile in tiles)
    bad = sum(ends[name] for name in ("DOUBTFUL", "DIVERGED"))
    texts: dict[str, list[str]] = {}
    for tile in tiles:
        for text in tile.warnings:
            texts.setdefault(spelt_as_options(text), []).append(tile.name)
    told = tuple(
        text if len(names) == len(tiles) else f"{text} ({len(names)} of {len(tiles)} tiles, such as {names[0]})"
        for text, names in texts.items()
    )
    return PageFigures(
        result=plain_status(ends.most_common(1)[0][0], single_step=single_step),
        advice=f"{len(tiles)} tile{'s' * (len(tiles) > 1)}: "
        + ", ".join(f"{count} {name.lower()}" for name, count in ends.most_common()),
        iterations=max(tile.iterations for tile in tiles),
        seconds=seconds,
        parameters=parameters,
        warnings=told,
        doubtful=bad > 0,
        quality={},
    )
