"""Single rows of the paper's super-resolution table: PSNR, difference to the printed numbers, processor time.

Run with ``python benchmarks/paper_rows.py NAME ... --images DIR [--configurations N ...]``, where DIR has the paper's
ten images and names are those of the table's rows, such as DCNN, SPSR and TSE. One realisation of the noise (seed 0),
on one core; ``plugplay reproduce super-resolution`` makes the whole table.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from plugplay import psnr
from plugplay_paper.experiments.super_resolution import BORDER, SUPER_RESOLUTION
from plugplay_paper.images import from_folder


def main() -> None:
    """Print a line for each row."""
    labels = [contender.label for contender in SUPER_RESOLUTION.parts[0].contenders]
    parser = argparse.ArgumentParser(description="Measure single rows of the paper's super-resolution table.")
    parser.add_argument("names", nargs="+", choices=labels, metavar="NAME", help=", ".join(labels))
    parser.add_argument("--images", type=Path, required=True, help="folder with the paper's ten images")
    parser.add_argument("--configurations", type=int, nargs="+", default=[1, 2, 3, 4], choices=[1, 2, 3, 4])
    options = parser.parse_args()
    images = from_folder(options.images)
    for number in options.configurations:
        part = SUPER_RESOLUTION.parts[number - 1]
        print(part.caption)
        for contender in part.contenders:
            if contender.label in options.names:
                # Compiling and loading take no part in the time.
                contender.method.restore(part.problem.observe(images[0].pixels[:64, :64], seed=0))
                scores, seconds = [], 0.0
                for image in images:
                    observation = part.problem.observe(image.pixels, seed=0)
                    began = time.process_time()
                    restored = contender.method.restore(observation)
                    seconds += time.process_time() - began
                    scores.append(psnr(restored.image, image.pixels, border=BORDER))
                line = f"  {contender.label:8s} {np.mean(scores):6.2f} dB, {seconds / len(images):6.2f} s an image"
                if contender.printed is not None and len(contender.printed) == len(scores):
                    differences = np.array(scores) - contender.printed
                    each = " ".join(f"{difference:+.2f}" for difference in differences)
                    line += f", against the paper {differences.mean():+.2f} ({each})"
                print(line, flush=True)


if __name__ == "__main__":
    main()
