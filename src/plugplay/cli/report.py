"""What the restoring commands tell: lines for people, JSON for machines, images for both."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from plugplay.cli.batch import Outcome, Product
    from plugplay.cli.options import Common
    from plugplay.io import ImageFile
    from plugplay.pnp.results import Parameters, Result

__all__ = ["quality", "show", "summary", "write_plot"]

# The longer side of an image in a report, in pixels.
PLOTTED = 800


def show(outcome: Outcome, common: Common) -> None:
    """Print what became of a file."""
    if common.json:
        _out(json.dumps(_record(outcome), allow_nan=False))
    elif outcome.status == "failed":
        _err(f"plugplay: {_failure(outcome)}")
    elif outcome.status == "skipped":
        _out(f"{outcome.job.target} is there already: skipped (--overwrite does it again)")
    else:
        for line in _lines(outcome, verbose=common.verbose):
            _out(line)


def summary(outcomes: Sequence[Outcome], common: Common) -> None:
    """Print how many files were restored, and which were not."""
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    counts = [f"{sum(o.status == status for o in outcomes)} {status}" for status in ("restored", "skipped", "failed")]
    (_err if common.json else _out)(", ".join(counts))
    for outcome in failed:
        _err(f"failed: {_failure(outcome)}")


def quality(product: Product, reference: ImageFile | None) -> tuple[dict[str, float | None], ...]:
    """Return PSNR and SSIM of each page against its reference, both on the scale [0, 1] and clipped to it."""
    if reference is None:
        return ()
    import numpy as np
    from skimage.metrics import structural_similarity

    from plugplay.cli.companions import reference_pages
    from plugplay.metrics import psnr

    truths = reference_pages(reference, product.image) or []
    low, high = product.image.data_range
    floats = product.image.pixels.dtype.kind == "f"
    measured = []
    for page, result in enumerate(product.results):
        pair = [np.asarray(a, np.float64) for a in (result.image, truths[page % len(truths)])]
        if floats:
            pair = [(a - low) / (high - low) for a in pair]
        image, truth = (np.clip(a, 0, 1) for a in pair)
        ssim = None
        if min(image.shape[:2]) >= 7:  # the size of SSIM's window
            axis = -1 if image.ndim == 3 else None
            ssim = float(structural_similarity(image, truth, data_range=1.0, channel_axis=axis))
        measured.append({"psnr": psnr(image, truth), "ssim": ssim})
    return tuple(measured)


def write_plot(path: Path, product: Product, reference: ImageFile | None) -> None:
    """Write an image of the first page before and after, of its reference, and of the convergence."""
    import io

    from matplotlib.figure import Figure
    from matplotlib.image import imread

    from plugplay.io.atomic import atomic

    low, high = product.image.data_range
    images = [("before", product.before), ("after", product.image.pages[0])]
    if reference is not None:
        images.append(("reference", reference.pages[0]))
    curves = io.BytesIO()
    product.results[0].plot().savefig(curves, format="png", dpi=110)
    curves.seek(0)
    figure = Figure(figsize=(4.2 * len(images), 7.2), layout="constrained")
    rows = figure.subplots(2, 1, height_ratios=(2.2, 1))
    rows[1].imshow(imread(curves, format="png"))
    rows[1].set_axis_off()
    places = rows[0].get_subplotspec().subgridspec(1, len(images))
    rows[0].remove()
    for place, (title, pixels) in zip(places, images, strict=True):
        axes = figure.add_subplot(place)
        axes.imshow(_small(pixels, low, high), cmap="gray", vmin=0, vmax=1)
        axes.set_title(f"{title} ({pixels.shape[1]} x {pixels.shape[0]})")
        axes.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        figure.savefig(temporary, dpi=110)


def _small(pixels: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    import numpy as np

    step = max(1, math.ceil(max(pixels.shape[:2]) / PLOTTED))
    unit = np.clip((pixels[::step, ::step].astype(np.float64) - low) / (high - low), 0, 1)
    return unit if unit.ndim == 2 or unit.shape[-1] == 3 else unit.mean(axis=-1)


def _failure(outcome: Outcome) -> str:
    error, source = str(outcome.error), str(outcome.job.source)
    return error if error.startswith(source) else f"{source}: {error}"


def _lines(outcome: Outcome, *, verbose: bool) -> list[str]:
    product = outcome.product
    assert product is not None  # it was restored
    image, results = product.image, product.results
    height, width = image.pages.shape[1:3]
    kind = f"{image.pages.shape[3]} channels" if image.colour else "gray"
    pages = f", {len(results)} pages" if len(results) > 1 else ""
    low, high = image.data_range
    lines = [
        f"{outcome.job.source} -> {outcome.job.target}",
        f"  {width} x {height}, {kind}, {image.pixels.dtype}{pages}, black {low:g}, white {high:g}",
    ]
    for page, result in enumerate(results):
        name = f"page {page + 1}: " if len(results) > 1 else ""
        count = len(result.history)
        ended = result.status.name.lower().replace("_", " ")
        seconds = float(result.history.seconds.sum())
        lines.append(f"  {name}{ended} after {count} iteration{'s' * (count != 1)}, {seconds:.1f} s")
        used = _parameters(result.parameters)
        # What a description of the noise left open was estimated.
        chosen = [
            key for key in used if key in result.parameters.chosen or (key == "noise" and isinstance(used[key], dict))
        ]
        if chosen:
            lines.append(f"  {name}chosen: {', '.join(f'{key} {_text(used[key])}' for key in chosen)}")
        if verbose:
            given = [key for key in used if key not in (*chosen, "chosen") and used[key] is not None]
            lines.append(f"  {name}used: {', '.join(f'{key} {_text(used[key])}' for key in given)}")
            lines.append(f"  {name}{result.status}")
        if outcome.quality:
            psnr, ssim = outcome.quality[page]["psnr"], outcome.quality[page]["ssim"]
            similar = "" if ssim is None else f", SSIM {ssim:.4f}"
            lines.append(f"  {name}PSNR {psnr:.2f} dB{similar} (data range {low:g} to {high:g})")
    return lines


def _record(outcome: Outcome) -> dict[str, Any]:
    record: dict[str, Any] = {
        "input": str(outcome.job.source),
        "output": str(outcome.job.target),
        "status": outcome.status,
        "error": outcome.error,
        "warnings": list(outcome.warnings),
        "seconds": round(outcome.seconds, 3),
    }
    product = outcome.product
    if product is not None:
        record["shape"] = list(product.image.pixels.shape)
        record["dtype"] = str(product.image.pixels.dtype)
        record["data_range"] = list(product.image.data_range)
        measured = outcome.quality or ({},) * len(product.results)
        pairs = zip(product.results, measured, strict=True)
        record["pages"] = [{**_page_record(result), **_plain(page)} for result, page in pairs]
    return record


def _page_record(result: Result) -> dict[str, Any]:
    return {
        "result": result.status.name,
        "iterations": len(result.history),
        "parameters": _parameters(result.parameters),
    }


def _parameters(parameters: Parameters) -> dict[str, Any]:
    """Return the parameters as plain values; the model is what the command is about, and is left out."""
    named = {f.name: getattr(parameters, f.name) for f in dataclasses.fields(parameters) if f.name != "model"}
    plain: dict[str, Any] = _plain(named)
    return plain


def _plain(value: object) -> Any:
    """Return something that JSON can say."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"kind": type(value).__name__, **inner}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        inner = ", ".join(f"{key}={_text(item)}" for key, item in value.items() if key != "kind")
        return f"{value.get('kind', '')}({inner})"
    if isinstance(value, list):
        return f"({', '.join(map(_text, value))})"
    return str(value)


def _out(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _err(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
