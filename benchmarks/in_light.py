"""Dark photographs and lamps: blur in light, photon noise, the sRGB curve, 8 bits, 16 bits or JPEG.

    python benchmarks/in_light.py FOLDER [--count 60] [--seed 1] [--json OUT]

FOLDER is as for `random_files.py`, and so are crops, kernels and what is wrong with half of the kernels that are told.
Scenes are up to 15 times darker than the photographs; a third of them has up to ten lamps, up to 30 times as bright as
white. The noise is that of photons, with variances of 5e-6 to 2e-3 at white. Nothing but the curve and the kernel is
told. PSNR is that of stored values; with lamps, "far" leaves out what is within reach of the kernel from one. Printed
are the input, one denoising and the restoration; the exit code is 1 if one ends more than 0.1 dB below its input.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Any

import degradations
import numpy as np
from degradations import MATCHED, REACH
from numpy.typing import NDArray
from PIL import Image
from random_files import MARGIN, SUFFIXES, crop, kernel, large, untruth
from scipy.signal import fftconvolve

import plugplay as pp
from plugplay.io import encode, linearise

Array = NDArray[np.float64]
MOST_LAMPS, BRIGHTEST = 10, 30.0
WIDEST_LAMP = 3.0


def main() -> int:
    """Restore the cases, print them and their means, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file to which a line is added for each case")
    options = parser.parse_args()
    files = sorted(path for path in options.folder.rglob("*") if path.suffix.lower() in SUFFIXES and large(path))
    if not files:
        parser.error(f"{options.folder} holds no photograph that is large enough")
    rows = []
    for number in range(options.count):
        row = measured(files, np.random.default_rng([options.seed, number]))
        rows.append(row)
        print(
            f"{number:4d} {row['file'][:18]:18s} {row['kernel']:20s} {row['wrong']:22s} 1/{row['darker']:<2d} "
            f"{row['stored']:8s} {row['lamps']:2d} lamps | {row['input']:6.2f} {row['denoised']:6.2f} "
            f"{row['restored']:6.2f} | far {row['far input']:6.2f} {row['far restored']:6.2f} {row['status']}",
            flush=True,
        )
        if options.json:
            with options.json.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
    for name, chosen in (
        ("without lamps", [r for r in rows if not r["lamps"]]),
        ("lamps", [r for r in rows if r["lamps"]]),
    ):
        if chosen:
            gains = np.array([[r["denoised"] - r["input"], r["restored"] - r["input"]] for r in chosen])
            far = np.array([r["far restored"] - r["far input"] for r in chosen])
            print(
                f"{name}: {len(chosen)} cases; mean gain of denoising {gains[:, 0].mean():.2f}, of deblurring "
                f"{gains[:, 1].mean():.2f} dB, least {gains[:, 1].min():.2f}; far from lamps {far.mean():.2f} dB"
            )
    below = sum(row["restored"] < row["input"] - 0.1 for row in rows)
    print(f"{below} of {len(rows)} below their input")
    return int(below > 0)


def measured(files: list[Path], rng: np.random.Generator) -> dict[str, Any]:
    """Make a case, restore it, and return what it was and what was gained."""
    path = files[rng.integers(len(files))]
    scene = crop(path, rng)
    name, blur = kernel(rng)
    wrong, told = untruth(rng)
    darker, gain = int(rng.choice([1, 1, 2, 6, 15])), float(np.exp(rng.uniform(np.log(5e-6), np.log(2e-3))))
    lamps = int(rng.integers(1, MOST_LAMPS + 1)) if rng.random() < 1 / 3 else 0
    light = linearise(scene, "srgb") / darker
    near = add_lamps(light, lamps, rng)
    taps = degradations.sampled(blur)
    spread = fftconvolve(light, taps if light.ndim == 2 else taps[..., None], mode="same", axes=(0, 1))
    inner = (slice(MARGIN, -MARGIN),) * 2
    seen = spread[inner]
    noisy = seen + np.sqrt(np.maximum(seen, 0) * gain + gain / 200) * rng.normal(size=seen.shape)
    y, stored = file_of(encode(np.clip(noisy, 0, 1), "srgb"), rng)
    truth, far = encode(np.clip(light, 0, 1), "srgb")[inner], ~near[inner]
    axis = -1 if y.ndim == 3 else None
    given = y / np.iinfo(y.dtype).max
    options: dict[str, Any] = {"channel_axis": axis, "workers": 1}
    result = pp.deblur(y, degradations.sampled(blur, told), transfer="srgb", **options)
    denoised = pp.denoise(y, **options).image
    restored = np.clip(result.image, 0, 1)
    after = psnr(restored, truth)
    if wrong != MATCHED:  # a wrong kernel may move the image
        after = max(after, degradations.psnr(restored, truth, registered=True))
    return {
        "file": path.name,
        "kernel": name,
        "wrong": wrong,
        "darker": darker,
        "gain": gain,
        "stored": stored,
        "lamps": lamps,
        "input": psnr(given, truth),
        "denoised": psnr(denoised, truth),
        "restored": after,
        "far input": psnr(given[far], truth[far]),
        "far restored": psnr(restored[far], truth[far]),
        "status": result.status.name,
        "noise": result.parameters.noise,
        "warnings": result.warnings,
    }


def add_lamps(light: Array, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Put lamps into a scene, and return where the blur may spread their light."""
    rows, columns = np.indices(light.shape[:2])
    near = np.zeros(light.shape[:2], np.bool_)
    for _ in range(count):
        y, x = (rng.uniform(MARGIN, length - MARGIN) for length in light.shape[:2])
        radius, bright = rng.uniform(0.7, WIDEST_LAMP), float(np.exp(rng.uniform(0, np.log(BRIGHTEST))))
        colour = bright * (np.array([1.0, 0.9, 0.6]) if light.ndim == 3 else np.ones(1))
        distance = np.hypot(rows - y, columns - x)
        light[distance <= radius] = colour if light.ndim == 3 else bright
        near |= distance <= radius + REACH
    return near


def file_of(values: Array, rng: np.random.Generator) -> tuple[NDArray[Any], str]:
    """Return what a file holds of encoded values, and what kind of file it is."""
    pixels = np.round(255 * values).astype(np.uint8)
    match rng.choice(["8 bits", "16 bits", "jpeg"], p=[0.5, 0.2, 0.3]):
        case "8 bits":
            return pixels, "8 bits"
        case "16 bits":
            return np.round(65535 * values).astype(np.uint16), "16 bits"
        case _:
            quality, subsampling = int(rng.integers(78, 98)), int(rng.choice([0, 2]))
            file = io.BytesIO()
            more = {} if values.ndim == 2 else {"subsampling": subsampling}
            Image.fromarray(pixels).save(file, "jpeg", quality=quality, **more)
            return np.asarray(Image.open(file)), f"jpeg {quality}"


def psnr(image: NDArray[Any], truth: Array) -> float:
    """Return the PSNR in dB, for values on [0, 1]."""
    return float(-10 * np.log10(np.mean(np.square(np.clip(image, 0, 1) - truth))))


if __name__ == "__main__":
    sys.exit(main())
