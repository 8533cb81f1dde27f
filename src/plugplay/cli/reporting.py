"""Reports of the restoring commands: lines for people, JSON for machines."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from plugplay.arrays.records import plain
from plugplay.cli.notices import kind_of
from plugplay.cli.outcomes import failure
from plugplay.cli.terminal import err, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugplay.cli.outcomes import Outcome, PageFigures

__all__ = ["Reporter"]

_ENDED = {
    "CONVERGED": "converged",
    "MAX_ITERATIONS": "iteration limit reached",
    "FINISHED": "finished",
    "STOPPED": "stopped",
    "DIVERGED": "DIVERGED",
    "DOUBTFUL": "DOUBTFUL",
}


class Reporter:
    """Reports the outcomes of files, and counts them.

    Parameters
    ----------
    json, quiet, verbose : bool
        As on the command line.
    standard_output_taken : bool
        Whether the result itself goes to standard output, which leaves standard error to reports.
    """

    def __init__(self, *, json: bool, quiet: bool, verbose: bool, standard_output_taken: bool) -> None:
        self._json, self._quiet, self._verbose = json, quiet, verbose
        self._tell = err if standard_output_taken else out
        self._counts = Counter[str]()
        self._failures: list[str] = []
        self.doubtful = 0

    @property
    def failed(self) -> int:
        """Number of files that failed."""
        return self._counts["failed"]

    @property
    def finished(self) -> int:
        """Number of files that are done, now or earlier."""
        return self._counts["restored"] + self._counts["skipped"]

    def show(self, outcome: Outcome) -> None:
        """Report the outcome of a file."""
        self._counts[outcome.status] += 1
        self.doubtful += outcome.doubtful
        if outcome.error is not None:
            self._failures.append(failure(outcome.job, outcome.error))
        if self._json:
            self._tell(json.dumps(_record(outcome), allow_nan=False))
        elif outcome.error is not None:
            err(f"plugplay: {self._failures[-1]}")
        elif not self._quiet:
            for line in _lines(outcome, verbose=self._verbose):
                self._tell(line)

    def summary(self) -> None:
        """Report how many files were restored, and which were not."""
        counts = [f"{self._counts[status]} {status}" for status in ("restored", "skipped", "failed")]
        if self.doubtful:
            counts.append(f"{self.doubtful} doubtful")
        if not self._quiet:
            (err if self._json else self._tell)(", ".join(counts))
        for text in self._failures:
            err(f"failed: {text}")


def _lines(outcome: Outcome, *, verbose: bool) -> list[str]:
    if outcome.status == "skipped":
        return [f"{outcome.job.target_name}: exists, skipped (--overwrite restores it again)"]
    pages = outcome.pages
    height, width = outcome.shape[-3:-1] if outcome.channels else outcome.shape[-2:]
    kind = f"{outcome.channels} channels" if outcome.channels else "gray"
    if all(page.parameters["equal_channels"] for page in pages):
        kind = f"gray in {kind}"
    count = f", {len(pages)} pages" if len(pages) > 1 else ""
    low, high = outcome.data_range
    curve = pages[0].parameters["transfer"]
    light = "" if curve == "linear" else f", restored in linear light ({curve})"
    ended = _ended(pages)
    doubted = outcome.doubtful and not any(word in ended for word in ("DOUBTFUL", "DIVERGED"))  # said once
    lines = [
        f"{outcome.job.source_name} -> {outcome.job.target_name}",
        f"  {width} x {height}, {kind}, {outcome.dtype}{count}, black {low:g}, white {high:g}{light}",
        f"  {ended}, {sum(page.seconds for page in pages):.1f} s{' (DOUBTFUL)' * doubted}",
    ]
    # A single denoising has nothing but its noise level.
    chosen = [key for key in pages[0].chosen if key == "noise" or not _is_single(pages)]
    if chosen:
        lines.append(f"  chosen: {', '.join(f'{key} {_span(pages, key)}' for key in chosen)}")
    if pages[0].quality:
        lines.append(f"  {_quality(pages)}")
    if verbose:
        for number, page in enumerate(pages):
            name = f"page {number + 1}: " if len(pages) > 1 else ""
            lines += [f"  {name}{line}" for line in _everything(page)]
    return lines


def _ended(pages: Sequence[PageFigures]) -> str:
    """Summarise the statuses of all pages in a few words."""
    if _is_single(pages):
        return "denoised"
    ends = Counter(_ENDED.get(page.result, page.result.lower()) for page in pages)
    words = next(iter(ends)) if len(ends) == 1 else ", ".join(f"{count} {end}" for end, count in ends.most_common())
    fewest, most = min(page.iterations for page in pages), max(page.iterations for page in pages)
    iterations = f"{most} iteration{'s' * (most != 1)}" if fewest == most else f"{fewest} to {most} iterations"
    return f"{words} after {iterations}"


def _everything(page: PageFigures) -> list[str]:
    given = [key for key in page.parameters if key not in (*page.chosen, "chosen") and page.parameters[key] is not None]
    used = f"used: {', '.join(f'{key} {_text(page.parameters[key])}' for key in given)}"
    return [used] if _is_single([page]) and not page.doubtful else [used, page.advice]


def _is_single(pages: Sequence[PageFigures]) -> bool:
    """Tell whether the restoration was a single call of the denoiser."""
    return all(
        page.iterations == 1
        and (page.result == "FINISHED" or (page.parameters["max_iter"] == 1 and "max_iter" in page.chosen))
        for page in pages
    )


def _quality(pages: Sequence[PageFigures]) -> str:
    ratios = [page.quality["psnr"] for page in pages]
    similar = [page.quality["ssim"] for page in pages if page.quality["ssim"] is not None]
    low, high = pages[0].quality["range"]
    mean = "mean " if len(pages) > 1 else ""
    ssim = f", SSIM {sum(similar) / len(similar):.4f}" if similar else ""
    return f"{mean}PSNR {sum(ratios) / len(ratios):.2f} dB{ssim} (data range {low:g} to {high:g})"


def _record(outcome: Outcome) -> dict[str, Any]:
    record: dict[str, Any] = {
        "input": outcome.job.source_name,
        "output": outcome.job.target_name,
        "status": outcome.status,
        "error": outcome.error,
        "warnings": list(outcome.warnings),
        "doubtful": outcome.doubtful,
        "seconds": round(outcome.seconds, 3),
    }
    if outcome.status == "restored":
        record["shape"] = list(outcome.shape)
        record["dtype"] = outcome.dtype
        record["data_range"] = list(outcome.data_range)
        record["pages"] = [_page_record(page, _told_for_all(outcome.pages)) for page in outcome.pages]
    return record


def _told_for_all(pages: Sequence[PageFigures]) -> set[str]:
    """Return the kinds of warnings that are said once for a stack, because they are about all of its pages."""
    return set.intersection(*(set(map(kind_of, page.warnings)) for page in pages)) if len(pages) > 1 else set()


def _page_record(page: PageFigures, told: set[str]) -> dict[str, Any]:
    measured = {key: value for key, value in page.quality.items() if key != "range"}
    return {
        "result": page.result,
        "warnings": [text for text in page.warnings if kind_of(text) not in told],
        "iterations": page.iterations,
        "parameters": page.parameters,
        **plain(measured),
    }


def _span(pages: Sequence[PageFigures], key: str) -> str:
    """Return a parameter of all pages: one value, or the lowest and the highest."""
    values = [page.parameters[key] for page in pages]
    if all(value == values[0] for value in values):
        error = pages[0].parameters["noise_uncertainty"] if key == "noise" else None
        return _text(values[0]) + (f" ± {error:.2g}" if isinstance(error, float) else "")
    if all(isinstance(value, int | float) for value in values):
        return f"{_text(min(values))} to {_text(max(values))}"
    return f"{_text(values[0])} (first page)"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        inner = ", ".join(f"{key}={_text(item)}" for key, item in value.items() if key != "kind")
        return f"{value.get('kind', '')}({inner})"
    if isinstance(value, list):
        return f"({', '.join(map(_text, value))})"
    return str(value)
