"""The noise that is assumed behind a mild blur, where quiet blocks cannot tell it from texture.

    python benchmarks/beside_texture.py [--photographs] [--kernels "gaussian 0.5"] [--noise 0.5 2] [--restore]

Every image of `photographs.SOURCES`, or, with ``--photographs``, random crops of all photographs in gray, is blurred,
gets white noise, and shows what quiet blocks say (`blocks`), the least of that and what empty frequencies allow
(`before`), and what is assumed (`now`), in units of the true noise. Only cases in which quiet blocks are uncertain are
listed. ``--restore`` also prints the PSNR with the true level told, and what the assumed level and half of it lose.
"""

from __future__ import annotations

import argparse
import io
import math
from collections.abc import Iterator

import numpy as np
import photographs
from degradations import KERNELS, REACH, Array, psnr, taps
from PIL import Image
from scipy.signal import fftconvolve

import plugplay as pp
from plugplay.models.description import traits_of
from plugplay.noise.finding import find_noise
from plugplay.tuning.decimation import UNCERTAIN, noise_found
from plugplay.tuning.empty_frequencies import most_noise

SIZE, CROPS, REDUCTIONS = 128, 12, (2, 4)
MARGIN = REACH + 2
PHOTOGRAPHS = (
    *("Dragonfly", "Picture_0B", "Picture_1A", "Wine", "aitzgorri", "free", "friends", "greentock", "life"),
    *("picosdeeuropa", "seeding", "sunset", "umang", "Fossa", "Infinite-Sea", "Kleiber"),
)


def scenes(*, everywhere: bool) -> Iterator[tuple[str, Array]]:
    """Yield crops with a margin, and their names."""
    size = SIZE + 2 * MARGIN
    if not everywhere:
        yield from ((name, photographs.crop(name, size)) for name in photographs.available())
        return
    rng = np.random.default_rng(5)
    for name in PHOTOGRAPHS:
        whole = Image.open(io.BytesIO(photographs.photograph(name, True))).convert("L")
        for reduction in REDUCTIONS:
            gray = np.asarray(whole.reduce(reduction), np.float64) / 255
            for _ in range(CROPS):
                top, left = (int(rng.integers(0, n - size)) for n in gray.shape)
                yield f"{name}/{reduction} {top},{left}", gray[top : top + size, left : left + size]


def main() -> None:
    """Print a line for each uncertain case, and how far off the levels are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", action="store_true")
    parser.add_argument("--kernels", nargs="+", choices=tuple(KERNELS), default=["gaussian 0.5"])
    parser.add_argument("--noise", nargs="+", type=float, default=[0.5, 2.0], help="standard deviations, times 255")
    parser.add_argument("--restore", action="store_true")
    options = parser.parse_args()
    logarithms, cases = [], 0
    inner = slice(MARGIN, -MARGIN)
    for name, scene in scenes(everywhere=options.photographs):
        for kernel in options.kernels:
            channels = scene.reshape(*scene.shape[:2], -1)
            blurred = np.stack([fftconvolve(c, taps(kernel), mode="same") for c in np.moveaxis(channels, -1, 0)], -1)
            clean, true = blurred.reshape(scene.shape)[inner, inner], scene[inner, inner]
            for noise in options.noise:
                cases += 1
                y = clean + noise / 255 * np.random.default_rng(1).standard_normal(clean.shape)
                model = pp.models.Deblurring(taps(kernel))
                traits = traits_of(model, y, spatial_ndim=2)
                blocks = find_noise(y)
                if blocks.uncertainty <= UNCERTAIN * blocks.level or blocks.compression or blocks.strongest:
                    continue
                found = noise_found(y, traits, blocks, model).level
                levels = [blocks.measured, min(blocks.level, most_noise(y, traits)), found]
                relative = [255 * level / noise for level in levels]
                logarithms.append(np.abs(np.log(relative)))
                line = f"{name:26} {kernel:12} {noise:4g}  blocks {relative[0]:5.2f}  before {relative[1]:5.2f}"
                line += f"  now {relative[2]:5.2f}"
                if options.restore:
                    axis = -1 if y.ndim == 3 else None
                    told, assumed, half = (
                        psnr(pp.deblur(y, taps(kernel), noise=s, exact_noise=True, channel_axis=axis).image, true)
                        for s in (noise / 255, found, found / 2)
                    )
                    line += f"  told {told:5.2f} dB, assumed {assumed - told:+.2f}, half of it {half - told:+.2f}"
                print(line, flush=True)
    typical, worst = np.mean(logarithms, axis=0), np.max(logarithms, axis=0)
    print(f"{len(logarithms)} of {cases} uncertain; off by a factor of, on average and at worst:")
    for which, mean, most in zip(("blocks", "before", "now"), typical, worst, strict=True):
        print(f"  {which:6} {math.exp(mean):.2f} {math.exp(most):.2f}")


if __name__ == "__main__":
    main()
