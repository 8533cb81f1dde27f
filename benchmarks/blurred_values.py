"""Whether deblurring notices that the values of a photograph were blurred, as by an image editor, and not light.

    python benchmarks/blurred_values.py FOLDER [--count 40] [--seed 1]

FOLDER, crops, kernels and what is wrong with half of those that are told are as for `random_files.py`; the noise is 0.2
to 4 on 255, the files have 8 bits and are told to be sRGB. Each crop is blurred in light and as it is stored. Printed
are the gain of deblurring in light, of deblurring the values, and whether the former was doubted; the exit code is 1 if
a blur of light was taken for one of values.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import degradations
import numpy as np
from random_files import MARGIN, SUFFIXES, crop, kernel, large, untruth
from scipy.signal import fftconvolve

import plugplay as pp
from plugplay.io import encode, linearise
from plugplay.tuning.blurred_values import BLURRED_VALUES


def main() -> int:
    """Print the cases and their numbers, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    files = sorted(path for path in options.folder.rglob("*") if path.suffix.lower() in SUFFIXES and large(path))
    if not files:
        parser.error(f"{options.folder} holds no photograph that is large enough")
    doubted, worse = {"light": 0, "values": 0}, 0
    for number in range(options.count):
        rng = np.random.default_rng([options.seed, number])
        path = files[rng.integers(len(files))]
        scene = crop(path, rng)
        name, blur = kernel(rng)
        wrong, told = untruth(rng)
        noise = float(np.exp(rng.uniform(np.log(0.2), np.log(4)))) / 255
        taps = degradations.sampled(blur)
        taps = taps if scene.ndim == 2 else taps[..., None]
        grain = noise * rng.normal(size=scene.shape)
        inner = (slice(MARGIN, -MARGIN),) * 2
        for blurred in ("light", "values"):
            source = linearise(scene, "srgb") if blurred == "light" else scene
            seen = fftconvolve(source, taps, mode="same", axes=(0, 1))
            seen = encode(np.clip(seen, 0, 1), "srgb") if blurred == "light" else seen
            y = np.round(255 * np.clip(seen + grain, 0, 1)[inner]).astype(np.uint8)
            axis, truth = (-1 if y.ndim == 3 else None), scene[inner]
            results = [
                pp.deblur(y, degradations.sampled(blur, told), transfer=curve, channel_axis=axis, workers=1)
                for curve in ("srgb", "linear")
            ]
            before = degradations.psnr(y / 255, reference=truth)
            gains = [degradations.psnr(np.clip(one.image, 0, 1), reference=truth) - before for one in results]
            noticed = BLURRED_VALUES in results[0].warnings
            doubted[blurred] += noticed
            worse += blurred == "values" and gains[0] < -0.1 and not noticed
            print(
                f"{number:4d} {path.name[:18]:18s} {name:20s} {wrong:22s} noise {255 * noise:4.1f} {blurred:6s} "
                f"in light {gains[0]:+6.2f}, values {gains[1]:+6.2f} dB{'  doubted' if noticed else ''}",
                flush=True,
            )
    print(
        f"of {options.count} blurred in light {doubted['light']} were doubted, of those whose values were blurred "
        f"{doubted['values']}; {worse} more ended below their input"
    )
    return int(doubted["light"] > 0)


if __name__ == "__main__":
    sys.exit(main())
