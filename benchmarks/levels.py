"""How deblurring gets there: slowly on one grid, faster on one grid, and faster after a run on a coarser grid.

    python benchmarks/levels.py                         six images of scikit-image's, six kernels
    python benchmarks/levels.py --images FOLDER         the middle of each gray image of a folder

By default the coarser grid comes first where the blur is wide (`plugplay.levels`). PSNR and CPU time are compared with
those of the slow schedule, which is used where the number of iterations is given.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
from numpy.typing import NDArray
from skimage.color import rgb2gray
from skimage.io import imread

import plugplay as pp
from plugplay import levels

IMAGES = ("astronaut", "camera", "coffee", "chelsea", "brick", "rocket")
# Kernels, each with a noise on the scale [0, 255].
PROBLEMS = {
    "motion 15": (pp.kernels.motion(15, 30), 3.0),
    "disk 4": (pp.kernels.disk(4), 2.0),
    "gaussian 1.6": (pp.kernels.gaussian(13, sigma=1.6), 5.0),
    "box 9": (pp.kernels.box(9), 1.5),
    "motion 29": (pp.kernels.motion(29, 70), 2.0),
    "motion 41": (pp.kernels.motion(41, 20), 2.0),
}
SIDE = 256
WAYS = ("one grid", "two grids")


def main() -> None:
    """Print the table and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, help="folder of gray PNG images")
    options = parser.parse_args()
    if options.images is None:
        images = {name: middle(getattr(skimage.data, name)()) for name in IMAGES}
    else:
        images = {path.stem: middle(imread(path)) for path in sorted(options.images.glob("*.png"))}
    gains: dict[tuple[str, str], list[float]] = {(way, name): [] for way in WAYS for name in PROBLEMS}
    for name, image in images.items():
        for problem, (kernel, noise) in PROBLEMS.items():
            model = pp.models.Deblurring(kernel, boundary="unknown")
            y = model.simulate(image, noise=noise / 255, rng=1).astype(np.float32)
            top, left = (n - 1 - n // 2 for n in kernel.shape)
            truth = image[top : top + y.shape[0], left : left + y.shape[1]]
            slow, seconds = restored(y, model, noise / 255, max_iter=40)
            reached = pp.psnr(slow.image, truth)
            words = [f"{name:10s} {problem:12s} blurred {pp.psnr(y, truth):5.2f}, slowly {reached:5.2f} dB"]
            for way, spread in zip(WAYS, (math.inf, 0.0), strict=True):
                result, less = restored(y, model, noise / 255, min_spread=spread)
                gains[way, problem].append(pp.psnr(result.image, truth) - reached)
                full = int(np.count_nonzero(result.history.level == 0))
                words.append(
                    f"{way} {gains[way, problem][-1]:+.2f} dB, {full} iterations, CPU time {less / seconds:.2f}"
                )
            print("; ".join(words), flush=True)
    for (way, problem), values in gains.items():
        print(f"{way:10s} {problem:12s} mean {np.mean(values):+.3f} dB, worst {min(values):+.2f}")


def restored(
    y: NDArray[Any], model: pp.models.Deblurring, noise: float, *, max_iter: int | None = None, min_spread: float = 0.0
) -> tuple[pp.Result, float]:
    """Restore, on two grids for kernels of at least this spread; return the result and the CPU time."""
    usual, levels.MIN_SPREAD = levels.MIN_SPREAD, min_spread
    try:
        began = time.process_time()
        return pp.restore(y, model, noise=noise, max_iter=max_iter, workers=1), time.process_time() - began
    finally:
        levels.MIN_SPREAD = usual


def middle(image: NDArray[Any]) -> NDArray[np.float64]:
    """Return the middle of an 8-bit image in gray on [0, 1]."""
    gray = rgb2gray(image[..., :3]) if image.ndim == 3 else image / 255
    top, left = ((length - SIDE) // 2 for length in gray.shape)
    return np.asarray(gray[top : top + SIDE, left : left + SIDE], np.float64)


if __name__ == "__main__":
    main()
