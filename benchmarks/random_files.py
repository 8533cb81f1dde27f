"""Random files: crops of any photographs, behind random kernels, with random noise, stored at random, told at random.

    python benchmarks/random_files.py FOLDER [--count 100] [--seed 1] [--json OUT]

FOLDER and what is below it hold photographs that no rule was found on, such as those of the Debian packages
mate-backgrounds, plasma-workspace-wallpapers and opencv-doc (``apt-get download`` and ``dpkg -x``). Large ones are
reduced, which removes traces of their compression. Half of the crops are gray. Noise is 0.3 to 20 on 255, uniform or
growing with the signal; a quarter is blurred in light and restored as stored, or told so. Files hold floats, 8 or 16
bits, or are JPEG of quality 75 to 97. Half of the kernels that are told are right; others are up to 12 % too wide or
narrow, turned by up to 6 degrees, rounded to 8 bits or moved by half a pixel. A quarter is told 0.6, 1 or 2 times the
noise. Printed are the cases that end below their input; the exit code is 1 if one does by more than 0.1 dB.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import degradations
import numpy as np
from degradations import MATCHED, REACH, VARIANTS, Kernel, psnr
from numpy.typing import NDArray
from PIL import Image
from scipy.signal import fftconvolve

import plugplay as pp

Array = NDArray[np.float64]
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
MARGIN = REACH + 2
# Longer sides are reduced to about this.
SIDE = 1300
MIN_SIZE, MAX_SIZE = 112, 200


def main() -> int:
    """Restore the cases, print those that lose, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file to which a line is added for each case")
    options = parser.parse_args()
    files = sorted(path for path in options.folder.rglob("*") if path.suffix.lower() in SUFFIXES and large(path))
    if not files:
        parser.error(f"{options.folder} holds no image of {MIN_SIZE + 2 * MARGIN} pixels or more")
    gains = []
    for number in range(options.count):
        row = measured(files, np.random.default_rng([options.seed, number]))
        gains.append(row["gain"])
        if options.json:
            with options.json.open("a") as lines:
                lines.write(json.dumps({"number": number} | row) + "\n")
        if row["gain"] < 0:
            print(number, json.dumps(row), flush=True)
    below = sum(gain < -0.1 for gain in gains)
    print(f"{below} of {len(gains)} below their input; mean gain {np.mean(gains):.2f} dB, least {min(gains):.2f} dB")
    return int(below > 0)


def large(path: Path) -> bool:
    """Tell whether crops can be taken from an image."""
    with Image.open(path) as image:
        return min(image.size) >= MIN_SIZE + 2 * MARGIN


def measured(files: list[Path], rng: np.random.Generator) -> dict[str, Any]:
    """Make a case, restore it, and return what it was and what was gained."""
    path = files[rng.integers(len(files))]
    scene = crop(path, rng)
    name, blur = kernel(rng)
    noise, light, photons = float(np.exp(rng.uniform(np.log(0.3), np.log(20)))), rng.random() < 0.25, rng.random() < 0.3
    observed = fftconvolve(
        scene**2.2 if light else scene, _for(scene, degradations.sampled(blur)), mode="same", axes=(0, 1)
    )[MARGIN:-MARGIN, MARGIN:-MARGIN]
    spread = np.sqrt(np.clip(observed, 0, 1) / 0.4 + 1 / 16) if photons else 1.0
    y, stored = file_of(observed + noise / 255 * spread * rng.normal(size=observed.shape), light, rng)
    wrong, told = untruth(rng)
    known = noise / 255 * float(rng.choice([0.6, 1, 2])) if rng.random() < 0.25 else None
    transfer = "gamma:2.2" if light and rng.random() < 0.5 else "linear"
    axis = -1 if y.ndim == 3 else None
    taps = degradations.sampled(blur, told)
    result = pp.deblur(y, taps, noise=known, transfer=transfer, channel_axis=axis, workers=1)
    truth, given = scene[MARGIN:-MARGIN, MARGIN:-MARGIN], y / np.iinfo(y.dtype).max if y.dtype.kind == "u" else y
    score = partial(psnr, reference=truth)
    after = score(np.clip(result.image, 0, 1))
    if wrong != MATCHED:  # a wrong kernel may move the image
        after = max(after, psnr(np.clip(result.image, 0, 1), truth, registered=True))
    before = score(np.clip(given, 0, 1))
    return {
        "file": path.name,
        "shape": y.shape,
        "kernel": name,
        "noise": round(noise, 2),
        "photons": bool(photons),
        "light": bool(light),
        "transfer": transfer,
        "stored": stored,
        "wrong": wrong,
        "told noise": None if known is None else round(255 * known, 2),
        "input": round(before, 2),
        "gain": round(after - before, 2),
        "status": result.status.name,
        "warnings": result.warnings,
    }


def crop(path: Path, rng: np.random.Generator) -> Array:
    """Return a square of a photograph, with what the blur brings in around it."""
    with Image.open(path) as image:
        whole = image.convert("RGB").reduce(max(round(max(image.size) / SIDE), 1))
    size = min(int(rng.integers(MIN_SIZE, MAX_SIZE)) + 2 * MARGIN, *whole.size)
    left, top = (int(rng.integers(length - size + 1)) for length in whole.size)
    part = np.asarray(whole, np.float64)[top : top + size, left : left + size] / 255
    return part if rng.random() < 0.5 else part @ [0.299, 0.587, 0.114]


def kernel(rng: np.random.Generator) -> tuple[str, Kernel]:
    """Return a kernel and its name."""
    match rng.choice(["motion", "disk", "gaussian", "shake", "box", "rational"]):
        case "motion":
            length, angle = rng.uniform(4, 22), rng.uniform(0, 180)
            return f"motion {length:.1f}, {angle:.0f}", degradations.motion(length, angle)
        case "disk":
            radius = rng.uniform(1, 6)
            return f"disk {radius:.2f}", degradations.disk(radius)
        case "gaussian":
            sigma = rng.uniform(0.4, 3)
            return f"gaussian {sigma:.2f}", degradations.gaussian(sigma)
        case "shake":
            reach, path = rng.uniform(3, 10), int(rng.integers(1 << 16))
            return f"shake {reach:.1f}", degradations.shake(path, reach)
        case "box":
            side = int(rng.integers(2, 10))
            return f"box {side}", degradations.box(side)
        case _:
            return "rational", degradations.rational(7.5)


def file_of(y: Array, light: bool, rng: np.random.Generator) -> tuple[NDArray[Any], str]:
    """Return what a file holds of an image, and what kind of file it is."""
    if light:
        y = np.clip(y, 0, 1) ** (1 / 2.2)
    match rng.choice(["float", "8 bits", "16 bits", "jpeg"], p=[0.2, 0.35, 0.1, 0.35]):
        case "float":
            return y.astype(np.float32), "float"
        case "16 bits":
            return np.round(65535 * np.clip(y, 0, 1)).astype(np.uint16), "16 bits"
        case "8 bits":
            return np.round(255 * np.clip(y, 0, 1)).astype(np.uint8), "8 bits"
        case _:
            quality, subsampling = int(rng.integers(75, 98)), int(rng.choice([0, 2]))
            file = io.BytesIO()
            pixels = Image.fromarray(np.round(255 * np.clip(y, 0, 1)).astype(np.uint8))
            pixels.save(file, "jpeg", quality=quality, **({} if y.ndim == 2 else {"subsampling": subsampling}))
            return np.asarray(Image.open(file)), f"jpeg {quality}"


def untruth(rng: np.random.Generator) -> tuple[str, degradations.Variant]:
    """Return what is wrong with the kernel that is told, if anything is."""
    true = VARIANTS[MATCHED]
    match rng.choice([MATCHED, "width", "turn", "rounded", "shift"], p=[0.5, 0.2, 0.15, 0.1, 0.05]):
        case "width":
            stretch = float(rng.uniform(0.88, 1.12))
            return f"{stretch:.2f} times as wide", replace(true, stretch=stretch)
        case "turn":
            turn = float(rng.uniform(-6, 6))
            return f"turned by {turn:.1f}", replace(true, turn=turn)
        case "rounded":
            return "rounded", replace(true, rounded=True)
        case "shift":
            return "shifted", replace(true, shift=0.5)
        case _:
            return MATCHED, true


def _for(scene: Array, taps: Array) -> Array:
    return taps if scene.ndim == 2 else taps[..., None]


if __name__ == "__main__":
    sys.exit(main())
