"""The six deblurring scenarios of the literature: what is gained over the blurred image, in dB, beside BM3D deblurring.

Run with ``python benchmarks/scenarios.py``: four images (cameraman, house, lena and barbara if ``--images`` has them,
else scikit-image's) x six scenarios, circular, on the scale 0 to 255:

====  ==================================  ================
 no.  kernel                              noise variance
====  ==================================  ================
  1   1/(1 + r²) on 15 x 15               2
  2   1/(1 + r²) on 15 x 15               8
  3   9 x 9 equal weights                 40 dB below the blurred image (BSNR)
  4   [1 4 6 4 1]ᵀ [1 4 6 4 1] / 256      49
  5   Gaussian, sigma 1.6, on 25 x 25     4
  6   Gaussian, sigma 0.4, on 25 x 25     64
====  ==================================  ================

``deblur(y, kernel, boundary="circular")`` is told nothing about the noise; ``bm3d_deblurring`` of the package `bm3d`
(extra ``bench``) is told the true level. ``--no-peer`` leaves it out. Figures are appended to
a file of JSON lines, the peer's for good, ours for as long as the package's code is the same: rerun to resume. The exit
code is 1 if a result is below the peer's.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import math
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.fft
import skimage
from numpy.typing import NDArray
from PIL import Image
from platformdirs import user_cache_path

import plugplay as pp

Array = NDArray[np.float64]

NAMES = ("cameraman", "house", "lena", "barbara")
FALLBACK = {"camera": "camera.png", "brick": "brick.png", "coins": "coins.png", "moon": "moon.png"}
SIZE = 256
BSNR = 40.0


def rational() -> Array:
    """Return 1/(1 + r²) on 15 x 15."""
    at = np.arange(-7, 8)
    kernel = 1 / (1 + at[:, None] ** 2 + at[None, :] ** 2)
    return kernel / kernel.sum()


def binomial() -> Array:
    """Return the outer product of [1 4 6 4 1] with itself."""
    line = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
    return np.outer(line, line)


# Kernel and variance of the noise, None where it follows from the blurred image.
SCENARIOS: dict[int, tuple[Array, float | None]] = {
    1: (rational(), 2.0),
    2: (rational(), 8.0),
    3: (np.full((9, 9), 1 / 81), None),
    4: (binomial(), 49.0),
    5: (np.asarray(pp.kernels.gaussian(25, sigma=1.6)), 4.0),
    6: (np.asarray(pp.kernels.gaussian(25, sigma=0.4)), 64.0),
}


def images(folder: Path | None) -> dict[str, Array]:
    """Return the four images of the literature on [0, 1], or crops of scikit-image's if they are not there."""
    found = {} if folder is None else {name: sorted(folder.glob(f"*{name}.*")) for name in NAMES}
    if found and all(found.values()):
        return {name: np.asarray(Image.open(paths[0]).convert("L"), np.float64) / 255 for name, paths in found.items()}
    root = Path(skimage.__file__).parent / "data"
    whole = {
        name: np.asarray(Image.open(root / file).convert("L"), np.float64) / 255 for name, file in FALLBACK.items()
    }
    return {name: image[:SIZE, :SIZE] for name, image in whole.items()}


def observe(image: Array, scenario: int, seed: int) -> tuple[Array, float]:
    """Blur an image circularly and add noise; return it with the noise's standard deviation."""
    kernel, variance = SCENARIOS[scenario]
    centred = np.zeros(image.shape)
    centred[: kernel.shape[0], : kernel.shape[1]] = kernel
    centred = np.roll(centred, [-(n // 2) for n in kernel.shape], axis=(0, 1))
    blurred = scipy.fft.ifft2(scipy.fft.fft2(image) * scipy.fft.fft2(centred)).real
    level = math.sqrt(variance) / 255 if variance is not None else blurred.std() * 10 ** (-BSNR / 20)
    return blurred + level * np.random.default_rng(seed).standard_normal(image.shape), float(level)


def gain(restored: Array, y: Array, truth: Array) -> float:
    """Return the improvement of the signal-to-noise ratio over the observation in dB."""
    return 10 * math.log10(float(np.mean((y - truth) ** 2) / np.mean((restored - truth) ** 2)))


def ours(truth: Array, y: Array, scenario: int) -> dict[str, Any]:
    """Deblur with nothing told but the kernel."""
    began = time.process_time()
    result = pp.deblur(y, SCENARIOS[scenario][0], boundary="circular")
    return {
        "gain": gain(result.image, y, truth),
        "seconds": time.process_time() - began,
        "noise": 255 * float(result.parameters.noise),
        "warnings": list(result.warnings),
    }


def peer(truth: Array, y: Array, scenario: int, level: float) -> dict[str, Any]:
    """Deblur with the peer, which is told the true noise."""
    # The folder of this script, which comes first on the path, has a benchmark of the same name.
    here = str(Path(__file__).parent)
    sys.path[:] = [entry for entry in sys.path if str(Path(entry or ".").resolve()) != here]
    bm3d = importlib.import_module("bm3d")
    if not hasattr(np, "trapz"):  # NumPy 2.4 took the name away, bm3d 4.0.3 still calls it
        setattr(np, "trapz", np.trapezoid)  # noqa: B010

    began = time.process_time()
    # With an axis for channels: bm3d 4.0.3 makes one PSD for every row of a 2-D image, and as many restorations.
    restored = np.squeeze(bm3d.bm3d_deblurring(y[:, :, None], level, SCENARIOS[scenario][0]))
    return {"gain": gain(restored, y, truth), "seconds": time.process_time() - began}


class Store:
    """Figures on disk, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.known: dict[str, dict[str, Any]] = dict(json.loads(line) for line in lines)

    def get(self, key: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return stored figures, or measure and store them."""
        if key not in self.known:
            self.known[key] = measure()
            with self.path.open("a") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def code() -> str:
    """Return what changes when the package's code changes."""
    root = Path(pp.__file__).parent
    parts = ("arrays", "denoisers", "models", "noise", "pnp", "tuning")
    files = [path for part in parts for path in sorted((root / part).rglob("*.py"))]
    files += [root / name for name in ("plan.py", "preparation.py", "posing.py", "watching.py", "restoration.py")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print what each method gains, and the difference."""
    with_peer = all("peer" in row for row in rows)
    print(f"\n{'image':10} scenario   noise  estimated    ours" + ("    peer  difference" if with_peer else ""))
    for row in rows:
        beside = f"  {row['peer']:6.2f}  {row['ours'] - row['peer']:+10.2f}" if with_peer else ""
        print(
            f"{row['image']:10} {row['scenario']:8}  {row['noise']:6.2f}  {row['estimated']:9.2f}  {row['ours']:6.2f}"
            + beside
        )
    if with_peer and rows:
        differences = [row["ours"] - row["peer"] for row in rows]
        print(f"mean difference {np.mean(differences):+.2f} dB, worst {np.min(differences):+.2f}")


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path, help="folder with files named as cameraman, house, lena and barbara")
    parser.add_argument("--only", nargs="+", help="names of images")
    parser.add_argument("--scenarios", nargs="+", type=int, choices=tuple(SCENARIOS), default=list(SCENARIOS))
    parser.add_argument("--no-peer", action="store_true", help="leave out the package bm3d")
    parser.add_argument("--no-ours", action="store_true", help="measure the peer only")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--store", type=Path, default=user_cache_path("plugplay") / "benchmarks" / "scenarios.jsonl")
    return parser.parse_args()


def main() -> int:
    """Measure, print a table, and tell by the exit code whether a result is below the peer's."""
    arguments = parsed()
    store, rows = Store(arguments.store), []
    for name, truth in images(arguments.images).items():
        for scenario in arguments.scenarios if arguments.only is None or name in arguments.only else ():
            y, level = observe(truth, scenario, arguments.seed)
            key = f"{name} {truth.shape} {scenario} {arguments.seed}"
            row: dict[str, Any] = {"image": name, "scenario": scenario, "noise": 255 * level}
            if not arguments.no_peer:
                found = store.get(
                    f"{key} bm3d {version('bm3d')}", lambda y=y, n=scenario, s=level, x=truth: peer(x, y, n, s)
                )
                row["peer"] = found["gain"]
            if not arguments.no_ours:
                mine = store.get(f"{key} ours {code()}", lambda y=y, n=scenario, x=truth: ours(x, y, n))
                row |= {"ours": mine["gain"], "estimated": mine["noise"]}
                rows.append(row)
            print({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    print_table(rows)
    return 1 if any(row["ours"] < row["peer"] for row in rows if "peer" in row) else 0


if __name__ == "__main__":
    raise SystemExit(main())
