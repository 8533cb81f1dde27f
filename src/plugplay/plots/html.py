"""A result as a notebook shows it: before and after, what was used, and how the run went. Plain HTML, no scripts."""

from __future__ import annotations

import base64
import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.preview import small_plane

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.pnp.results import Parameters, Result
    from plugplay.pnp.state import History

__all__ = ["result_html"]

WIDTH, HEIGHT = 320, 120
# Numbers with more digits than anyone reads, within what schedules and noise say about themselves.
_LONG = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")


def result_html(result: Result) -> str:
    """Return a fragment of HTML that shows a result."""
    images = "".join(
        f'<figure style="margin:0"><img alt="{label}" src="{_png(pixels)}" style="max-width:320px;width:100%;'
        f'image-rendering:pixelated"><figcaption>{label}</figcaption></figure>'
        for label, pixels in _planes(result)
    )
    notes = "".join(f"<li>{escape(text)}</li>" for text in result.warnings)
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in _rows(result.parameters)
    )
    return (
        '<div class="plugplay-result" style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">'
        f"{images}<div><strong>{result.status.name}</strong> after {len(result.history)} iteration"
        f"{'' if len(result.history) == 1 else 's'}, {float(result.history.seconds.sum()):.1f} s"
        f"<br><em>{escape(str(result.status))}</em>{f'<ul>{notes}</ul>' if notes else ''}"
        f"<table>{rows}</table>{_curve(result.history, result.parameters.tol)}</div></div>"
    )


def _planes(result: Result) -> list[tuple[str, NDArray[np.uint8]]]:
    if result.preview is not None:
        look: dict[str, Any] = {
            "channel_axis": result.preview.channel_axis,
            "spatial_ndim": result.preview.spatial_ndim,
        }
        after = small_plane(result.image, result.preview.window, **look)
        return [("before", _displayable(result.preview.before)), ("after", _displayable(after))]
    image: Any = result.image
    if not isinstance(image, np.ndarray):  # a Dask array: showing it would compute it
        return []
    colour = image.ndim == 3 and image.shape[-1] in (3, 4)
    window = (0.0, 1.0)
    if float(np.min(image)) < -0.5 or float(np.max(image)) > 1.5:
        low, high = np.quantile(image, (0.001, 0.999))
        window = (float(low), float(high))
    spatial = 2 if colour or image.ndim == 2 else 3
    after = small_plane(image, window, channel_axis=-1 if colour else None, spatial_ndim=spatial)
    return [("after", _displayable(after))]


def _displayable(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return gray or RGB: other numbers of channels are averaged or cut."""
    if pixels.ndim == 2 or pixels.shape[-1] == 3:
        return pixels
    return pixels[..., :3] if pixels.shape[-1] > 3 else pixels.mean(axis=-1).astype(np.uint8)


def _png(pixels: NDArray[np.uint8]) -> str:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(stream, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


def _rows(parameters: Parameters) -> list[tuple[str, str]]:
    chosen = set(parameters.chosen)

    def tell(name: str, value: object) -> tuple[str, str]:
        text = _LONG.sub(lambda found: f"{float(found[0]):.4g}", str(value))
        return name, f"{text} (automatic)" if name in chosen else text

    rows = [("denoiser", parameters.denoiser), ("iteration", parameters.iteration)]
    if parameters.model is not None:
        rows.append(("model", type(parameters.model).__name__))
    if parameters.noise is not None:
        rows.append(tell("noise", parameters.noise))
    rows += [tell("lam", parameters.lam), tell("schedule", parameters.schedule)]
    if parameters.working_range is not None and parameters.working_range != parameters.data_range:
        low, high = parameters.working_range
        rows.append(("working range", f"{low:.4g} to {high:.4g}"))
    return rows


def _curve(history: History, tol: float) -> str:
    """Return delta against the iteration on a logarithmic scale, as SVG in the colour of the text around it."""
    delta = np.asarray(history.delta, np.float64)
    if len(delta) < 2 or not np.all(np.isfinite(delta)) or np.any(delta <= 0):
        return ""
    logs = np.log10(delta)
    marks = logs if tol <= 0 else np.append(logs, np.log10(tol))
    low, high = float(marks.min()), float(marks.max())
    span = max(high - low, 1e-9)

    def down(value: float) -> float:
        return 6 + (HEIGHT - 24) * (high - value) / span

    across = np.linspace(4, WIDTH - 4, len(logs))
    points = " ".join(f"{x:.1f},{down(float(y)):.1f}" for x, y in zip(across, logs, strict=True))
    limit = ""
    if tol > 0:
        y = down(float(np.log10(tol)))
        limit = (
            f'<line x1="4" x2="{WIDTH - 4}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-dasharray="2 4"/>'
        )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="change per iteration">'
        f'{limit}<polyline points="{points}" fill="none" stroke="#d1602e" stroke-width="2"/>'
        f'<text x="4" y="{HEIGHT - 3}" font-size="11" fill="currentColor">change per iteration, '
        f"{delta[0]:.2g} to {delta[-1]:.2g}; dotted: tolerance</text></svg>"
    )
