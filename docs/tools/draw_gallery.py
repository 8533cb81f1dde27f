"""Draw ``docs/images/gallery.jpg`` from the thumbnails of the gallery: ``python docs/tools/draw_gallery.py``.

The site has to be built before (``python docs/tools/build.py``).
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parents[1]
COLUMNS, WIDTH, HEIGHT, GAP = 6, 204, 104, 6


def main() -> None:
    """Put them side by side, cut to one shape."""
    names = sorted((DOCS / "gallery" / "images" / "thumb").glob("sphx_glr_plot_*_thumb.png"))
    rows = -(-len(names) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (WIDTH + GAP) - GAP, rows * (HEIGHT + GAP) - GAP), "white")
    for place, name in enumerate(names):
        thumb = Image.open(name).convert("RGB")
        scale = max(WIDTH / thumb.width, HEIGHT / thumb.height)
        if thumb.width / thumb.height < 1.6:  # a plot: shown whole
            scale = min(WIDTH / thumb.width, HEIGHT / thumb.height)
        thumb = thumb.resize((round(thumb.width * scale), round(thumb.height * scale)), Image.Resampling.LANCZOS)
        cell = Image.new("RGB", (WIDTH, HEIGHT), "white")
        cell.paste(thumb, ((WIDTH - thumb.width) // 2, (HEIGHT - thumb.height) // 2))
        sheet.paste(cell, (place % COLUMNS * (WIDTH + GAP), place // COLUMNS * (HEIGHT + GAP)))
    sheet.save(DOCS / "images" / "gallery.jpg", quality=80, optimize=True)


if __name__ == "__main__":
    main()
