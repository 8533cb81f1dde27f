"""Draw the curves of the network for super-resolution: ``python -m training.plot_dcnn``."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

__all__ = ["main"]

CURVES = Path(__file__).parent / "curves"
FIGURE = Path(__file__).parents[1] / "docs/images/dcnn-curve.png"


def main() -> None:
    """Draw and save."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for factor in (2, 4):
        with (CURVES / f"dcnn-x{factor}.csv").open() as file:
            rows = list(csv.DictReader(file))
        steps = [int(row["step"]) for row in rows]
        for axis, column in zip(axes, ("loss", "gain"), strict=True):
            axis.plot(steps, [float(row[column]) for row in rows], label=f"x{factor} (last {rows[-1][column]})")
    axes[0].set(title="training", xlabel="step", ylabel="squared error / that of interpolation")
    axes[1].set(title="held-out photographs", xlabel="step", ylabel="PSNR above interpolation, dB")
    for axis in axes:
        axis.set_xticks(range(0, steps[-1] + 1, steps[-1] // 4))
        axis.grid(alpha=0.3)
        axis.legend(loc="best")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()
