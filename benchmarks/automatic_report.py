"""Tables and heat maps of `automatic.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from degradations import MATCHED

Row = dict[str, Any]
# In dB.
TOLERATED_LOSS = 0.1
METHODS = ("automatic", "best", "denoised", "richardson-lucy", "wiener")


def failures(rows: list[Row]) -> list[Row]:
    """Return the cases in which automatic is worse than its input, the worst first."""
    return sorted((row for row in rows if row["gain"] < -TOLERATED_LOSS), key=lambda row: row["gain"])


def print_report(rows: list[Row]) -> None:
    """Print a table for each way to group the cases, and every failure."""
    seen, unseen = (sorted({row["image"] for row in rows if row["found on"] is which}) for which in (True, False))
    print(
        f"\nRules were found on {', '.join(seen) or 'none of these images'}; checked on {', '.join(unseen) or 'none'}."
    )
    matched = [row for row in rows if row["variant"] == MATCHED]
    print_table("variant", rows, lambda row: row["variant"])
    for title, group in (("without mismatch", matched), ("all cases", rows)):
        if group and (group is rows or len(matched) < len(rows)):
            print(f"\n{title}:")
            print_table("image", group, lambda row: row["image"] + (" *" if row["found on"] else ""))
            print_table("kernel", group, lambda row: row["kernel"])
            print_table("noise x 255", group, lambda row: f"{row['noise']:g}")
            print_table("images", group, lambda row: "found on" if row["found on"] else "checked on")
    bad = failures(rows)
    print(f"\n{len(bad)} of {len(rows)} cases are worse than their input by more than {TOLERATED_LOSS} dB")
    for row in bad:
        print(
            f"  {row['image']}, {row['kernel']}, noise {row['noise']:g}, {row['variant']}: input {row['input']:.2f}, "
            f"automatic {row['automatic']:.2f}, denoised {row['denoised']:.2f}"
            + (f", best lambda {row['best']:.2f}" if "best" in row else "")
            + f"; assumed noise {row['assumed noise']:.2f}; {'; '.join(row['warnings']) or 'no warnings'}"
        )


def print_table(title: str, rows: list[Row], label: Callable[[Row], str]) -> None:
    """Print the mean and worst gap, and the mean gain over the input of every method."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[label(row)].append(row)
    print(f"\n{title:20} cases  worse  gap mean  worst   gain over input: worst", *(f"{m:>15}" for m in METHODS))
    for name, group in groups.items():
        gaps = [row["gap"] for row in group if "gap" in row]
        gap = f"{np.mean(gaps):8.2f} {np.max(gaps):6.2f}" if gaps else f"{'-':>8} {'-':>6}"
        means = [_mean_gain(group, method) for method in METHODS]
        print(
            f"{name:20} {len(group):5}  {len(failures(group)):5}  {gap}  {min(row['gain'] for row in group):22.2f}",
            *(f"{mean:15.2f}" for mean in means),
        )


def _mean_gain(rows: list[Row], method: str) -> float:
    gains = [row[method] - row["input"] for row in rows if method in row]
    return float(np.mean(gains)) if gains else float("nan")


def draw(rows: list[Row], path: Path) -> None:
    """Draw the gap to the best lambda for kernel and noise, and the least gain for kernel and variant."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13, 6), layout="constrained")
    gaps = [row for row in rows if row["variant"] == MATCHED and "gap" in row]
    panels = (
        (axes[0], gaps, "noise", "gap", np.mean, "mean gap to the best lambda, no mismatch (dB)", "viridis_r", 0.0),
        (axes[1], rows, "variant", "gain", np.min, "least gain over the input (dB)", "RdYlGn", None),
    )
    for axis, group, column, value, reduce, title, colours, low in panels:
        axis.set_title(title)
        if not group:
            axis.axis("off")
            continue
        across = (
            sorted({row[column] for row in group})
            if column == "noise"
            else list(dict.fromkeys(r[column] for r in group))
        )
        down = list(dict.fromkeys(row["kernel"] for row in group))
        table = np.full((len(down), len(across)), np.nan)
        for i, kernel in enumerate(down):
            for j, name in enumerate(across):
                values = [row[value] for row in group if row["kernel"] == kernel and row[column] == name]
                table[i, j] = reduce(values) if values else np.nan
        limits = {"vmin": -3, "vmax": 3} if low is None else {"vmin": low, "vmax": 1}
        axis.imshow(table, cmap=colours, aspect="auto", **limits)
        for i, j in np.ndindex(*table.shape):
            if np.isfinite(table[i, j]):
                axis.text(j, i, f"{table[i, j]:.1f}" if low is None else f"{table[i, j]:.2f}", ha="center", va="center")
        axis.set_xticks(range(len(across)), [str(name) for name in across], rotation=60 if column == "variant" else 0)
        axis.set_yticks(range(len(down)), down)
        axis.set_xlabel("noise x 255" if column == "noise" else "")
    figure.savefig(path, dpi=100)
    plt.close(figure)
