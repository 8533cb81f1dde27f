"""Draw the images of "Start here": ``python docs/tools/draw_start.py``.

The blocks of Python of each page are run as they are written there; what they read and what they restored is drawn side
by side. Names of pages draw only these: ``python docs/tools/draw_start.py algorithms``.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
import snippets
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Callable

IMAGES = snippets.DOCS / "images"
SIDE = 320


def _asinh(image: np.ndarray) -> np.ndarray:
    return np.asarray(np.arcsinh((np.nan_to_num(image, nan=0.0) - 180) / 30) / np.arcsinh(2000 / 30))


def _counts(image: np.ndarray) -> np.ndarray:
    return (image.astype(float) - 95) / 90


PAIRS: dict[str, Callable[[dict[str, Any]], tuple[np.ndarray, np.ndarray]]] = {
    "photographer": lambda names: (names["file"].pixels / 255, names["result"].image),
    "microscopist": lambda names: (_counts(names["file"].pixels), _counts(65535 * names["result"].image)),
    "astronomer": lambda names: (_asinh(names["file"].pixels), _asinh(names["result"].image)),
    "photon-counting": lambda names: (names["bits"][0, ::4, ::4], names["result"].image),
    "algorithms": lambda names: (names["y"], names["result"].image),
}


def main() -> None:
    """Draw them all, or those that are named."""
    for name in sys.argv[1:] or PAIRS:
        names: dict[str, Any] = {"__name__": "page"}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for kind, block in snippets.blocks(snippets.DOCS / "start" / f"{name}.md"):
                if kind == "python":
                    exec(compile(block, name, "exec", dont_inherit=True), names)
        sheet = Image.new("RGB", (2 * SIDE + 8, SIDE), "white")
        for place, pixels in enumerate(PAIRS[name](names)):
            part = Image.fromarray(np.rint(255 * np.clip(pixels, 0, 1)).astype(np.uint8)).convert("RGB")
            sheet.paste(part.resize((SIDE, SIDE), Image.Resampling.BICUBIC), (place * (SIDE + 8), 0))
        sheet.save(IMAGES / f"start-{name}.jpg", quality=82, optimize=True)


if __name__ == "__main__":
    main()
