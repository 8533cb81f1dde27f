"""What restorations cost as images grow: seconds, memory, and how many plain calls of BM3D they are worth.

    python benchmarks/sizes.py                                       0.25 to 3 megapixels, some minutes
    python benchmarks/sizes.py --megapixels 12 24 --tasks deblur --colours colour
    python benchmarks/sizes.py --megapixels 1 --tasks upscale --noise 0     files without noise but that of 8 bits
    python benchmarks/sizes.py --json sizes.json --plot sizes.png

Each restoration is one run of the installed command on an 8-bit PNG file, with its defaults and the true kernel, in a
process of its own, whose time and peak memory the operating system tells. The blur is one of the stored numbers, which
``--linear off`` says. A plain call is ``BM3D(profile="normal", stages=2)`` on an image of the size of the result.
"Calls" is the CPU time of the command, less that of a command that only starts, over that of a plain call: a ratio that
other work on the machine disturbs little.
Sizes are those of the result; images are repeated in mirror image until they are large enough.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import skimage.data
from numpy.typing import NDArray
from skimage.io import imsave

import plugplay as pp
from plugplay.denoisers import BM3D

TASKS = ("denoise", "deblur", "upscale")
COLOURS = ("gray", "colour")
KERNEL = "motion:15,30"
NOISE = 5


@dataclass(frozen=True)
class Row:
    """One restoration.

    Attributes
    ----------
    task, colour : str
        What was restored.
    megapixels : float
        Pixels of the result, in millions.
    seconds, cpu_seconds : float
        How long the command took, and all its threads together.
    memory_mb : float
        Peak memory of its process.
    calls : float
        CPU time in plain calls of BM3D on an image of the size of the result.
    """

    task: str
    colour: str
    megapixels: float
    seconds: float
    cpu_seconds: float
    memory_mb: float
    calls: float


def main() -> None:
    """Measure what was asked for, and print it as it comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megapixels", type=float, nargs="+", default=[0.25, 1.0, 3.0], help="sizes of the results")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--colours", nargs="+", choices=COLOURS, default=COLOURS)
    parser.add_argument("--noise", type=float, default=NOISE, help="noise in the files, for pixels from 0 to 255")
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    parser.add_argument("--plot", type=Path, help="image of seconds and memory against the size")
    options = parser.parse_args()
    rows: list[Row] = []
    print(f"{'task':8s} {'':6s} {'MP':>6s} {'s':>8s} {'s/MP':>7s} {'CPU s':>8s} {'MB':>6s} {'calls':>6s}")
    with tempfile.TemporaryDirectory() as folder:
        idle = started(Path(folder))
        for colour in options.colours:
            for megapixels in options.megapixels:
                clean = photograph(megapixels, colour == "colour")
                plain = plain_call(clean)
                for task in options.tasks:
                    rows.append(measured(task, colour, clean, options.noise / 255, plain, idle, Path(folder)))
                    print(line(rows[-1]), flush=True)
                    if options.json:
                        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if options.plot:
        draw(rows, options.plot)


def line(row: Row) -> str:
    """Return a row of the table."""
    return (
        f"{row.task:8s} {row.colour:6s} {row.megapixels:6.2f} {row.seconds:8.1f} {row.seconds / row.megapixels:7.2f} "
        f"{row.cpu_seconds:8.1f} {row.memory_mb:6.0f} {row.calls:6.1f}"
    )


def photograph(megapixels: float, colour: bool) -> NDArray[np.float32]:
    """Return a photograph of about this size, on [0, 1], with even sides."""
    source = skimage.data.astronaut() / np.float32(255)
    image = source if colour else source @ np.array([0.299, 0.587, 0.114], np.float32)
    height = 2 * round((megapixels * 1e6 * 3 / 4) ** 0.5 / 2)
    width = 2 * round(height * 4 / 3 / 2)
    widths = [(0, max(0, height - 512)), (0, max(0, width - 512))] + [(0, 0)] * (image.ndim - 2)
    return np.pad(image, widths, mode="symmetric")[:height, :width].astype(np.float32)


def measured(
    task: str, colour: str, clean: NDArray[np.float32], noise: float, plain: float, idle: float, folder: Path
) -> Row:
    """Degrade an image, restore the file by the command, and return what that took."""
    rng = np.random.default_rng(0)
    if task == "deblur":
        observed = pp.models.Deblurring(pp.kernels.parse(KERNEL)).forward(clean)
    elif task == "upscale":
        observed = pp.models.SuperResolution(2).forward(clean)
    else:
        observed = clean
    noisy = observed + noise * rng.standard_normal(observed.shape, dtype=np.float32)
    source, target = folder / "in.png", folder / "out.png"
    imsave(source, np.round(255 * np.clip(noisy, 0, 1)).astype(np.uint8), check_contrast=False)
    words = {"deblur": ["--kernel", KERNEL, "--linear", "off"], "upscale": ["--factor", "2"], "denoise": []}[task]
    command = (task, str(source), "-o", str(target), "--quiet", "--overwrite", *words)
    # As the plain call, the least of some where they are short: other work disturbs one run by a tenth.
    wall, cpu, memory = min((run(*command) for _ in range(repeats(clean))), key=lambda times: times[1])
    pixels = clean.shape[0] * clean.shape[1] / 1e6
    return Row(task, colour, pixels, wall, cpu, memory, max(cpu - idle, 0.0) / plain)


def run(*words: str) -> tuple[float, float, float]:
    """Run the command; return its wall and CPU time in seconds and its peak memory in megabytes."""
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", "plugplay", *words]) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise SystemExit(f"plugplay {' '.join(words)} ended with exit code {process.returncode}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def started(folder: Path) -> float:
    """Return the CPU time of a command that does next to nothing, after some that compile."""
    tiny, small, target = folder / "tiny.png", folder / "small.png", str(folder / "tiny-out.png")
    imsave(tiny, np.full((32, 32), 128, np.uint8), check_contrast=False)
    imsave(small, np.round(255 * photograph(0.01, False)).astype(np.uint8), check_contrast=False)
    run("upscale", str(small), "-o", target, "--factor", "2", "--noise", "5/255", "-q", "--overwrite")
    words = ("deblur", str(tiny), "-o", target, "--kernel", "box:3", "--noise", "5/255", "-q")
    return min(run(*words, "--overwrite")[1] for _ in range(2))


def repeats(image: NDArray[np.float32]) -> int:
    """Return how often an image of this size is worked on."""
    return 3 if image.size < 4e6 else 1


def plain_call(image: NDArray[np.float32]) -> float:
    """Return the CPU time of a plain call of BM3D, the least of some."""
    denoise = BM3D(profile="normal", stages=2)
    noisy = image + np.float32(0.05) * np.random.default_rng(1).standard_normal(image.shape, dtype=np.float32)
    denoise(noisy[:64, :64], 0.05)  # compiles
    times = []
    for _ in range(repeats(image)):
        began = time.process_time()
        denoise(noisy, 0.05)
        times.append(time.process_time() - began)
    return min(times)


def draw(rows: list[Row], path: Path) -> None:
    """Draw seconds and memory against the size, with a line of slope one."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    time_axes, memory_axes = figure.subplots(1, 2)
    for task in TASKS:
        for colour, style in (("gray", "--"), ("colour", "-")):
            chosen = sorted((r for r in rows if (r.task, r.colour) == (task, colour)), key=lambda r: r.megapixels)
            if not chosen:
                continue
            sizes = [row.megapixels for row in chosen]
            hue = f"C{TASKS.index(task)}"
            label = f"{task}, {colour}"
            time_axes.loglog(sizes, [row.seconds for row in chosen], style, color=hue, marker="o", label=label)
            memory_axes.loglog(sizes, [row.memory_mb for row in chosen], style, color=hue, marker="o")
    time_axes.set(xlabel="megapixels of the result", ylabel="seconds")
    memory_axes.set(xlabel="megapixels of the result", ylabel="peak memory, MB")
    time_axes.legend(fontsize="small")
    for axes in (time_axes, memory_axes):
        axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    main()
