"""Running plans: the pages of a source, one after another, with progress and checkpoints."""

from __future__ import annotations

import gc
import math
from typing import TYPE_CHECKING

from plugplay.cli.checkpoints import Checkpoint
from plugplay.cli.outcomes import PageFigures, page_figures
from plugplay.cli.progress_display import Display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugplay.arrays.checks import FloatArray
    from plugplay.cli.jobs import Job
    from plugplay.cli.notices import Notices
    from plugplay.cli.planning import Settings, Verb
    from plugplay.cli.sources import Source
    from plugplay.plan import Plan
    from plugplay.pnp.results import Parameters, Result
    from plugplay.pnp.state import History, State
    from plugplay.scale import Executor

__all__ = ["Restoration", "finish", "follows"]

# A run leaves reference cycles behind, whose arrays are freed by the garbage collector only. It counts objects, not
# bytes, so it is called after pages with more pixels than this.
COLLECTED = 2**16


class Restoration:
    """The restoration of one source; `images` does a page whenever the next image is asked for.

    Parameters
    ----------
    source : Source
        The pages.
    job : Job
        The job.
    verb, settings
        The model of the image, and how it is restored.
    recipe : str
        The digest of everything that determines the result.
    notices : Notices
        Collects warnings.
    quiet : bool
        Whether no progress is shown.
    crew : Executor, optional
        An executor that restores several pages at a time; by default they are restored here, one after another.
    bytes_each : int
        The memory that a page takes then.

    Attributes
    ----------
    figures : list of PageFigures
        Figures of the pages that are done. Their arrays are not kept.
    first : (History, Parameters), optional
        History and parameters of the first page, for the report.
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
        crew: Executor | None = None,
        bytes_each: int = 0,
    ) -> None:
        self._crew, self._bytes_each = crew, bytes_each
        self._source, self._job, self._verb, self._settings = source, job, verb, settings
        self._recipe, self._notices, self._quiet = recipe, notices, quiet
        self.figures: list[PageFigures] = []
        self.first: tuple[History, Parameters] | None = None

    def images(self) -> Iterator[FloatArray]:
        """Yield the restored pages."""
        if self._crew is not None:
            yield from self._images_by(self._crew)
            return
        for number in range(self._source.count):
            yield self._page(number)
            if self._source.pixels >= COLLECTED:
                gc.collect()

    def _images_by(self, crew: Executor) -> Iterator[FloatArray]:
        from plugplay.cli.windows import windows_by

        windows = windows_by(
            crew,
            self._source,
            self._job,
            self._verb,
            self._settings,
            recipe=self._recipe,
            bytes_each=self._bytes_each,
            quiet=self._quiet,
        )
        for window in windows:
            for text in window.notices:
                self._notices.add(text, page=len(self.figures))
            self._take_down(window.figures)
            self.first = self.first or window.course
            yield window.image

    def _take_down(self, figures: PageFigures) -> None:
        for text in figures.warnings or ((figures.advice,) if figures.doubtful else ()):
            self._notices.add(text, doubtful=figures.doubtful, page=len(self.figures))
        self.figures.append(figures)

    def _page(self, number: int) -> FloatArray:
        page = self._source.page(number)
        plan = self._settings.plan(page, self._verb.model(self._source, page))
        for text in plan.warnings:
            self._notices.add(text, page=number)
        # A search for lambda, which is most of the work, cannot be resumed.
        checkpoint = Checkpoint(None if self._settings.tune else self._job.target, self._recipe, number)
        start = checkpoint.load()
        if start is not None:
            if follows(plan.parameters, start):
                plan = plan.resumed(start)
            else:
                start = None
        label, count = self._job.label, self._source.count
        display = Display(
            label if count == 1 else f"{label}, page {number + 1}/{count}",
            plan.parameters,
            pixels=self._source.pixels,
            first=0 if start is None else start.iteration,
            quiet=self._quiet,
        )
        with display:
            result = finish(plan, display, checkpoint)
        self._take_down(page_figures(page, result, verb=self._verb.name))
        if self.first is None:
            self.first = (result.history, result.parameters)
        return result.image


def follows(parameters: Parameters, state: State) -> bool:
    """Tell whether a state was reached with the lambda of these parameters, which is sigma² rho.

    If the data contradict the assumed noise, a run is repeated with another lambda. Only states before that lead to the
    same result again.
    """
    (low, high), (black, white) = parameters.data_range or (0, 1), parameters.working_range or (0, 1)
    gain = (high - low) / (white - black)
    used = float(state.history.sigma[-1] ** 2 * state.history.rho[-1]) / gain**2
    return math.isclose(used, parameters.lam, rel_tol=1e-6)


def finish(plan: Plan, display: Display, checkpoint: Checkpoint) -> Result:
    """Run a plan to its end; save a checkpoint if it is interrupted."""
    states = plan.iterate(progress=display.share)
    state: State | None = None
    try:
        while True:
            state = next(states)
            display.update(state)
            if plan.parameters.max_iter > 1 and follows(plan.parameters, state):
                checkpoint.update(state)
    except StopIteration as end:
        result: Result = end.value
        return result
    except (KeyboardInterrupt, SystemExit):
        if state is not None and follows(plan.parameters, state):
            checkpoint.save(state)
        raise
