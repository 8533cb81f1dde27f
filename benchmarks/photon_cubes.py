"""Photon cubes with hot jots: what the command line makes of them by default, and told everything.

    python benchmarks/photon_cubes.py [--frames 1000] [--shape 256 512] [--hot 0.005]

Photographs of scikit-image, at an exposure of 0.02 to 0.5 photons per jot and frame at white, are written as bit-packed
cubes with hot jots (firing with a chance of 0.3 to 1 per frame) and restored by ``plugplay photon cube.npy
--packed-axis 2``. The PSNR is that of the image in photons, relative to white: the estimated exposure counts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skimage import data, transform

import plugplay as pp

PHOTOGRAPHS = ("camera", "coins", "moon")


def scene(name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return a photograph on [0, 1], resized to so many pixels, in linear light."""
    photograph = getattr(data, name)().astype(np.float64) / 255
    resized: NDArray[np.float64] = transform.resize(photograph, shape, anti_aliasing=True)
    light = np.clip(resized, 0, 1) ** 2.2
    return np.asarray(light / light.max())


def written(
    path: Path, light: NDArray[np.float64], *, frames: int, gain: float, hot: float, seed: int
) -> NDArray[np.bool_]:
    """Write a packed cube ``(T, H, W/8)``; return which jots are hot."""
    rng = np.random.default_rng(seed)
    chance = 1 - np.exp(-gain * light)
    wrong = rng.random(light.shape) < hot
    chance = np.where(wrong, rng.uniform(0.3, 1.0, light.shape), chance).astype(np.float32)
    cube = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.uint8, shape=(frames, light.shape[0], light.shape[1] // 8)
    )
    for frame in cube:
        frame[:] = np.packbits(rng.random(light.shape, dtype=np.float32) < chance, axis=1)
    cube.flush()
    return wrong


def main() -> None:
    """Print PSNRs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--shape", type=int, nargs=2, default=[256, 512])
    parser.add_argument("--hot", type=float, default=0.005)
    parser.add_argument("--gains", type=float, nargs="+", default=[0.02, 0.1, 0.5])
    parser.add_argument("--photographs", nargs="+", choices=PHOTOGRAPHS, default=list(PHOTOGRAPHS))
    options = parser.parse_args()
    script = shutil.which("plugplay", path=str(Path(sys.executable).parent)) or "plugplay"
    with tempfile.TemporaryDirectory() as folder:
        cube, image, mask = (Path(folder) / name for name in ("cube.npy", "image.npy", "works.png"))
        for number, name in enumerate(options.photographs):
            light = scene(name, tuple(options.shape))
            for gain in options.gains:
                wrong = written(cube, light, frames=options.frames, gain=gain, hot=options.hot, seed=number)
                pp.io.write(mask, pp.io.ImageFile.of(np.where(wrong, 0, 255).astype(np.uint8)))
                words = [
                    script,
                    "photon",
                    str(cube),
                    "--packed-axis",
                    "2",
                    "--json",
                    "-q",
                    "--overwrite",
                    "-o",
                    str(image),
                ]
                told = [*words, "--gain", str(gain), "--mask", str(mask), "--no-defects"]
                line = f"{name}, {gain} photons, {int(wrong.sum())} hot:"
                for kind, command in (("by default", words), ("told everything", told)):
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    warnings = json.loads(done.stdout.splitlines()[-1])["warnings"]
                    white = next((float(text.split()[2]) for text in warnings if text.startswith("white is")), gain)
                    line += f" {kind} {pp.psnr(np.load(image) * white / gain, light):.1f} dB"
                    found = [text for text in warnings if "hot and" in text]
                    line += f" ({found[0].split()[0]} found)" if found else ""
                print(line, flush=True)


if __name__ == "__main__":
    main()
