"""Simulated cells: deblurring with the defaults against Richardson-Lucy with its best number of iterations.

    python benchmarks/cells.py [--size 128] [--seeds 1 2 3] [--photons 20 60 200] [--show FOLDER]

Smooth nuclei and thin filaments on a dim background, blurred by a Gaussian point-spread function, are counted in 16
bits: so many photons in the brightest places, on a camera's offset of 100 with read-out noise of 1.5. `deblur` is told
the kernel and nothing else. The peer is told the offset, gets reflected margins, and the number of iterations that is
best for each image, which only somebody who knows the truth could choose. Printed are PSNRs, relative to the brightest
place, and how rough the smooth places are (the standard deviation of the result's differences to its neighbours within
the nuclei, relative to that of the truth): labyrinths would raise it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.restoration import richardson_lucy

import plugplay as pp

OFFSET, READ = 100.0, 1.5
ITERATIONS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 45, 70, 100)
MARGIN = 16

Array = NDArray[np.float64]


def cells(size: int, seed: int) -> tuple[Array, NDArray[np.bool_]]:
    """Return cells on [0, 1], and where they are smooth."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size].astype(float)
    bodies, filaments = np.zeros((size, size)), np.zeros((size, size))
    for _ in range(max(2, size * size // 4000)):
        row, column = rng.uniform(15, size - 15, 2)
        radius, flat, angle = rng.uniform(8, 15), rng.uniform(0.7, 1.0), rng.uniform(0, np.pi)
        u = (rows - row) * np.cos(angle) + (columns - column) * np.sin(angle)
        v = (columns - column) * np.cos(angle) - (rows - row) * np.sin(angle)
        distance = np.hypot(u, v / flat) / radius
        bodies = np.maximum(bodies, rng.uniform(0.3, 0.6) / (1 + np.exp(12 * (distance - 1))))
    for _ in range(max(3, size // 20)):
        angle, bend = rng.uniform(0, np.pi), rng.uniform(-0.01, 0.01)
        row, column = rng.uniform(10, size - 10, 2)
        along = (rows - row) * np.cos(angle) + (columns - column) * np.sin(angle)
        away = (columns - column) * np.cos(angle) - (rows - row) * np.sin(angle) - bend * along**2
        filaments = np.maximum(filaments, rng.uniform(0.4, 1.0) * np.exp(-(away**2) / 2))
    image = 0.03 + np.maximum(bodies, filaments)
    smooth = ndimage.binary_erosion(bodies > 0.9 * ndimage.maximum_filter(bodies, 9), iterations=2)
    return image / image.max(), smooth & (filaments < 0.01) & (bodies > 0.2)


def observed(clean: Array, kernel: Array, photons: float, seed: int) -> NDArray[np.uint16]:
    """Return what a camera counts."""
    rng = np.random.default_rng(seed)
    light = photons * ndimage.convolve(clean, kernel, mode="reflect")
    return np.round(rng.poisson(light) + READ * rng.normal(size=light.shape) + OFFSET).clip(0, 65535).astype(np.uint16)


def peer(y: NDArray[np.uint16], kernel: Array, photons: float, clean: Array) -> tuple[Array, int]:
    """Return the best that Richardson and Lucy's iterations make of it, and after how many."""
    padded = np.pad(np.maximum(y - OFFSET, 1e-6) / photons, MARGIN, mode="symmetric")
    inner = (slice(MARGIN, -MARGIN),) * 2
    tried = {n: richardson_lucy(padded, kernel, num_iter=n, clip=False)[inner] for n in ITERATIONS}
    best = max(tried, key=lambda n: pp.psnr(tried[n], clean))
    return tried[best], best


def roughness(image: Array, clean: Array, smooth: NDArray[np.bool_]) -> float:
    """Return how rough an image is where the truth is smooth, relative to the truth's own slopes."""
    steps = [np.diff(each, axis=0)[smooth[1:]] for each in (image, clean)]
    return float(np.std(steps[0]) / np.std(steps[1]))


def main() -> None:
    """Print a line for each image, and the least and the mean gain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--photons", type=float, nargs="+", default=[20, 60, 200])
    parser.add_argument("--sigmas", type=float, nargs="+", default=[1.5, 2.5], help="of the point-spread function")
    parser.add_argument("--show", type=Path, help="a folder for pictures: observed, peer, ours, truth")
    options = parser.parse_args()
    gains = []
    for seed in options.seeds:
        clean, smooth = cells(options.size, seed)
        for sigma in options.sigmas:
            kernel = pp.kernels.gaussian(2 * round(3.5 * sigma) + 1, sigma=sigma)
            for photons in options.photons:
                y = observed(clean, kernel, photons, seed)
                result = pp.deblur(y, kernel)
                ours = (result.image.astype(np.float64) * 65535 - OFFSET) / photons
                theirs, iterations = peer(y, kernel, photons, clean)
                before, best, found = (pp.psnr(each, clean) for each in ((y - OFFSET) / photons, theirs, ours))
                gains.append(found - best)
                print(
                    f"cells {seed}, sigma {sigma:g}, {photons:g} photons: input {before:.2f}, peer {best:.2f} "
                    f"({iterations} iterations), ours {found:.2f} dB ({found - best:+.2f}); roughness: peer "
                    f"{roughness(theirs, clean, smooth):.1f}, ours {roughness(ours, clean, smooth):.1f}  "
                    f"{type(result.parameters.noise).__name__} {result.status.name}",
                    flush=True,
                )
                if options.show:
                    images = ((y - OFFSET) / photons, theirs, ours, clean)
                    show(options.show / f"cells-{seed}-{sigma:g}-{photons:g}.png", images)
    print(f"{len(gains)} images: above the peer in {sum(gain > 0 for gain in gains)}, by {np.mean(gains):.2f} dB on")
    print(f"average, {min(gains):.2f} dB at least")


def show(path: Path, images: tuple[Array, ...]) -> None:
    """Write images side by side."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((255 * np.hstack([np.clip(each, 0, 1) for each in images])).astype(np.uint8)).save(path)


if __name__ == "__main__":
    main()
