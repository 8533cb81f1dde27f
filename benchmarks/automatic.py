"""What the automatic parameters reach: the paper's experiments without a single parameter given.

Run ``python benchmarks/automatic.py --images DIR`` with the paper's ten images, or without ``--images`` on pictures
that scikit-image brings. Noise is estimated, everything else is chosen. Simulated and solved with circular boundaries;
PSNR of images clipped to [0, 1], without a border of 4 pixels for super-resolution and over the whole frame for
photons. The paper's columns are the averages of its hand-tuned "Ours-M" for super-resolution and of the better of its
two rows for photons; they mean something only for its own images.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from skimage import data

import plugplay as pp

if TYPE_CHECKING:
    from numpy.typing import NDArray

GAUSSIAN = pp.kernels.gaussian(9, sigma=1.0)
SUPER_RESOLUTION = {
    "x2 bicubic, no noise": (pp.models.SuperResolution(2), 0.0, 32.18),
    "x4 bicubic, no noise": (pp.models.SuperResolution(4), 0.0, 27.22),
    "x2 Gaussian, noise 5/255": (pp.models.SuperResolution(2, GAUSSIAN), 5 / 255, 29.38),
    "x4 Gaussian, noise 5/255": (pp.models.SuperResolution(4, GAUSSIAN), 5 / 255, 26.17),
}
PHOTONS = {4: 26.27, 6: 28.19, 8: 29.56, 10: 30.60}


def pictures(folder: Path | None) -> list[NDArray[np.float32]]:
    """Return the gray pictures of a folder, or some of scikit-image's."""
    if folder is None:
        bundled: list[Any] = [data.camera()[:256, :256], data.coins()[:256, :256], data.moon()[:256, :256]]
        bundled += [data.rocket()[:256, :256].mean(axis=-1), data.chelsea()[:256, :256].mean(axis=-1)]
        return [(np.asarray(image) / 255).astype(np.float32) for image in bundled]
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in (".png", ".tif", ".jpg"))
    return [(np.asarray(Image.open(file).convert("L")) / 255).astype(np.float32) for file in files]


def report(name: str, paper: float | None, psnr: list[float], calls: list[int], seconds: float) -> None:
    """Print one line of the table."""
    against = "" if paper is None else f"{paper:>7.2f} {np.mean(psnr) - paper:>+7.2f}"
    print(f"{name:>26} {np.mean(psnr):>7.2f} {against} {max(calls):>6} {seconds / len(psnr):>8.1f} s", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=Path, help="folder of gray images, such as the paper's ten")
    parser.add_argument("--denoiser", default="bm3d")
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    images = pictures(options.images)
    known = options.images is not None
    print(f"{'':>26} {'PSNR':>7} {'paper':>7} {'diff':>7} {'calls':>6} {'per image':>10}")
    for name, (model, noise, paper) in SUPER_RESOLUTION.items():
        psnr, calls, began = [], [], time.perf_counter()
        for x in images:
            result = pp.restore(model.simulate(x, noise=noise, rng=options.seed), model, denoiser=options.denoiser)
            psnr.append(pp.psnr(result.image, x, border=4))
            calls.append(len(result.history))
        report(name, paper if known else None, psnr, calls, time.perf_counter() - began)
    for k, paper in PHOTONS.items():
        psnr, calls, began = [], [], time.perf_counter()
        for x in images:
            bits = pp.models.SinglePhoton(k).simulate(x, rng=options.seed)
            result = pp.single_photon(bits, oversampling=k, denoiser=options.denoiser)
            psnr.append(pp.psnr(result.image, x))
            calls.append(len(result.history))
        report(f"single photon, K = {k}", paper if known else None, psnr, calls, time.perf_counter() - began)


if __name__ == "__main__":
    main()
