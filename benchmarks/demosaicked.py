"""Photographs that a camera demosaicked, deblurred with nothing told.

Run with ``python benchmarks/demosaicked.py [--images fit|seen|check] [--sample N --seed S] [--size N] [--sweep]``. A
colour photograph is taken for the light of a scene: it is blurred, seen by the sensor of `high_iso.py` with its photon
and read-out noise, demosaicked, and stored in 8 bits, as JPEG of quality 95, or not ("png"). The PSNR is that of the
frame, against the sharp scene; "best" is the best of the told noise levels `TOLD`. ``--white`` leaves out the colour
filter: each pixel sees all colours, so that the noise is white.

Rules were found on the images marked "fit". Results on those marked "seen" were looked at once, after which the rule
for JPEG files was made to begin earlier; those marked "check" had no say. The exit code is 1 if a result is more than
0.1 dB below its input.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator

import high_iso
import numpy as np
import photographs
from high_iso import Array
from numpy.typing import NDArray
from scipy.signal import fftconvolve

import plugplay as pp

IMAGES = {
    "fit": ("astronaut", "nuthatch", "coffee", "rocket"),
    "seen": ("motorcycle", "chelsea", "retina", "Dragonfly", "Wine", "free", "greentock", "picosdeeuropa", "sunset"),
    "check": ("Picture_0B", "Picture_1A", "analog", "Bridge", "aitzgorri", "friends", "umang"),
}
KERNELS = {
    "motion 9": pp.kernels.motion(9, 30),
    "motion 15": pp.kernels.motion(15, 75),
    "gaussian 1.6": pp.kernels.gaussian(11, sigma=1.6),
    "disk 3": pp.kernels.disk(3),
}
# Photons at white, and read-out noise as a share of white.
LEVELS = ((5000, 0.002), (1500, 0.005), (400, 0.01), (120, 0.02))
FILES: dict[str, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    "png": lambda pixels: pixels,
    "jpeg 4:4:4": lambda pixels: high_iso.as_jpeg(pixels, 0),
    "jpeg 4:2:0": lambda pixels: high_iso.as_jpeg(pixels, 2),
}
# Noise levels of the sweep, on 255.
TOLD = (2.0, 4.0, 8.0, 16.0, 32.0)
MARGIN = 8
TOLERATED_LOSS = 0.1

Case = tuple[str, str, str, tuple[int, float], str]


def frame(scene: Array) -> Array:
    """Return what of a scene lies in the frame."""
    return scene[MARGIN:-MARGIN, MARGIN:-MARGIN]


def observe(scene: Array, case: Case, *, white: bool) -> NDArray[np.uint8]:
    """Blur a scene and take its photograph."""
    _, kernel, demosaicking, (photons, read), file = case
    blurred = frame(fftconvolve(scene, KERNELS[kernel][..., None], mode="same", axes=(0, 1)).clip(0, 1))
    if white:
        rng = np.random.default_rng(0)
        noisy = rng.poisson(photons * blurred) / photons + read * rng.normal(size=blurred.shape)
        pixels = np.round(255 * noisy.clip(0, 1)).astype(np.uint8)
    else:
        pixels = high_iso.developed(blurred, demosaicking, photons, read)
    return FILES[file](pixels)


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Return the cases to run: all, or a sample that has as many of each file and each demosaicking."""
    here = photographs.available()
    names = [name for name in IMAGES[options.images] if name not in photographs.SOURCES or name in here]
    demosaickings = ("none",) if options.white else tuple(high_iso.DEMOSAICKINGS)
    strata = list(itertools.product(demosaickings, options.files))
    if options.sample is None:
        for name, kernel, level in itertools.product(names, KERNELS, LEVELS):
            yield from ((name, kernel, demosaicking, level, file) for demosaicking, file in strata)
        return
    rng = np.random.default_rng(options.seed)
    rest = list(itertools.product(names, KERNELS, LEVELS))
    orders = [rng.permutation(len(rest)) for _ in strata]
    for k in range(options.sample):
        demosaicking, file = strata[k % len(strata)]
        name, kernel, level = rest[orders[k % len(strata)][k // len(strata) % len(rest)]]
        yield name, kernel, demosaicking, level, file


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--images", choices=tuple(IMAGES), default="check")
    parser.add_argument("--files", nargs="+", choices=tuple(FILES), default=tuple(FILES))
    parser.add_argument("--size", type=int, default=144, help="side of the frame")
    parser.add_argument("--sample", type=int, help="so many random cases instead of all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--sweep", action="store_true", help="the best of several told noise levels")
    parser.add_argument("--white", action="store_true", help="no colour filter and no demosaicking")
    options = parser.parse_args()
    print(
        f"{'image':14}{'kernel':14}{'demosaicking':13}{'file':11}{'photons':>8}{'input':>8}{'gain':>8}{'best':>8}{'at':>5}"
        f"{'noise':>7}  warnings"
    )
    gains, best = [], []
    for case in cases(options):
        name, kernel, demosaicking, (photons, _), file = case
        scene = high_iso.scene(name, options.size + 2 * MARGIN)
        y, x = observe(scene, case, white=options.white), frame(scene)
        before = high_iso.psnr(y / 255, x)
        result = pp.deblur(y, KERNELS[kernel], channel_axis=-1)
        gains.append(high_iso.psnr(result.image, x) - before)
        told = [np.nan]
        if options.sweep:
            swept = (pp.deblur(y, KERNELS[kernel], channel_axis=-1, noise=level / 255).image for level in TOLD)
            told = [high_iso.psnr(image, x) - before for image in swept]
        best.append(max(told))
        at = f"{TOLD[int(np.argmax(told))]:g}" if options.sweep else ""
        noise = 255 * result.parameters.noise
        print(
            f"{name:14}{kernel:14}{demosaicking:13}{file:11}{photons:8}{before:8.2f}{gains[-1]:+8.2f}{best[-1]:+8.2f}{at:>5}"
            f"{noise:7.1f}  {'; '.join(text[:60] for text in result.warnings)}",
            flush=True,
        )
    print(f"gain: {np.mean(gains):+.2f} dB on average, {min(gains):+.2f} at least, {len(gains)} cases")
    if options.sweep:
        gap = np.subtract(best, gains)
        print(f"best told level: {np.mean(best):+.2f} dB, {gap.mean():.2f} above on average, {gap.max():.2f} at most")
    below = int(np.sum(np.array(gains) < -TOLERATED_LOSS))
    print(f"more than {TOLERATED_LOSS} dB below the input: {below}")
    return int(below > 0)


if __name__ == "__main__":
    sys.exit(main())
