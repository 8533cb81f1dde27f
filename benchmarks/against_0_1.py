"""The command of commit 4d63cc4, a version 0.1, against that of this checkout: the same file, the same machine.

    python benchmarks/against_0_1.py                                 3 megapixels of colour, up to half an hour
    python benchmarks/against_0_1.py --megapixels 0.5 --repeats 2

The old commit is taken out of this repository's history and installed into a virtual environment of its own, which
shares the packages of the environment that runs this; both stay in ``--folder`` for the next time. Both commands
deblur one 8-bit PNG file (motion of 15 pixels at 30 degrees, noise 3/255) and take turns. Printed are seconds, CPU
seconds, peak memory, PSNR, and the ratios of the times. The blur was done to the stored numbers, which is what the old
version assumes and the new one is told by ``--linear off``. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import skimage.data
from numpy.typing import NDArray
from skimage.io import imsave

import plugplay as pp
from plugplay import io

COMMIT = "4d63cc4"
KERNEL = "motion:15,30"
NOISE = 3 / 255
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Run:
    """What one command took, and how good its image is."""

    seconds: float
    cpu_seconds: float
    memory_mb: float
    psnr: float


def main() -> None:
    """Install the old version if need be, run both in turn, and print the ratio of the best times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megapixels", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache" / "plugplay-against-0.1")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    versions = {"old": installed(options.folder), "new": Path(sys.executable)}
    truth, source = degraded(options.megapixels, options.folder)
    for python in versions.values():  # kernels are compiled once for a machine, outside the measurement
        tiny = options.folder / "tiny.png"
        imsave(tiny, np.full((32, 32), 128, np.uint8), check_contrast=False)
        run(python, tiny, options.folder / "tiny-out.png", np.full((32, 32), 128 / 255), ())
    runs: dict[str, list[Run]] = {name: [] for name in versions}
    for _ in range(options.repeats):
        for name, python in versions.items():
            more = ("--linear", "off") if name == "new" else ()
            runs[name].append(run(python, source, options.folder / f"{name}.png", truth, more))
            last = runs[name][-1]
            print(
                f"{name}: {last.seconds:8.1f} s, {last.cpu_seconds:8.1f} CPU s, {last.memory_mb:6.0f} MB, "
                f"{last.psnr:.2f} dB",
                flush=True,
            )
    best = {name: min(row.seconds for row in rows) for name, rows in runs.items()}
    cpu = {name: min(row.cpu_seconds for row in rows) for name, rows in runs.items()}
    print(f"{best['old'] / best['new']:.1f} times faster ({cpu['old'] / cpu['new']:.1f} times in CPU time)")


def installed(folder: Path) -> Path:
    """Return the interpreter of an environment that has the old version."""
    sources, environment = folder / f"source-{COMMIT}", folder / f"venv-{COMMIT}"
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not sources.exists():
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", COMMIT], check=True, capture_output=True).stdout
        sources.mkdir()
        subprocess.run(["tar", "-x", "-C", str(sources)], input=archive, check=True)
    if not python.exists():
        venv.create(environment, with_pip=True)
        # What both need is taken from here, so that versions of libraries make no difference.
        ours = subprocess.run(
            [sys.executable, "-c", "import site; print(*site.getsitepackages(), sep='\\n')"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        shared = [entry for path in ours for entry in (path, *linked(Path(path)))]
        packages = next((environment / "lib").glob("python*/site-packages"))
        # Its own sources come first: a .pth file is read in order, before what it lists.
        (packages / "_old_version.pth").write_text("\n".join([str(sources / "src"), *shared]) + "\n")
    where = subprocess.run(
        [str(python), "-c", "import plugplay; print(plugplay.__file__)"],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    ).stdout.strip()
    if not Path(where).is_relative_to(sources):
        raise SystemExit(f"the environment of {COMMIT} imports {where}, not {sources}: remove {environment} and rerun")
    return python


def linked(site: Path) -> list[str]:
    """Return the folders that the .pth files of an environment add, this checkout left out."""
    lines = [line.strip() for file in site.glob("*.pth") for line in file.read_text().splitlines()]
    return [line for line in lines if line.startswith("/") and not Path(line).is_relative_to(ROOT)]


def degraded(megapixels: float, folder: Path) -> tuple[NDArray[np.float64], Path]:
    """Write the blurred and noisy file; return the true image and where the file is."""
    clean = skimage.data.astronaut() / 255
    height = round((megapixels * 1e6 * 3 / 4) ** 0.5)
    width = round(height * 4 / 3)
    widths = [(0, max(0, height - 512)), (0, max(0, width - 512)), (0, 0)]
    truth = np.pad(clean, widths, mode="symmetric")[:height, :width]
    y = pp.models.Deblurring(pp.kernels.parse(KERNEL)).simulate(truth, noise=NOISE, rng=0)
    path = folder / "blurred.png"
    imsave(path, np.round(255 * np.clip(y, 0, 1)).astype(np.uint8), check_contrast=False)
    return truth, path


def run(python: Path, source: Path, target: Path, truth: NDArray[np.float64], more: tuple[str, ...]) -> Run:
    """Deblur a file with one of the commands, by its defaults."""
    target.unlink(missing_ok=True)
    began = time.perf_counter()
    words = [str(python), "-m", "plugplay", "deblur", str(source), "-o", str(target), "--kernel", KERNEL]
    with subprocess.Popen([*words, *more], cwd=source.parent, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(words)} ended with exit code {process.returncode}")
    seconds = time.perf_counter() - began
    restored = io.read(target).pixels / 255
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, pp.psnr(restored, truth))


if __name__ == "__main__":
    main()
