"""Images that do not fill their range: what they gain by being darker than the darkest that was observed.

    python benchmarks/low_contrast.py [--images moon wine ...] [--contrast 0.2] [--black 0.3]

Gray crops are squeezed to a fifth of the range, blurred, given noise and deblurred, noise unknown, once with the clip
that is chosen and once with one at the darkest pixel of the observation. Where the image has a background (the drawn
cells of ``cells.py`` do), the choice is just that. PSNRs are relative to the contrast.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import photographs
from cells import cells
from degradations import REACH, Array, taps, truth
from scipy.signal import fftconvolve

import plugplay as pp

CASES = (
    ("gaussian 0.5", 0.5),
    ("gaussian 1.6", 5.0),
    ("box 9", 2.0),
    ("motion 15", 0.5),
    ("disk 5", 2.0),
    ("shake 4", 10.0),
)
SIZE = 128
DRAWN = "cells"


def scene(name: str) -> Array:
    """Return a gray image on [0, 1] with the margin that a blur needs."""
    side = SIZE + 2 * (REACH + 2)
    if name == DRAWN:
        return cells(side, 1)[0]
    image = photographs.crop(name, side)
    return image.mean(axis=-1) if image.ndim == 3 else image


def main() -> None:
    """Print a line for each case, and the least, the mean and the largest gain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", nargs="+", choices=(*photographs.SOURCES, DRAWN), default=["camera", "page", DRAWN])
    parser.add_argument("--contrast", type=float, default=0.2)
    parser.add_argument("--black", type=float, default=0.3)
    options = parser.parse_args()
    inner = slice(REACH + 2, -(REACH + 2))
    gains = []
    for name in options.images:
        for kernel, noise in CASES:
            image = options.black + options.contrast * scene(name)
            blurred = fftconvolve(image, taps(kernel), mode="same")[inner, inner]
            spread = options.contrast * noise / 255
            y = blurred + spread * np.random.default_rng(0).standard_normal(blurred.shape)
            darkest = float(y.min())
            chosen = pp.deblur(y, taps(kernel), workers=1)
            held = pp.deblur(y, taps(kernel), workers=1, clip=(darkest, 1e3))
            here, there = (
                pp.psnr(result.image, truth(image)) + 20 * math.log10(options.contrast) for result in (chosen, held)
            )
            clip = chosen.parameters.clip
            kept = clip is not None and math.isclose(clip[0], darkest, abs_tol=1e-6)
            gains.append(here - there)
            print(
                f"{name:10} {kernel:12} {noise:4g}: {there:6.2f} -> {here:6.2f} dB ({here - there:+.2f})"
                f"{'  background' if kept else ''}",
                flush=True,
            )
    spread = f"{min(gains):+.2f} dB at least, {np.mean(gains):+.2f} on average, {max(gains):+.2f} at most"
    print(f"{len(gains)} cases: {spread}")


if __name__ == "__main__":
    main()
