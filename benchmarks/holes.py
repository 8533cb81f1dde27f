"""Holes filled by plugplay, by biharmonic interpolation and by Telea's method: PSNR in the holes.

Run with ``python benchmarks/holes.py [--size N] [--masks NAME ...] [--images NAME ...]``. It needs OpenCV (the extra
``bench``). The images are photographs on which nothing about holes was found (that was camera, motorcycle, astronaut
and coins); they are gray, without noise, and rounded to 8 bits, which is what OpenCV takes. plugplay is not told
anything but the mask. The exit code is 1 if it is below a peer on any image for text of 9 %.
"""

from __future__ import annotations

import argparse
import sys
import time

import cv2
import numpy as np
from numpy.typing import NDArray
from photographs import available, crop
from PIL import Image, ImageDraw, ImageFont
from skimage.restoration import inpaint_biharmonic

import plugplay as pp

IMAGES = ("nuthatch", "bridge", "dragonfly", "chelsea", "coffee")
SENTENCE = "what was written over a photograph hides strokes of it and leaves enough beside them to tell"
METHODS = ("biharmonic", "telea", "plugplay")


def drawing(size: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """Return a white canvas."""
    canvas = Image.new("L", (size, size), 255)
    return canvas, ImageDraw.Draw(canvas)


def text(size: int, height: int, spacing: float) -> NDArray[np.bool_]:
    """Return a mask with lines of text."""
    rng = np.random.default_rng(0)
    canvas, draw = drawing(size)
    font = ImageFont.load_default(height)
    for top in np.arange(2, size, spacing * height):
        line = " ".join(rng.permutation(SENTENCE.split()).tolist() * (1 + size // 512))
        draw.text((-int(rng.integers(2, 24)), int(top)), line, fill=0, font=font)
    return np.asarray(canvas) > 128


def scratches(size: int, number: int = 14, width: int = 4) -> NDArray[np.bool_]:
    """Return a mask with lines across."""
    rng = np.random.default_rng(1)
    canvas, draw = drawing(size)
    for _ in range(number):
        draw.line([float(p) for p in size * rng.random(4)], fill=0, width=width)
    return np.asarray(canvas) > 128


def objects(size: int, seed: int, number: int = 6, radius: float = 14.0) -> NDArray[np.bool_]:
    """Return a mask with ellipses."""
    rng = np.random.default_rng(seed)
    canvas, draw = drawing(size)
    for _ in range(number):
        i, j = size * rng.random(2)
        a = radius * (0.5 + rng.random())
        draw.ellipse([i - a, j - 0.8 * a, i + a, j + 0.8 * a], fill=0)
    return np.asarray(canvas) > 128


def masks(size: int) -> dict[str, NDArray[np.bool_]]:
    """Return all masks, True where a pixel is observed."""
    scattered = np.random.default_rng(3).random((size, size))
    return {
        "text": text(size, 13, 2.1),
        "thick text": text(size, 36, 1.5),
        "scratches": scratches(size),
        "objects": objects(size, 2),
        "other objects": objects(size, 3),
        "third objects": objects(size, 4),
        "fourth objects": objects(size, 5),
        "half observed": scattered < 0.5,
        "a fifth observed": scattered < 0.2,
    }


def filled(method: str, y: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the image on [0, 1] with its holes filled."""
    if method == "biharmonic":
        return np.asarray(inpaint_biharmonic(y / 255, ~mask))
    if method == "telea":
        return np.asarray(cv2.inpaint(y, (~mask).astype(np.uint8), 3, cv2.INPAINT_TELEA) / 255)
    return np.asarray(pp.inpaint(np.where(mask, y, 0).astype(np.uint8), mask).image, np.float64)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", type=int, default=256, help="side of the images")
    parser.add_argument("--masks", nargs="*", default=list(masks(64)), choices=list(masks(64)))
    parser.add_argument("--images", nargs="*", default=list(IMAGES))
    options = parser.parse_args()
    here = available()
    images = [name for name in options.images if name in here]
    below = 0
    print(f"{'holes':17}{'missing':>8}  {'image':10}" + "".join(f"{m:>12}" for m in METHODS) + "   CPU seconds")
    for kind in options.masks:
        mask = masks(options.size)[kind]
        table = []
        for name in images:
            pixels = crop(name, options.size)
            y = np.round(255 * (pixels if pixels.ndim == 2 else pixels.mean(axis=-1))).astype(np.uint8)
            row, seconds = [], []
            for method in METHODS:
                begin = time.process_time()
                error = np.square(filled(method, y, mask) - y / 255)[~mask].mean()
                seconds.append(time.process_time() - begin)
                row.append(-10 * np.log10(error))
            table.append(row)
            below += kind == "text" and row[2] <= max(row[:2])
            print(
                f"{kind:17}{np.mean(~mask):8.1%}  {name:10}"
                + "".join(f"{psnr:12.2f}" for psnr in row)
                + "   "
                + " ".join(f"{s:.1f}" for s in seconds),
                flush=True,
            )
        print(f"{kind:17}{'':8}  {'mean':10}" + "".join(f"{psnr:12.2f}" for psnr in np.mean(table, axis=0)), flush=True)
    return int(below > 0)


if __name__ == "__main__":
    sys.exit(main())
