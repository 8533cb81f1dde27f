"""What is gained by restoring light instead of the numbers of a file, task by task.

Light is blurred or not, or blurred and sampled at every second pixel, gets photon and read-out noise, the sRGB curve
and 8 bits; the true kernel is told, the noise is estimated. Run ``python benchmarks/linear_light.py``; each line has
the PSNR, in the numbers of the file, of the restoration in those numbers and in light.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np
from photographs import available, crop
from scipy.signal import fftconvolve

import plugplay as pp
from plugplay import io

NAMES = ("astronaut", "coffee", "chelsea", "coins", "nuthatch", "bridge", "dragonfly")
KERNELS = {
    "deblur": ("motion:9,30", "disk:3", "gaussian:1.5", "box:5"),
    "upscale": ("gaussian:1", "disk:1.5", "gaussian:1.3", "box:3"),
    "denoise": (None,),
}
FACTOR = 2
# Photons at white, and read-out noise as a share of white: a good and a poor light.
LIGHTS = ((1e4, 0.002), (500.0, 0.005))
MARGIN = 16


def photographed(
    name: str, size: int, kernel: str | None, photons: float, read: float, factor: int = 1
) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return an 8-bit photograph and the true numbers."""
    truth = crop(name, size + 2 * MARGIN)
    light = io.linearise(truth, "srgb")
    if kernel is not None:
        taps = pp.kernels.parse(kernel)
        light = fftconvolve(light, taps if truth.ndim == 2 else taps[..., None], mode="same", axes=(0, 1))
    spread = np.sqrt(np.maximum(light, 0) / photons + read**2)
    light = light + np.random.default_rng(0).normal(size=light.shape) * spread
    inner = (slice(MARGIN, -MARGIN),) * 2
    stored = (io.encode(np.clip(light, 0, 1), "srgb")[inner] * 255).round().astype(np.uint8)
    return stored[::factor, ::factor], truth[inner]


def main() -> None:
    """Print a line for each case, and the means for each task."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--images", default=",".join(NAMES))
    parser.add_argument("--tasks", default="deblur,upscale,denoise")
    options = parser.parse_args()
    names = [name for name in options.images.split(",") if name in available()]
    for task in options.tasks.split(","):
        gains = []
        for number, name in enumerate(names):
            for offset, (photons, read) in enumerate(LIGHTS):
                kernel = KERNELS[task][(2 * number + offset) % len(KERNELS[task])]
                factor = FACTOR if task == "upscale" else 1
                y, truth = photographed(name, options.size, kernel, photons, read, factor)
                told = {"channel_axis": -1 if y.ndim == 3 else None}
                found = []
                for transfer in ("linear", "srgb"):
                    if kernel is None:
                        result = pp.denoise(y, transfer=transfer, **told)
                    elif factor > 1:
                        result = pp.super_resolve(y, factor, kernel, transfer=transfer, **told)
                    else:
                        result = pp.deblur(y, kernel, transfer=transfer, **told)
                    found.append(pp.psnr(np.clip(result.image, 0, 1), truth))
                gains.append(found[1] - found[0])
                what = f"{task} {kernel or ''}"
                before = pp.psnr(np.repeat(np.repeat(y / 255, factor, 0), factor, 1), truth)
                print(f"{name:10} {what:20} {photons:6.0f} photons  input {before:5.2f}", end="  ")
                print(f"numbers {found[0]:5.2f}  light {found[1]:5.2f}  {gains[-1]:+.2f} dB", flush=True)
        better = sum(gain > 0 for gain in gains)
        print(f"{task}: {statistics.mean(gains):+.2f} dB in light, better in {better} of {len(gains)}")


if __name__ == "__main__":
    main()
