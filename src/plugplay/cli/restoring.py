"""Running plans: the pages of a source, one after another, with progress and checkpoints."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from plugplay.cli.checkpoints import Checkpoint
from plugplay.cli.outcomes import PageFigures, page_figures
from plugplay.cli.progress_display import Display
from plugplay.pnp.results import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugplay.arrays.checks import FloatArray
    from plugplay.cli.jobs import Job
    from plugplay.cli.notices import Notices
    from plugplay.cli.planning import Settings, Verb
    from plugplay.cli.sources import Page, Source
    from plugplay.plan import Plan
    from plugplay.pnp.results import Parameters, Result
    from plugplay.pnp.state import History, State

__all__ = ["Restoration", "finish"]

# A run leaves objects behind that refer to each other, and with them its arrays, which wait for the garbage collector.
# It counts objects, not bytes: pages with more pixels than this are worth a call.
COLLECTED = 2**16


class Restoration:
    """The restoration of one source; `images` does a page whenever the next image is asked for.

    Parameters
    ----------
    source : Source
        What was read.
    job : Job
        What is done.
    verb, settings
        What happened to the image, and how it is restored.
    recipe : str
        The digest of what decides about the result.
    notices : Notices
        Where warnings go.
    quiet : bool
        Whether no progress is shown.

    Attributes
    ----------
    figures : list of PageFigures
        Those of the pages that are done. Their arrays are not kept.
    first : (History, Parameters), optional
        The course of the first page, for the report.
    """

    def __init__(
        self,
        source: Source,
        job: Job,
        verb: Verb,
        settings: Settings,
        *,
        recipe: str,
        notices: Notices,
        quiet: bool,
    ) -> None:
        self._source, self._job, self._verb, self._settings = source, job, verb, settings
        self._recipe, self._notices, self._quiet = recipe, notices, quiet
        self.figures: list[PageFigures] = []
        self.first: tuple[History, Parameters] | None = None

    def images(self) -> Iterator[FloatArray]:
        """Yield the restored pages."""
        for number in range(self._source.count):
            yield self._page(number)
            if self._source.pixels >= COLLECTED:
                gc.collect()

    def _page(self, number: int) -> FloatArray:
        page = self._source.page(number)
        checkpoint = Checkpoint(self._job.target, self._recipe, number)
        start = checkpoint.load()
        plan, result = self._run(page, number, checkpoint, start)
        if start is not None and result.status is Status.DOUBTFUL:
            # From a state, a run does not try again with other parameters; from the beginning it does.
            plan, result = self._run(page, number, checkpoint, None)
        single = self._verb.name == "denoise" and plan.parameters.max_iter == 1
        figures = page_figures(page, result, single_step=single)
        for text in result.warnings or ((figures.advice,) if figures.doubtful else ()):
            self._notices.add(text, doubtful=figures.doubtful)
        self.figures.append(figures)
        if self.first is None:
            self.first = (result.history, result.parameters)
        return result.image

    def _run(self, page: Page, number: int, checkpoint: Checkpoint, start: State | None) -> tuple[Plan, Result]:
        plan = self._settings.plan(page, self._verb.model(self._source, page), start=start)
        for text in plan.warnings:
            self._notices.add(text)
        label, count = self._job.label, self._source.count
        display = Display(
            label if count == 1 else f"{label}, page {number + 1}/{count}",
            plan.parameters,
            pixels=self._source.pixels,
            first=0 if start is None else start.iteration,
            quiet=self._quiet,
        )
        with display:
            return plan, finish(plan, display, checkpoint)


def finish(plan: Plan, display: Display, checkpoint: Checkpoint) -> Result:
    """Run a plan to its end, or keep what an interruption would lose."""
    states = plan.iterate(progress=display.share)
    state: State | None = None
    try:
        while True:
            state = next(states)
            display.update(state)
            if plan.parameters.max_iter > 1:
                checkpoint.update(state)
    except StopIteration as end:
        result: Result = end.value
        return result
    except (KeyboardInterrupt, SystemExit):
        if state is not None:
            checkpoint.save(state)
        raise
