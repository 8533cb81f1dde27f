"""Draw ``docs/images/architecture.svg``: the floors of plugplay, and the way of a file and of an array through them.

Run ``python docs/tools/draw_architecture.py``. Written down by hand are the table of floors, which
``tests/test_architecture.py`` checks against the imports, and four functions that are shown although their own room
calls them (`SPINE`), if they are entered. The way is recorded: a tiny 16-bit TIFF and a tiny array are
deblurred under `sys.setprofile`, and every function by which one room of the package enters another is noted, in the
order of first entry. Checks of arguments (``arrays.checks``), which everybody calls, and properties are left out.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tifffile

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ROOT = Path(__file__).parents[2]
DRAWING = ROOT / "docs" / "images" / "architecture.svg"

# From the ground up: a module may import from its own floor and from those below it.
FLOORS = (
    ("arrays",),
    ("traits", "io", "metrics"),
    ("noise", "kernels", "compiling"),
    ("denoisers", "models"),
    ("pnp",),
    ("tuning",),
    ("clipping", "posing", "watching", "levels", "plan", "preparation"),
    ("reading", "restoration", "checks", "plots"),
    ("scale",),
    ("cli", "web", "napari"),
)
# Functions that belong to the way although they are called from within their own room.
SPINE = ("restore", "Plan.iterate", "ADMM.step", "Monotone.next_rho")
UNTOLD = ("plugplay.arrays.checks",)

WIDTH, MARGIN, LABEL = 1180, 16, 20
ROW, PADDING, MAX_ROWS = 18, 12, 5
FILE_ONLY, BOTH, FRAME, BAND, EMPTY = "#b3541e", "#1f2933", "#9aa5b1", "#f5f7fa", "#7b8794"


def room(module: str) -> str:
    """Return the room of a module: the first name below ``plugplay``."""
    return module.split(".")[1]


def recorded(action: Callable[[], object]) -> list[tuple[str, str]]:
    """Return the rooms that `action` enters and by which function, each once, in the order of first entry."""
    doors: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        module = _module(frame)
        if event != "call" or not module.startswith("plugplay.") or module in UNTOLD:
            return
        name = frame.f_code.co_qualname.removesuffix(".__call__")
        if name.startswith("_") or "._" in name or not _is_named(frame) or _is_property(frame):
            return
        caller = frame.f_back
        # Libraries that call back, and functions within functions, stand for whoever called them.
        while caller is not None and not (_module(caller).startswith("plugplay.") and _is_named(caller)):
            caller = caller.f_back
        if caller is None or room(_module(caller)) != room(module) or name in SPINE:
            doors[room(module), name] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return list(doors)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_named(frame: FrameType) -> bool:
    return "<" not in frame.f_code.co_qualname


def _is_property(frame: FrameType) -> bool:
    owner, _, name = frame.f_code.co_qualname.rpartition(".")
    return isinstance(inspect.getattr_static(frame.f_globals.get(owner), name, None), property)


def journeys() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the ways of a 16-bit TIFF file and of an array of the same pixels."""
    import plugplay as pp

    rows, columns = np.indices((20, 24))
    y = 0.2 + 0.6 * ((rows // 5 + columns // 6) % 2) + np.random.default_rng(0).normal(0, 0.02, rows.shape)
    y = np.round(65535 * np.clip(y, 0, 1)).astype(np.uint16)
    kernel = pp.kernels.gaussian(3, sigma=0.8)

    def array() -> None:
        pp.deblur(y, kernel, denoiser="tv", max_iter=2)

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "blurred.tif", Path(folder) / "sharp.tif"
        tifffile.imwrite(source, y)

        def file() -> None:
            image = pp.io.read(source)
            result = pp.deblur(image.pages[0], kernel, denoiser="tv", max_iter=2, data_range=image.data_range)
            pp.io.write(target, image.restored([result.image]))

        for action in (file, array):  # whatever is imported or compiled on first use is no part of the way
            action()
        return recorded(file), recorded(array)


def drawn(file: list[tuple[str, str]], array: list[tuple[str, str]]) -> str:
    """Return the drawing as SVG: one band for each floor, one box for each room, numbered functions inside."""
    number = {door: place for place, door in enumerate(file, 1)}
    inside = {name: [door for door in file if door[0] == name] for floor in FLOORS for name in floor}
    parts: list[str] = []
    top = 56
    for floor in reversed(FLOORS):
        columns = {name: -(-len(inside[name]) // MAX_ROWS) or 1 for name in floor}
        depth = max(-(-len(inside[name]) // columns[name]) for name in floor)
        height = LABEL + ROW * depth + PADDING
        parts.append(_box(MARGIN, top, WIDTH - 2 * MARGIN, height + 2 * PADDING, BAND, "none"))
        left = MARGIN + PADDING
        share = (WIDTH - 2 * MARGIN - PADDING) / sum(columns.values())
        for name in floor:
            width = share * columns[name] - PADDING
            parts.append(_box(left, top + PADDING, width, height, "#ffffff", FRAME))
            exists = any((ROOT / "src" / "plugplay" / f"{name}{ending}").exists() for ending in ("", ".py"))
            title = f"plugplay.{name}" if exists else f"plugplay.{name} (to come)"
            parts.append(_text(left + 8, top + PADDING + 15, title, BOTH if inside[name] else EMPTY, bold=True))
            rows = -(-len(inside[name]) // columns[name])
            for place, door in enumerate(inside[name]):
                x = left + 8 + (place // rows) * share
                y = top + PADDING + LABEL + 15 + ROW * (place % rows)
                parts.append(_text(x, y, f"{number[door]:2}  {door[1]}", BOTH if door in array else FILE_ONLY))
            left += width + PADDING
        top += height + 2 * PADDING + 6
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + MARGIN:g}" '
        f'viewBox="0 0 {WIDTH} {top + MARGIN:g}" font-family="Menlo, Consolas, monospace" font-size="12">',
        f'<rect width="{WIDTH}" height="{top + MARGIN:g}" fill="#ffffff"/>',
        _text(
            MARGIN, 24, "An image on its way through plugplay: numbers give the order of first entry", BOTH, bold=True
        ),
        _text(MARGIN, 43, "for files and arrays alike", BOTH),
        _text(MARGIN + 220, 43, "for a 16-bit TIFF only", FILE_ONLY),
        _text(MARGIN + 440, 43, "imports point downward", EMPTY),
    ]
    return "\n".join([*head, *parts, "</svg>", ""])


def _box(x: float, y: float, width: float, height: float, fill: str, stroke: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" stroke="{stroke}"/>'


def _text(x: float, y: float, words: str, fill: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}"{weight} xml:space="preserve">{escape(words)}</text>'


def main() -> None:
    """Draw it anew."""
    sys.path.insert(0, str(ROOT / "src"))
    DRAWING.write_text(drawn(*journeys()), encoding="utf-8")


if __name__ == "__main__":
    main()
