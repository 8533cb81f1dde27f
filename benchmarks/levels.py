"""Coarse to fine against one run at full resolution: PSNR, iterations and CPU time of deblurring.

    python benchmarks/levels.py                         six images of scikit-image's, four kernels
    python benchmarks/levels.py --images FOLDER         the middle of each gray image of a folder

The run on one grid also has its reference blocks close together throughout, as BM3D does outside a restoration.
"""

from __future__ import annotations

import argparse
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
}
SIDE = 208


def main() -> None:
    """Print the table and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, help="folder of gray PNG images")
    options = parser.parse_args()
    if options.images is None:
        images = {name: middle(getattr(skimage.data, name)()) for name in IMAGES}
    else:
        images = {path.stem: middle(imread(path)) for path in sorted(options.images.glob("*.png"))}
    gains: dict[str, list[float]] = {name: [] for name in PROBLEMS}
    for name, image in images.items():
        for problem, (kernel, noise) in PROBLEMS.items():
            model = pp.models.Deblurring(kernel, boundary="unknown")
            y = model.simulate(image, noise=noise / 255, rng=1).astype(np.float32)
            top, left = (n - 1 - n // 2 for n in kernel.shape)
            truth = image[top : top + y.shape[0], left : left + y.shape[1]]
            single, seconds = restored(y, model, noise / 255, one_grid=True)
            coarse_to_fine, less = restored(y, model, noise / 255, one_grid=False)
            before, after = (pp.psnr(result.image, truth) for result in (single, coarse_to_fine))
            gains[problem].append(after - before)
            full = int(np.count_nonzero(coarse_to_fine.history.level == 0))
            print(
                f"{name:14s} {problem:12s} blurred {pp.psnr(y, truth):5.2f}, one grid {before:5.2f}, "
                f"two {after - before:+.2f} dB; "
                f"{len(single.history)} iterations, {full} and {len(coarse_to_fine.history) - full} coarse; "
                f"CPU time {less / seconds:.2f}",
                flush=True,
            )
    for problem, values in {**gains, "all": [gain for row in gains.values() for gain in row]}.items():
        print(
            f"{problem:12s} mean {np.mean(values):+.3f} dB, median {np.median(values):+.3f}, worst {min(values):+.2f}"
        )


def restored(y: NDArray[Any], model: pp.models.Deblurring, noise: float, *, one_grid: bool) -> tuple[pp.Result, float]:
    """Restore on one grid or on two; return the result and the CPU time."""
    usual = levels.MIN_SIDE
    if one_grid:
        levels.MIN_SIDE = 2**31
    try:
        began = time.process_time()
        return pp.restore(y, model, noise=noise, workers=1), time.process_time() - began
    finally:
        levels.MIN_SIDE = usual


def middle(image: NDArray[Any]) -> NDArray[np.float64]:
    """Return the middle of an 8-bit image in gray on [0, 1]."""
    gray = rgb2gray(image[..., :3]) if image.ndim == 3 else image / 255
    top, left = ((length - SIDE) // 2 for length in gray.shape)
    return np.asarray(gray[top : top + SIDE, left : left + SIDE], np.float64)


if __name__ == "__main__":
    main()
