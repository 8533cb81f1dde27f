"""Sound runs that are called doubtful all the same: false alarms, counted over tasks, images and depths.

Every run is told the truth (kernel, mask, factor) and estimates the noise, and each ends well above its input. Run
``python benchmarks/doubts.py``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from photographs import available, crop

import plugplay as pp

KERNELS = ("motion:9,30", "disk:2.5", "gaussian:1.3", "box:5")
Array = np.ndarray[Any, Any]


def cases(names: list[str], size: int) -> Iterator[tuple[str, Array, Any, Array, dict[str, Any]]]:
    """Yield a name, an observation, its model, the truth, and options, of one run after another."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(names):
        x = crop(name, size)
        axis = {"channel_axis": -1} if x.ndim == 3 else {}
        for noise in (4 / 255, 20 / 255):
            y = np.clip(x + noise * rng.standard_normal(x.shape), 0, 1)
            yield f"{name} denoise {255 * noise:.0f}", _bytes(y), pp.models.Denoising(), x, axis
        for offset in (0, 1):
            words = KERNELS[(2 * number + offset) % len(KERNELS)]
            lens = pp.models.Deblurring(pp.kernels.parse(words), boundary="reflect")
            y = np.clip(lens.simulate(x, noise=2 / 255, rng=number), 0, 1)
            told = pp.models.Deblurring(pp.kernels.parse(words), boundary="unknown")
            yield f"{name} {words}", _bytes(y), told, x, axis
        mask = rng.random(x.shape[:2]) < 0.6
        yield f"{name} inpaint", x + 0.01 * rng.standard_normal(x.shape), pp.models.Inpainting(mask), x, axis
        camera = pp.models.SuperResolution(2, "bicubic", boundary="reflect")
        yield f"{name} upscale", camera.simulate(x, noise=2 / 255, rng=number), camera, x, axis
        if x.ndim == 2:
            lens = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.5), boundary="reflect")
            counts = rng.poisson(20 + 300 * np.clip(lens.forward(x), 0, 1)).astype(np.uint16)
            told = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.5), boundary="unknown")
            yield f"{name} counts", counts, told, (20 + 300 * x) / 65535, axis
            counts = rng.poisson(20 + 300 * x).astype(np.uint16)
            yield f"{name} denoise counts", counts, pp.models.Denoising(), (20 + 300 * x) / 65535, axis


def main() -> None:
    """Print a line for each run that is called doubtful, and the count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--images", default="camera,coffee,brick,moon,dragonfly,retina,wine,seeding")
    options = parser.parse_args()
    names = [name for name in options.images.split(",") if name in available()]
    count, alarms = 0, 0
    for name, y, model, truth, axis in cases(names, options.size):
        result = pp.restore(y, model, **axis)
        doubtful = result.status is pp.Status.DOUBTFUL
        count, alarms = count + 1, alarms + doubtful
        print(f"{name:24} {result.status.name:14} {pp.psnr(result.image, truth):6.2f} dB", flush=True)
        if doubtful:
            print(*(f"    {text}" for text in result.warnings), sep="\n")
    print(f"{alarms} of {count} called doubtful")


def _bytes(image: Array) -> Array:
    return (image * 255).round().astype(np.uint8)


if __name__ == "__main__":
    main()
