"""Super-resolution: `plugplay.restore` with nothing given, against the paper's parameters and its table.

Run with ``python benchmarks/super_resolution.py [--images DIR] [--configurations N ...] [--stages 2|3] [--by-hand]``.
The paper's four configurations, one realisation. Without a folder the images are crops that no rule was found on; with
that of the paper's ten, the difference to the printed row Ours-M is shown, too. ``--by-hand`` also runs the paper's
parameters here. PSNR without a border of four pixels, as in the paper.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from photographs import crop
from PIL import Image

import plugplay as pp
from plugplay_paper import paper
from plugplay_paper.experiments.super_resolution import BORDER, by_hand, problem

HELD_OUT = ("moon", "astronaut", "rocket", "wine", "seeding")


def images(folder: Path | None) -> dict[str, NDArray[np.float64]]:
    """Return gray images on [0, 1], by name."""
    if folder is None:
        crops = {name: crop(name, 256) for name in HELD_OUT}
        return {name: x if x.ndim == 2 else x @ (0.299, 0.587, 0.114) for name, x in crops.items()}
    found = {}
    for path in sorted(folder.glob("*.png")):
        with Image.open(path) as file:
            found[path.stem] = np.asarray(file.convert("L"), np.float64) / 255
    return found


def quality(image: NDArray[np.floating], truth: NDArray[np.float64]) -> float:
    """Return the PSNR inside the border."""
    inside = (slice(BORDER, -BORDER),) * 2
    return pp.psnr(np.clip(image, 0, 1)[inside], truth[inside])


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--images", type=Path, help="a folder of PNG files")
    parser.add_argument("--configurations", type=int, nargs="*", default=[1, 2, 3, 4])
    parser.add_argument("--stages", type=int, choices=(2, 3), help="stages of BM3D; by default those that it chooses")
    parser.add_argument("--by-hand", action="store_true")
    options = parser.parse_args()
    denoiser = pp.denoisers.BM3D(stages=options.stages)
    truths = images(options.images)
    for configuration in paper.CONFIGURATIONS:
        if configuration.number not in options.configurations:
            continue
        rows = []
        for name, x in truths.items():
            observed = problem(configuration).observe(x, seed=0)
            began = time.process_time()
            automatic = pp.restore(observed.y, observed.model, denoiser=denoiser)
            seconds = time.process_time() - began
            hand = by_hand(configuration).restore(observed).image if options.by_hand else None
            printed = paper.printed(paper.SUPER_RESOLUTION[configuration.number]["Ours-M"], name, x.shape)
            rows.append(
                (
                    quality(observed.data_term().start(), x),
                    quality(automatic.image, x),
                    np.nan if hand is None else quality(hand, x),
                    np.nan if printed is None else printed,
                    seconds,
                )
            )
            show(configuration.number, name, rows[-1])
        show(configuration.number, "mean", tuple(np.mean(rows, axis=0)))


def show(configuration: int, name: str, row: tuple[float, ...]) -> None:
    """Print a row."""
    start, automatic, hand, printed, seconds = row
    print(
        f"configuration {configuration}  {name:16} bicubic {start:6.2f}  automatic {automatic:6.2f}"
        + ("" if np.isnan(hand) else f"  by hand {hand:6.2f}")
        + ("" if np.isnan(printed) else f"  printed {printed:6.2f}  difference {automatic - printed:+.2f}")
        + f"  CPU {seconds:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
