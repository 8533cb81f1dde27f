"""Single photons: `plugplay.single_photon` against "Images from Bits" and the paper's table.

Run with ``python benchmarks/photons.py [--images DIR] [--oversampling K ...] [--seed N]``. "Images from Bits" makes the
noise of the counts uniform, denoises once with BM3D in its two usual stages, and inverts. Without a folder the images
are crops of scikit-image's; with that of the paper's ten, the difference to the better of the paper's rows is printed,
too. One realisation. The exit code is 1 if "Images from Bits" is better on any image.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from photographs import crop
from PIL import Image

import plugplay as pp
from plugplay_paper import paper

IMAGES = ("camera", "coins", "moon", "brick")


def images(folder: Path | None) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield names and gray images on [0, 1]."""
    if folder is None:
        for name in IMAGES:
            yield name, crop(name, 256).astype(np.float32)
        return
    for path in sorted(folder.glob("*.png")):
        with Image.open(path) as file:
            yield path.stem, np.asarray(file.convert("L"), np.float32) / 255


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--images", type=Path, help="a folder of PNG files")
    parser.add_argument("--oversampling", type=int, nargs="*", default=[4, 6, 8, 10])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    below = 0
    for k in options.oversampling:
        rows = []
        printed = paper.SINGLE_PHOTON.get(k)
        better = None if printed is None else max(printed["Ours-M"], printed["Ours-A"], key=sum)
        for name, x in images(options.images):
            bits = pp.models.SinglePhoton(k).simulate(x, rng=options.seed)
            peer = pp.single_photon(bits, oversampling=k, method="one-shot", denoiser=pp.denoisers.BM3D(stages=2))
            ours = pp.single_photon(bits, oversampling=k)
            of_paper = paper.printed(better, name, x.shape)
            rows.append((pp.psnr(peer.image, x), pp.psnr(ours.image, x), np.nan if of_paper is None else of_paper))
            below += rows[-1][1] <= rows[-1][0]
            print(f"K = {k:2}  {name:16} Images from Bits {rows[-1][0]:6.2f}  plugplay {rows[-1][1]:6.2f}", flush=True)
        peer_mean, mean, paper_mean = np.mean(rows, axis=0)
        print(
            f"K = {k:2}  {'mean':16} Images from Bits {peer_mean:6.2f}  plugplay {mean:6.2f}"
            + ("" if np.isnan(paper_mean) else f"  paper {paper_mean:6.2f}  difference {mean - paper_mean:+.2f}"),
            flush=True,
        )
    return int(below > 0)


if __name__ == "__main__":
    sys.exit(main())
