"""Thumbnails that can be recognised: of a row of images, what was observed and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from sphinx.application import Sphinx

IMAGES = Path(__file__).parents[1] / "gallery" / "images"
# Which of how many images of the first figure are shown, side by side; of a plot the whole.
SHOWN = {
    "01_super_resolution": (4, 0, 3),
    "02_single_photon": (4, 1, 2),
    "03_boundaries": (4, 1, 3),
    "04_camera_shake": (3, 1, 2),
    "05_inpainting": (3, 0, 1),
    "06_volume": (3, 0, 1),
    "07_cells": (4, 0, 2),
    "08_photon_video": (3, 0, 2),
    "09_denoisers": (3, 0, 1),
    "10_stars": (3, 0, 1),
    "11_network": (4, 0, 1),
    "12_linear_operator": (4, 1, 2),
    "13_certificates": (1, 0),
    "14_sure": (1, 0),
    "15_tiles": (4, 0, 1),
    "16_adaptive": (3, 1, 2),
    "17_own_denoiser": (3, 0, 1),
    "18_watching": (5, 0, 4),
}


def _crop(app: Sphinx) -> None:
    for name, (count, *shown) in SHOWN.items():
        source = IMAGES / f"sphx_glr_plot_{name}_001.png"
        if not source.exists():  # the gallery was not executed
            continue
        figure = Image.open(source).convert("RGB")
        # Titles are too small to read on a thumbnail.
        width, top = figure.width / count, round(0.09 * figure.height) if count > 1 else 0
        pair = Image.new("RGB", (round(len(shown) * width), figure.height - top), "white")
        for place, number in enumerate(shown):
            part = figure.crop((round(number * width), top, round((number + 1) * width), figure.height))
            pair.paste(part, (round(place * width), 0))
        pair.thumbnail((400, 280))
        pair.save(IMAGES / "thumb" / f"sphx_glr_plot_{name}_thumb.png")


def setup(app: Sphinx) -> dict[str, Any]:
    """Crop after the gallery was made."""
    app.connect("builder-inited", _crop, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
