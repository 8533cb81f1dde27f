"""``plugplay deblur --contact-sheet``: a part of the image, restored with several kernels and strengths."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugplay.cli.image_verbs import Deblur
from plugplay.cli.jobs import STANDARD, Job, is_report
from plugplay.cli.options import ImageCommon, UsageError
from plugplay.cli.targets import check_targets
from plugplay.cli.terminal import err, out
from plugplay.cli.values import kernel_taps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from plugplay.cli.planning import Settings

__all__ = ["kernel_words", "write_contact_sheet"]

# Side of the part that is tried if the user does not choose one.
SIDE = 256
STRENGTHS = (0.5, 1.0, 2.0)
# The kernels that are tried if none is given.
FAMILY = ("gaussian:1", "gaussian:2", "disk:2", "disk:4", "motion:9,0", "motion:9,45", "motion:9,90", "motion:9,135")


def kernel_words(kernel: str | None) -> tuple[str, ...]:
    """Return the kernels to try: those around the given one, or one of each kind.

    Examples
    --------
    >>> kernel_words("disk:4")
    ('disk:3', 'disk:4', 'disk:5')
    >>> kernel_words("motion:20,30")
    ('motion:15,30', 'motion:20,15', 'motion:20,30', 'motion:20,45', 'motion:25,30')
    """
    if kernel is None:
        return FAMILY
    word, _, rest = kernel.partition(":")
    try:
        size, *more = (float(number) for number in rest.split(","))
    except ValueError:
        return (kernel,)
    if word == "motion":
        angle = more[0] if more else 0.0
        pairs = ((0.75 * size, angle), (size, angle - 15), (size, angle), (size, angle + 15), (1.25 * size, angle))
        return tuple(f"motion:{length:g},{direction:g}" for length, direction in pairs)
    if word in ("disk", "gaussian"):
        return tuple(f"{word}:{factor * size:g}" for factor in (0.75, 1.0, 1.25))
    if word == "box" and not more:
        return tuple(f"box:{side:g}" for side in sorted({max(size - 2, 1.0), size, size + 2}))
    return (kernel,)


def write_contact_sheet(
    common: ImageCommon, path: Path, kernel: str | None, *, boundary: str, mask: Path | None
) -> None:
    """Restore a part of one image with several settings, and draw the results with the options to type."""
    from plugplay.cli.planning import Settings
    from plugplay.cli.plotting import save_report

    settings = Settings.of(common)
    trials = [Deblur(word, kernel_taps(word), boundary, mask, exact=True) for word in kernel_words(kernel)]
    job = _job(common, path)
    assert job.source is not None  # not standard input
    named = {**trials[0].files(), "--reference": settings.reference, "--weights": settings.weights}
    read = [(f"the file of {option}", file) for option, file in named.items() if file is not None]
    check_targets([("--contact-sheet", path)], [("an input", job.source), *read])
    if path.exists() and not common.overwrite and not is_report(path):
        raise UsageError(f"--contact-sheet: {path} exists and is not a report; --overwrite replaces it")
    if settings.crop is None:
        settings = replace(settings, crop=_middle(job.source, settings.limit))
    strengths = tuple(factor * settings.strength for factor in STRENGTHS)
    tiles = [_tiles(trial, job, settings, strengths, quiet=common.quiet) for trial in trials]
    save_report(path, _drawn(tiles, [trial.kernel for trial in trials], strengths))
    if not common.quiet:
        out(f"{job.source} -> {path}: {len(trials)} kernels, {len(STRENGTHS)} strengths each")


def _job(common: ImageCommon, path: Path) -> Job:
    if common.output is not None:
        raise UsageError("--contact-sheet: the sheet is the only result, so --output is not needed")
    if len(common.inputs) != 1 or common.inputs[0] == STANDARD or not Path(common.inputs[0]).is_file():
        raise UsageError("--contact-sheet: it takes one image file")
    if path.suffix.lower() != ".png":
        raise UsageError(f"--contact-sheet: a PNG file is needed; got {path}")
    source = Path(common.inputs[0])
    return Job(source, None, Path(source.name))


def _middle(path: Path, limit: int | None) -> tuple[int, int, int, int]:
    """Return the middle of an image, as --crop takes it."""
    from plugplay import io

    height, width = io.read(path, limit=limit).pages.shape[1:3]
    rows, columns = min(height, SIDE), min(width, SIDE)
    return (width - columns) // 2, (height - rows) // 2, columns, rows


def _tiles(
    trial: Deblur, job: Job, settings: Settings, strengths: Sequence[float], *, quiet: bool
) -> list[NDArray[Any]]:
    """Return the restored part for each strength, as it is shown."""
    from plugplay.cli.plotting import shown

    assert job.source is not None  # not standard input
    source = trial.read(job.source, job, settings)
    page = source.page(0)
    tiles = []
    for strength in strengths:
        if not quiet:
            err(f"{job.relative}: trying --kernel {trial.kernel} --strength {strength:g}")
        plan = replace(settings, strength=strength).plan(page, trial.model(source, page))
        result = plan.run()
        used, full = (plan.parameters.working_range or (0.0, 1.0)), (plan.parameters.data_range or (0.0, 1.0))
        if page.pixels.dtype.kind != "f":  # integers come back on the nominal scale
            width = full[1] - full[0]
            used = ((used[0] - full[0]) / width, (used[1] - full[0]) / width)
        tiles.append(shown(result.image, used))
    return tiles


def _drawn(tiles: Sequence[Sequence[NDArray[Any]]], words: Sequence[str], strengths: Sequence[float]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(strengths), 3.4 * len(words)), layout="constrained")
    rows = figure.subplots(len(words), len(strengths), squeeze=False)
    for axes_row, row, word in zip(rows, tiles, words, strict=True):
        for axes, tile, strength in zip(axes_row, row, strengths, strict=True):
            axes.imshow(tile, cmap="gray", vmin=0, vmax=1)
            # A dollar sign would begin mathematics.
            axes.set_title(f"--kernel {word}\n--strength {strength:g}".replace("$", r"\$"), fontsize=8)
            axes.set_axis_off()
    return figure
