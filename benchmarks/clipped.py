"""What undoing the bias of noise that was clipped at black and white gains, and whether other noise passes for it.

``python benchmarks/clipped.py`` adds noise to crops of photographs, rounds them to 8 bits, and denoises or deblurs them
with nothing given: as they are, and as floats a billionth of which is below black, which no clipped noise is. It prints
PSNR, and how far the mean of what is darker than 0.1 is from the truth. ``--part false`` counts images whose noise was
not clipped, or falls towards both ends, that are taken for such. The exit code is 1 if undoing it loses more than 0.1
dB, or if one is.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import photographs
from numpy.typing import NDArray

import plugplay as pp

KERNEL = "gaussian:1.2"
MAX_LOSS = 0.1
DARK = 0.1


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--part", choices=("gain", "false"), default="gain")
    parser.add_argument("--images", choices=("seen", "unseen"), default="unseen")
    parser.add_argument("--tasks", nargs="+", default=["denoise", "deblur"], choices=["denoise", "deblur"])
    parser.add_argument("--noise", nargs="+", type=float, default=[10, 25, 50], help="on 255")
    parser.add_argument("--size", type=int, default=192)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [
        name for name in photographs.available() if photographs.SOURCES[name].found_on == (options.images == "seen")
    ]
    crops = {name: photographs.crop(name, options.size) for name in names}
    return _gains(crops, options) if options.part == "gain" else _false(crops, options)


def _gains(crops: dict[str, NDArray[np.float64]], options: argparse.Namespace) -> int:
    gains = []
    print("| task | image | noise | as it is | undone | dark, as it is | dark, undone |")
    print("|---|---|---|---|---|---|---|")
    for task in options.tasks:
        kernel = pp.kernels.parse(KERNEL)
        for name, truth in crops.items():
            clean = truth if task == "denoise" else pp.models.Deblurring(kernel).forward(truth)
            for level in options.noise:
                y = _stored(clean + np.random.default_rng(1).normal(0, level / 255, truth.shape))
                below = np.where(y == 0, -1e-9, y / 255.0)
                found = [_restored(task, each, kernel) for each in (below, y)]
                values = [pp.psnr(image.clip(0, 1), truth) for image in found]
                dark = truth < DARK
                moved = [f"{255 * (image - truth)[dark].mean():+.1f}" if dark.any() else "" for image in found]
                gains.append(values[1] - values[0])
                cells = [task, name, f"{level:g}", *(f"{value:.2f}" for value in values), *moved]
                print(f"| {' | '.join(cells)} |", flush=True)
    print(f"gained: {np.mean(gains):.2f} dB on average, {min(gains):.2f} at least, {max(gains):.2f} at most")
    return int(min(gains) < -MAX_LOSS)


def _false(crops: dict[str, NDArray[np.float64]], options: argparse.Namespace) -> int:
    passed, count = [], 0
    for name, truth in crops.items():
        for level in options.noise:
            noise, margin = np.random.default_rng(3).normal(0, level / 255, truth.shape), 3.5 * level / 255
            cases = {
                "none, but told": truth,
                "within the range": margin + (1 - 2 * margin) * truth + noise,
                "less at both ends": truth + noise * np.clip(3 * np.minimum(truth, 1 - truth), 0.1, 1),
            }
            for case, image in cases.items():
                told = level / 255 if case == "none, but told" else None
                plan = pp.prepare(_stored(image), pp.models.Denoising(), noise=told, channel_axis=_channels(image))
                count += 1
                if plan.parameters.clipped_noise is not None:
                    passed.append(f"{name}, {case}, {level:g}/255")
    print(f"{len(passed)} of {count} images pass for clipped noise", *passed, sep="\n")
    return int(bool(passed))


def _stored(image: NDArray[np.float64]) -> NDArray[np.uint8]:
    return np.rint(255 * image.clip(0, 1)).astype(np.uint8)


def _channels(image: NDArray[np.generic]) -> int | None:
    return -1 if image.ndim == 3 else None


def _restored(task: str, y: NDArray[np.generic], kernel: NDArray[np.float64]) -> NDArray[np.generic]:
    if task == "denoise":
        return pp.denoise(y, channel_axis=_channels(y)).image
    return pp.deblur(y, kernel, channel_axis=_channels(y)).image


if __name__ == "__main__":
    sys.exit(main())
