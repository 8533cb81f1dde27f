"""Whether the data tell which kernel is right: right ones must be kept, and wrong ones replaced by better ones.

    python benchmarks/kernels.py [--images astronaut,retina,...] [--restore]

Crops are blurred in light and saved as JPEG files of quality 92, or blurred and given noise of 0.5 and 2/255. The
evidence (`plugplay.tuning.evidence`) is asked about the kernel that was used and about ones that are 8 to 14 % too
wide or too narrow. Printed is the factor by which it is replaced, and in brackets the right one. All of the images
were looked at when the limits were set. With ``--restore``, what is replaced is deblurred with the given and the
other kernel.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from jpeg import photographed, score
from numpy.typing import NDArray
from photographs import available, crop

import plugplay as pp
from plugplay import posing
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.suspicion import Suspicion, suspect

NAMES = "brick,coffee,camera,coins,grass,bridge,retina,astronaut,moon,rocket,wine,seeding"
JPEG = {
    "motion:15,30": ("motion:16.5,30", "motion:13.5,30"),
    "disk:4": ("disk:4.4", "disk:3.6"),
    "motion:9,110": ("motion:10,110",),
    "disk:2.5": ("disk:2.7", "disk:2.25"),
}
NOISY = {"motion:9,30": ("motion:9.9,30",), "disk:3": ("disk:3.3", "disk:2.7"), "box:7": ("box:8",)}
SIZE, MARGIN = 144, 16

Array = NDArray[Any]


def observed(name: str) -> Iterator[tuple[str, str, tuple[str, ...], Array, Array, dict[str, Any]]]:
    """Yield what was done, the right kernel, wrong ones, an observation, the truth, and what to tell `deblur`."""
    axis = {"channel_axis": -1} if crop(name, 8).ndim == 3 else {}
    for right, wrong in JPEG.items():
        y, floor, truth = photographed(name, SIZE, right, 92)
        yield "JPEG 92", right, wrong, y, truth, {"transfer": "srgb", "noise_floor": floor, **axis}
    x = crop(name, SIZE + 2 * MARGIN)
    inner = (slice(MARGIN, -MARGIN),) * 2
    for right, wrong in NOISY.items():
        model = pp.models.Deblurring(pp.kernels.parse(right), boundary="reflect")
        for noise in (0.5, 2.0):
            y = model.simulate(x, noise=noise / 255, rng=0)[inner]
            yield f"noise {noise}", right, wrong, y, x[inner], {"noise": noise / 255, **axis}


def judged(y: Array, words: str, known: dict[str, Any]) -> Suspicion:
    """Return what the data say against a kernel."""
    model = pp.models.Deblurring(pp.kernels.parse(words), boundary="unknown")
    traits, noise = model.traits(y), known.get("noise")
    curve = known.get("transfer", "linear")
    scale = posing.scale_of(y, traits, None, noise, model, curve)
    unit = scale.to_working(y)
    level = posing.posed(unit, model, traits, noise, scale, noise_floor=known.get("noise_floor", 0.0)).level
    hidden = estimate_noise(posing.numbers_of(unit, scale)).zeroed * scale.slope
    return suspect(unit, model, traits, level, hidden=hidden)


def main() -> None:
    """Print a line for each observation, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", default=NAMES)
    parser.add_argument("--restore", action="store_true")
    options = parser.parse_args()
    counts = dict.fromkeys(("right", "right replaced", "wrong", "wrong replaced", "made worse"), 0)
    for name in [name for name in options.images.split(",") if name in available()]:
        for done, right, wrong, y, truth, known in observed(name):
            cells = []
            for words in (right, *wrong):
                found, kind = judged(y, words, known), "right" if words == right else "wrong"
                replaced = bool(found.reshaping)
                counts[kind] += 1
                counts[f"{kind} replaced"] += replaced
                factor = _width(right) / _width(words)
                cell = f"{found.reshaping.stretch:.3f}" if replaced else "suspected" if found.reasons else "believed"
                if replaced:
                    counts["made worse"] += abs(np.log(found.reshaping.stretch / factor)) > abs(np.log(factor))
                    if options.restore:
                        taps = pp.kernels.parse(words)
                        pair = [pp.deblur(y, taps, exact_kernel=kept, **known) for kept in (True, False)]
                        cell += " {:.2f} -> {:.2f} dB".format(*(score(one.image, truth) for one in pair))
                cells.append(f"{words}: {cell} ({factor:.3f})")
            print(f"{name:10} {done:9} {'  '.join(cells)}", flush=True)
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))


def _width(words: str) -> float:
    return float(words.partition(":")[2].partition(",")[0])


if __name__ == "__main__":
    main()
