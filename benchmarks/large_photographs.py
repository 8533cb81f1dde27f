"""Five colour photographs of 3 megapixels, as files: blurred by motion, noisy, clipped, rounded, and deblurred again.

    python benchmarks/large_photographs.py [--names NAME ...] [--megapixels N] [--folder DIR] [--oracle]

What is run is what a user would run, ``plugplay deblur FILE --kernel motion:15,30 --linear off``: the blur happened in
the numbers of the file, not in light. The photographs come from two Debian packages (`photographs`) and are reduced by
two where that leaves enough pixels, which removes what compression and demosaicking left. The exit code is 1 if one
gains less than 6 dB. ``--oracle`` says what can be had: with the true noise told and multiples of lambda, and by the
Wiener filter that knows the power of each frequency of the true image.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from photographs import photograph
from PIL import Image
from scipy.signal import fftconvolve

import plugplay as pp

NAMES = ("Kleiber", "Dragonfly", "seeding", "sunset", "Bridge")
KERNEL, NOISE, MIN_GAIN = "motion:15,30", 3 / 255, 6.0
REDUCTION, MARGIN = 2, 8
STRENGTHS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)


def scene(name: str, megapixels: float) -> NDArray[np.float64]:
    """Return the middle of a photograph on [0, 1], with a margin that the blur reaches into."""
    whole = Image.open(io.BytesIO(photograph(name, True))).convert("RGB")
    if whole.width * whole.height >= REDUCTION**2 * 1e6 * megapixels:
        whole = whole.reduce(REDUCTION)
    height = min(round(1000 * math.sqrt(megapixels * 3 / 4)), whole.height - 2 * MARGIN)
    width = min(round(1e6 * megapixels / height), whole.width - 2 * MARGIN)
    left, top = (whole.width - width) // 2, (whole.height - height) // 2
    box = (left - MARGIN, top - MARGIN, left + width + MARGIN, top + height + MARGIN)
    return np.asarray(whole.crop(box), np.float64) / 255


def observed(sharp: NDArray[np.float64], seed: int) -> NDArray[np.uint8]:
    """Return what a file of 8 bits holds of a scene."""
    kernel = pp.kernels.parse(KERNEL)
    blurred = np.stack([fftconvolve(sharp[..., c], kernel, mode="same") for c in range(3)], axis=-1)
    noisy = blurred + NOISE * np.random.default_rng(seed).standard_normal(sharp.shape)
    return np.round(255 * np.clip(noisy, 0, 1)).astype(np.uint8)[MARGIN:-MARGIN, MARGIN:-MARGIN]


def deblurred(file: Path, out: Path, *options: str) -> float:
    """Run the command, and return how many seconds of processor time it took."""
    command = ["deblur", str(file), "--kernel", KERNEL, "--linear", "off", "--output", str(out), "--overwrite"]
    before = os.times()
    subprocess.run([sys.executable, "-m", "plugplay", *command, *options], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def wiener_gain(truth: NDArray[np.float64]) -> float:
    """Return what the best filter gains over a blurred, noisy image, if it knows the power of each frequency.

    The image is blurred circularly here, which makes the filter optimal among all that are linear and the same
    everywhere, and more so than one that has to estimate the power.
    """
    height, width = truth.shape[:2]
    kernel = pp.kernels.parse(KERNEL)
    passed = np.square(np.abs(np.fft.rfft2(kernel, (height, width))))[..., None]
    power = np.square(np.abs(np.fft.rfft2(truth, axes=(0, 1)))) / (height * width)
    left = power * NOISE**2 / (passed * power + NOISE**2)
    # What the blurred image is off by: what the kernel took, and the noise. Phases of a centred kernel do not matter.
    centred = np.zeros((height, width))
    centred[: kernel.shape[0], : kernel.shape[1]] = kernel
    centred = np.roll(centred, [-(n // 2) for n in kernel.shape], axis=(0, 1))
    lost = power * np.square(np.abs(1 - np.fft.rfft2(centred)))[..., None] + NOISE**2
    return float(10 * np.log10(lost.sum() / left.sum()))


def main() -> int:
    """Run the command on each file, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", nargs="+", default=NAMES, help="how the names of the photographs begin")
    parser.add_argument("--megapixels", type=float, default=3.0)
    parser.add_argument("--folder", type=Path, help="where to leave the files; default a temporary folder")
    parser.add_argument("--oracle", action="store_true", help="what can be had, too")
    options = parser.parse_args()
    gains = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for seed, name in enumerate(options.names):
            sharp = scene(name, options.megapixels)
            truth, y = sharp[MARGIN:-MARGIN, MARGIN:-MARGIN], observed(sharp, seed)
            file, out = folder / f"{name}.png", folder / f"{name}-deblurred.png"
            Image.fromarray(y).save(file)
            seconds = deblurred(file, out)
            scores = [pp.psnr(np.asarray(Image.open(path)) / 255, truth) for path in (file, out)]
            gains.append(scores[1] - scores[0])
            print(
                f"{name:14} {y.shape[0] * y.shape[1] / 1e6:.2f} MP  input {scores[0]:.2f}  deblurred {scores[1]:.2f}  "
                f"gain {gains[-1]:+.2f} dB  {seconds:.0f} s of CPU",
                flush=True,
            )
            if options.oracle:
                found = []
                for strength in STRENGTHS:
                    deblurred(file, out, "--noise", f"{NOISE:.6f}", "--strength", str(strength))
                    found.append(f"{strength:g}: {pp.psnr(np.asarray(Image.open(out)) / 255, truth) - scores[0]:+.2f}")
                print(f"  true noise, multiples of lambda: {', '.join(found)}; Wiener {wiener_gain(truth):+.2f}")
    print(f"{sum(gain >= MIN_GAIN for gain in gains)} of {len(gains)} gain {MIN_GAIN:g} dB or more")
    return int(min(gains) < MIN_GAIN)


if __name__ == "__main__":
    raise SystemExit(main())
