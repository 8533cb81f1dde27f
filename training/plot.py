"""Draw the curve of the training, with BM3D on the same crops: ``python -m training.plot``."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

import plugplay as pp
from training.held_out import LEVELS, crops, gray, psnr, with_noise
from training.photographs import cache_folder, load

__all__ = ["main"]

CURVE = Path(__file__).parent / "checkpoints/curve.csv"
FIGURE = Path(__file__).parents[1] / "docs/images/training-curve.png"


def bm3d_on_crops() -> dict[str, float]:
    """Return the mean PSNR of BM3D by the name of the column of the curve."""
    denoise = pp.denoisers.get("bm3d")
    images = crops(load(cache_folder()).held_out)
    found = {}
    for kind in ("gray", "colour"):
        for level in LEVELS:
            pairs = []
            for image in images:
                # Noise is drawn with the channels first, as for the network.
                clean = np.moveaxis(image, -1, 0) if kind == "colour" else gray(image)[None]
                clean, noisy = (np.moveaxis(a, 0, -1).squeeze() for a in (clean, with_noise(clean, level / 255)))
                pairs.append(psnr(denoise(np.ascontiguousarray(noisy), level / 255), clean))
            found[f"{kind} {level}"] = float(np.mean(pairs))
    return found


def main() -> None:
    """Draw and save."""
    with CURVE.open() as file:
        rows = list(csv.DictReader(file))
    steps = [int(row["step"]) for row in rows]
    reference = bm3d_on_crops()
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, kind in zip(axes, ("gray", "colour"), strict=True):
        for level in LEVELS:
            name = f"{kind} {level}"
            gains = [float(row[name]) - reference[name] for row in rows]
            axis.plot(steps, gains, label=f"sigma {level}/255 (last {gains[-1]:+.2f})")
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set(title=kind, xlabel="step", xscale="log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.legend(loc="lower right")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("PSNR above BM3D, dB")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=110)
    for name, value in reference.items():
        print(f"{name}: BM3D {value:.3f}, network {float(rows[-1][name]):.3f}")


if __name__ == "__main__":
    main()
