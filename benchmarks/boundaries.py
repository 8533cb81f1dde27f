"""What the boundary is worth: a blurred crop of a larger photograph, restored with each boundary.

Run ``python benchmarks/boundaries.py``. The blur reaches beyond the frame, as in every real photograph, and PSNR is
measured over the whole frame and without a border of 16 pixels.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from skimage import data

import plugplay as pp

KERNELS = {
    "gaussian 1.6": pp.kernels.gaussian(11, sigma=1.6),
    "box 9": pp.kernels.box(9),
    "motion 15, 30°": pp.kernels.motion(15, 30),
    "disk 4": pp.kernels.disk(4),
}
IMAGES = ("camera", "coins", "brick")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--denoiser", default="bm3d")
    parser.add_argument("--noise", type=float, default=2 / 255)
    options = parser.parse_args()
    print(f"{'image':>8} {'kernel':>15} {'boundary':>9} {'blurred':>8} {'frame':>7} {'inside':>7} {'time':>7}")
    for name in IMAGES:
        image = getattr(data, name)().astype(np.float32)[:300, :300] / 255
        for label, kernel in KERNELS.items():
            rows, columns = kernel.shape
            y = pp.models.Deblurring(kernel, boundary="unknown").simulate(image, noise=options.noise, rng=0)
            truth = image[rows // 2 : rows // 2 + y.shape[0], columns // 2 : columns // 2 + y.shape[1]]
            for boundary in ("circular", "reflect", "unknown"):
                began = time.perf_counter()
                result = pp.deblur(y, kernel, boundary=boundary, denoiser=options.denoiser, noise=options.noise)
                seconds = time.perf_counter() - began
                before, after = pp.psnr(y, truth), pp.psnr(result.image, truth)
                inside = pp.psnr(result.image, truth, border=16)
                print(
                    f"{name:>8} {label:>15} {boundary:>9} {before:>8.2f} {after:>7.2f} {inside:>7.2f} {seconds:>5.1f} s"
                )


if __name__ == "__main__":
    main()
