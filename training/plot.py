"""Draw the curve of the training: ``python -m training.plot``."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

from training.held_out import LEVELS

__all__ = ["main"]

CURVE = Path(__file__).parent / "curve.csv"
FIGURE = Path(__file__).parents[1] / "docs/images/training-curve.png"


def main() -> None:
    """Draw and save."""
    with CURVE.open() as file:
        rows = list(csv.DictReader(file))
    steps = [int(row["step"]) for row in rows]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, kind in zip(axes, ("gray", "colour"), strict=True):
        for level in LEVELS:
            name = f"{kind} {level}"
            gains = [float(row[name]) for row in rows]
            axis.plot(steps, gains, label=f"sigma {level}/255 (last {gains[-1]:+.2f})")
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set(title=kind, xlabel="step", xscale="log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.legend(loc="best")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("PSNR above BM3D with three stages, dB")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()
