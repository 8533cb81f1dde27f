"""BM3D against the package `bm3d`: time, PSNR, memory, scaling, colour, warm sessions, start-up.

    python benchmarks/bm3d.py                                   everything, about 20 minutes, most of them the peer's
    python benchmarks/bm3d.py --only speed,session --repeats 5
    python benchmarks/bm3d.py --only quality --images FOLDER --json FILE
    python benchmarks/bm3d.py --roofline                        time by stage, and the least that this CPU needs

Both are run on the same noisy images in the same process. Times are minima over repeats; all claims are ratios.
Ours against the peer is wall time; ours against ours (stages, linearity, colour, roofline) is CPU time.
The peer comes with ``pip install plugplay[bench]``; its licence allows non-commercial use only.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np
import skimage.data
from numpy.typing import NDArray
from skimage.color import rgb2gray
from skimage.io import imread

import plugplay as pp
from plugplay.arrays.checks import FloatArray
from plugplay.denoisers import BM3D
from plugplay.denoisers.bm3d.aggregation import Band
from plugplay.denoisers.bm3d.canvas import Canvas, reference_positions
from plugplay.denoisers.bm3d.filtering import hard_threshold, wiener
from plugplay.denoisers.bm3d.instructions import has_byte_products, multiply_bytes, multiply_pairs
from plugplay.denoisers.bm3d.matching import WIDTH, match
from plugplay.denoisers.bm3d.pipeline import strips_of
from plugplay.denoisers.bm3d.principal import principal_wiener
from plugplay.denoisers.bm3d.profiles import profile_for
from plugplay.denoisers.bm3d.spectra import Scratch
from plugplay.denoisers.bm3d.vectors import Floats, Ints, fma, lane, load, load_ints, total

# This file has the peer's name: without this, importing the peer would import this file.
HERE = str(Path(__file__).resolve().parent)
sys.path[:] = [entry for entry in sys.path if str(Path(entry).resolve()) != HERE]
PEER = importlib.import_module("bm3d")

Image = NDArray[np.float64]

SIGMAS = (5, 15, 25, 50)
SIZES = (256, 512, 1024)


def main() -> None:
    """Run the sections that were asked for, print their tables and write the numbers."""
    sections: dict[str, Callable[[argparse.Namespace], Any]] = {
        "speed": speed,
        "quality": quality,
        "stages": stages,
        "roofline": roofline,
        "linearity": linearity,
        "colour": colour,
        "session": session,
        "startup": startup,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(sections), help="sections to run, separated by commas")
    parser.add_argument("--roofline", action="store_const", const="roofline", dest="only", help="the same as --only")
    parser.add_argument("--images", type=Path, help="folder of gray images for the quality table")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="image sizes of the speed table")
    parser.add_argument("--sigmas", type=int, nargs="+", default=SIGMAS, help="noise levels on the scale [0, 255]")
    parser.add_argument("--repeats", type=int, default=3, help="timings to take the minimum of")
    parser.add_argument("--cpu", action="store_true", help="CPU time in the speed table, for busy machines")
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := set(wanted) - set(sections):
        parser.error(f"unknown sections: {', '.join(sorted(unknown))}; known are {', '.join(sections)}")
    BM3D(stages=3)(np.zeros((8, 8)), 0.1)  # compile before anything is timed
    numbers: dict[str, Any] = {"peer": f"bm3d {version('bm3d')}", "cores": os.cpu_count()}
    for name in wanted:
        print(f"\n== {name} ==", flush=True)
        numbers[name] = sections[name](options)
        if options.json:
            options.json.write_text(json.dumps(numbers, indent=1))


def speed(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Time and PSNR for three sizes and four noise levels, one and two threads, and the peak memory of each."""
    table = []
    clocked = cpu_timed if options.cpu else timed
    print("size sigma | peer s  PSNR | ours s (1)  (2)  PSNR | times faster (1)  (2)  fast (2) | memory peer, ours MB")
    print("           | three stages (2), normal and fast: times faster, PSNR")
    for size in options.sizes:
        clean = photograph(size)
        memory = {name: peak_memory(name, size) for name in ("peer", "ours")}
        for sigma in options.sigmas:
            noisy = with_noise(clean, sigma)
            peer_time, peer_image = clocked(1 if size > 512 else options.repeats, peer, noisy, sigma)
            row: dict[str, Any] = {"size": size, "sigma": sigma, "peer_seconds": peer_time}
            row |= {"peer_psnr": psnr(peer_image, clean), "memory_mb": memory}
            for key, profile, stages, workers in (
                ("1", "normal", 2, 1),
                ("2", "normal", 2, 2),
                ("fast", "fast", 2, 2),
                ("three", "normal", 3, 2),
                ("fast_three", "fast", 3, 2),
            ):
                ours = pp.denoisers.get("bm3d", profile=profile, stages=stages, workers=workers)
                seconds, image = clocked(3 * options.repeats, ours, noisy, sigma / 255)
                row |= {f"seconds_{key}": seconds, f"psnr_{key}": psnr(image, clean)}
                row[f"ratio_{key}"] = peer_time / seconds
            table.append(row)
            print(
                f"{size:4d} {sigma:5d} | {peer_time:6.2f} {row['peer_psnr']:5.2f} | {row['seconds_1']:.3f} "
                f"{row['seconds_2']:.3f} {row['psnr_2']:5.2f} | {row['ratio_1']:5.0f} {row['ratio_2']:5.0f} "
                f"{row['ratio_fast']:5.0f} | {memory['peer']:.0f} {memory['ours']:.0f}\n"
                f"           | {row['ratio_three']:5.0f} {row['psnr_three']:5.2f}, "
                f"{row['ratio_fast_three']:5.0f} {row['psnr_fast_three']:5.2f}",
                flush=True,
            )
    return table


def quality(options: argparse.Namespace) -> dict[str, Any]:
    """PSNR minus the peer's over a folder of images, for all profiles."""
    differences: dict[str, dict[str, dict[str, float]]] = {}
    for name, clean in images(options.images).items():
        for sigma in options.sigmas:
            noisy = with_noise(clean, sigma)
            theirs = psnr(peer(noisy, sigma), clean)
            for profile in ("fast", "normal", "high"):
                ours = psnr(pp.denoisers.get("bm3d", profile=profile)(noisy, sigma / 255), clean)
                differences.setdefault(profile, {}).setdefault(name, {})[str(sigma)] = ours - theirs
        row = " ".join(f"{differences['normal'][name][str(sigma)]:+.3f}" for sigma in options.sigmas)
        print(f"{name:24s} {row}", flush=True)
    summary = {}
    for profile, by_image in differences.items():
        values = np.array([list(row.values()) for row in by_image.values()])
        summary[profile] = {"mean": float(values.mean()), "worst": float(values.min())}
        by_sigma = " ".join(f"{value:+.3f}" for value in values.mean(axis=0))
        print(f"{profile:8s} mean {values.mean():+.4f} dB, worst {values.min():+.3f} dB, by sigma {by_sigma}")
    return {"summary": summary, "differences": differences}


def stages(options: argparse.Namespace) -> list[dict[str, Any]]:
    """PSNR and CPU time of every profile with two and three stages, relative to the default."""
    names = ("camera", "astronaut", "chelsea", "coffee", "rocket", "moon", "brick", "grass", "coins", "page", "clock")
    sets = {
        "gray": {name: gray(bundled(name)[:300, :300]) for name in names},
        "colour": {name: bundled(name)[:300, :300, :3] / 255 for name in ("astronaut", "chelsea", "coffee", "rocket")},
    }
    table: list[dict[str, Any]] = []
    for kind, chosen in sets.items():
        noisy = {(name, sigma): with_noise(clean, sigma) for name, clean in chosen.items() for sigma in options.sigmas}
        base: list[tuple[float, float]] = []
        for profile, count in (("normal", 2), ("normal", 3), ("fast", 2), ("fast", 3), ("high", 2), ("high", 3)):
            denoise = pp.denoisers.get("bm3d", profile=profile, stages=count, workers=1)
            runs = []
            for (name, sigma), image in noisy.items():
                seconds, estimate = cpu_timed(options.repeats, denoise, image, sigma / 255)
                runs.append((seconds, psnr(estimate, chosen[name])))
            base = base or runs
            gains = np.array([run[1] - other[1] for run, other in zip(runs, base, strict=True)])
            ratio = float(np.median([run[0] / other[0] for run, other in zip(runs, base, strict=True)]))
            table.append(
                {"images": kind, "profile": profile, "stages": count, "time": ratio, "gain_db": gains.tolist()}
            )
            by_sigma = " ".join(f"{gain:+.3f}" for gain in gains.reshape(len(chosen), -1).mean(axis=0))
            print(
                f"{kind:6s} {profile:6s} {count} stages: time {ratio:.2f}, gain {gains.mean():+.3f} dB "
                f"(worst {gains.min():+.3f}), by sigma {by_sigma}",
                flush=True,
            )
    return table


def roofline(options: argparse.Namespace) -> dict[str, float]:
    """CPU time by stage on one core, and how long the multiply-adds of the search take at this core's peak rate."""
    noisy = with_noise(photograph(512), 25)
    image = (noisy - noisy.mean())[None].astype(np.float32)
    sigmas, two, three = np.array([25 / 255]), *(profile_for("normal", count, "denoising") for count in (2, 3))
    best: dict[str, float] = {}
    scratch = Scratch()
    first, second = (functools.partial(stage, scratch=scratch) for stage in (hard_threshold, wiener))
    for _ in range(5 * options.repeats):
        canvas = Canvas.of(image)
        for number, profile, stage, shrink in (
            (1, two, two.pilot, first),
            (2, two, two.final, second),
            (3, three, three.principal, principal_wiener),
        ):
            began = time.thread_time()
            rows = reference_positions(512, stage.step, stage.offset)
            band, spent = Band(canvas, profile.kaiser), dict.fromkeys((f"matching {number}", f"filter {number}"), 0.0)
            for strip in strips_of(rows, stage):
                start = time.thread_time()
                matches = match(canvas, stage, sigmas[0], strip, rows, guide=min(number - 1, 1), scratch=scratch)
                middle = time.thread_time()
                part = shrink(canvas, profile, sigmas, strip, rows, matches)
                spent[f"matching {number}"] += middle - start
                spent[f"filter {number}"] += time.thread_time() - middle
                band.add(part)
            band.write_means(canvas.height)
            spent[f"aggregation {number}"] = time.thread_time() - began - sum(spent.values())
            best = {**best, **{name: min(value, best.get(name, value)) for name, value in spent.items()}}
    rate = min(cpu_timed(5, peak, image[0, :2].ravel(), 10**6)[0] for _ in range(3)) / (10**6 * 80)
    pairs = min(cpu_timed(5, peak_pairs, np.arange(16, dtype=np.int32), 10**6)[0] for _ in range(3)) / (10**6 * 128)
    bytes_ = min(cpu_timed(5, peak_bytes, np.arange(16, dtype=np.int32), 10**6)[0] for _ in range(3)) / (10**6 * 256)
    # Each reference row is compared with all displacements: eight products for each column and displacement.
    count = sum(min(19, y) + min(19, 504 - y) + 1 for y in reference_positions(512, 3, 0)) * 512 * WIDTH * 8
    for name, seconds in best.items():
        print(f"{name:14s} {1e3 * seconds:6.1f} ms")
    both = sum(seconds for name, seconds in best.items() if not name.endswith("3"))
    print(f"two stages {1e3 * both:.0f} ms; peak {1e-9 / rate:.1f} billion multiply-adds a second on one core")
    print(f"products of one search: {count / 1e6:.0f} million, {1e3 * count * rate:.1f} ms at the peak of float32")
    print(f"in 16-bit integers: {1e-9 / pairs:.1f} billion a second at best, {1e3 * count * pairs:.1f} ms")
    taken = "which the search takes here" if has_byte_products() else "which this CPU has no instruction for"
    print(f"in bytes, {taken}: {1e-9 / bytes_:.1f} billion a second at best, {1e3 * count * bytes_:.1f} ms")
    peaks = {"multiply_adds_per_second": 1 / rate, "integer_multiply_adds_per_second": 1 / pairs}
    peaks["byte_multiply_adds_per_second"] = 1 / bytes_
    return {**best, **peaks, "search_at_peak": count * (bytes_ if has_byte_products() else pairs)}


@numba.njit(error_model="numpy")
def peak(values: Floats, repeats: int) -> float:
    """Do ten independent multiply-adds of eight floats, again and again, in registers."""
    x, y = load(values, 0), load(values, 8)
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = c8 = c9 = x
    for _ in range(repeats):
        c0, c1, c2, c3, c4 = fma(c0, x, y), fma(c1, x, y), fma(c2, x, y), fma(c3, x, y), fma(c4, x, y)
        c5, c6, c7, c8, c9 = fma(c5, x, y), fma(c6, x, y), fma(c7, x, y), fma(c8, x, y), fma(c9, x, y)
    return float(total(c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9))


@numba.njit(error_model="numpy")
def peak_pairs(values: Ints, repeats: int) -> int:
    """Multiply and add eight times sixteen independent 16-bit integers, again and again, in registers."""
    x = load_ints(values, 8)
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = load_ints(values, 0)
    for _ in range(repeats):
        c0, c1, c2 = c0 + multiply_pairs(c0, x), c1 + multiply_pairs(c1, x), c2 + multiply_pairs(c2, x)
        c3, c4, c5 = c3 + multiply_pairs(c3, x), c4 + multiply_pairs(c4, x), c5 + multiply_pairs(c5, x)
        c6, c7 = c6 + multiply_pairs(c6, x), c7 + multiply_pairs(c7, x)
    return int(lane(c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7, 0))


@numba.njit(error_model="numpy")
def peak_bytes(values: Ints, repeats: int) -> int:
    """Do what `peak_pairs` does with 32 bytes."""
    x = load_ints(values, 8)
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = load_ints(values, 0)
    for _ in range(repeats):
        c0, c1, c2 = multiply_bytes(c0, c0, x), multiply_bytes(c1, c1, x), multiply_bytes(c2, c2, x)
        c3, c4, c5 = multiply_bytes(c3, c3, x), multiply_bytes(c4, c4, x), multiply_bytes(c5, c5, x)
        c6, c7 = multiply_bytes(c6, c6, x), multiply_bytes(c7, c7, x)
    return int(lane(c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7, 0))


def linearity(options: argparse.Namespace) -> list[dict[str, float]]:
    """CPU time per pixel up to 4096x4096, relative to 512x512."""
    table: list[dict[str, float]] = []
    for size in (512, 1024, 2048, 4096):
        noisy = with_noise(photograph(size), 25).astype(np.float32)
        repeats = 3 * options.repeats if size < 2048 else 2
        seconds, _ = cpu_timed(repeats, BM3D(), noisy, 25 / 255)
        memory = peak_memory("ours", size)
        table.append({"size": size, "ns_per_pixel": 1e9 * seconds / size**2, "memory_mb": memory})
        relative = table[-1]["ns_per_pixel"] / table[0]["ns_per_pixel"]
        print(f"{size:4d}: {seconds:7.3f} s, per pixel {relative:.2f} times that of 512x512, peak {memory:.0f} MB")
    return table


def colour(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Colour against gray (CPU time) and against channel by channel (PSNR)."""
    table = []
    for name in ("astronaut", "coffee", "chelsea"):
        clean = square(bundled(name) / 255, 512 if name == "astronaut" else 300)
        noisy = with_noise(clean, 25)
        seconds, together = cpu_timed(3 * options.repeats, BM3D(), noisy, 25 / 255)
        red = noisy[..., 0].copy()
        single, _ = cpu_timed(3 * options.repeats, BM3D(), red, 25 / 255)
        apart = pp.denoisers.per_channel(BM3D())(noisy, 25 / 255)
        row = {"image": name, "time_ratio": seconds / single, "gain_db": psnr(together, clean) - psnr(apart, clean)}
        table.append(row)
        print(
            f"{name:10s} {row['time_ratio']:.2f} times the gray time, {row['gain_db']:+.2f} dB over channel by channel"
        )
    return table


def session(options: argparse.Namespace) -> dict[str, Any]:
    """Restorations with a warm session against the same restorations with a search in every call."""
    blur, camera_kernel = pp.kernels.gaussian(9, sigma=1.6), pp.kernels.gaussian(9, sigma=1.0)
    problems = {
        "deblurring": (pp.models.Deblurring(blur), pp.Monotone(rho0=1e-3, gamma=1.2), 2e-4, 50),
        "super-resolution": (pp.models.SuperResolution(2, camera_kernel), pp.Monotone(rho0=1e-4, gamma=1.2), 1e-4, 60),
        "deblurring, adaptive": (pp.models.Deblurring(blur), pp.Adaptive(rho0=1e-2, gamma=1.2, eta=0.95), 2e-4, 40),
        "deblurring, constant": (pp.models.Deblurring(blur), pp.Constant(rho0=0.08), 2e-4, 30),
    }
    rows: list[dict[str, Any]] = []
    for name, clean in {name: square(image, 256) for name, image in images(None).items()}.items():
        for problem, (model, schedule, lam, iterations) in problems.items():
            term = model.data_term(model.simulate(clean, noise=3 / 255, rng=0))

            settings = {"schedule": schedule, "lam": lam, "tol": 1e-6, "max_iter": iterations}
            # A bare method has no session: it searches in every call.
            cold_time, cold = timed(options.repeats, pp.pnp_admm, term, BM3D().__call__, **settings)
            warm_time, warm = timed(options.repeats, pp.pnp_admm, term, BM3D(), **settings)
            rows.append({"image": name, "problem": problem, "speedup": cold_time / warm_time})
            rows[-1]["loss_db"] = psnr(cold.image, clean) - psnr(warm.image, clean)
            print(
                f"{name:12s} {problem:22s} {rows[-1]['speedup']:.2f} times faster, loss {rows[-1]['loss_db']:+.3f} dB",
                flush=True,
            )
    speedups, losses = [row["speedup"] for row in rows], [row["loss_db"] for row in rows]
    print(f"mean: {np.mean(speedups):.2f} times faster (least {min(speedups):.2f}), loss {np.mean(losses):+.3f} dB")
    return {"mean_speedup": float(np.mean(speedups)), "mean_loss_db": float(np.mean(losses)), "runs": rows}


def startup(options: argparse.Namespace) -> dict[str, float]:
    """Time a new process that denoises a 512x512 image, without and with a compile cache."""
    code = (
        "import numpy as np; from plugplay.denoisers import BM3D;"
        "BM3D()(np.random.default_rng(0).random((512, 512)), 0.1)"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(sys.path)}

        def start() -> None:
            subprocess.run([sys.executable, "-c", code], env=environment, check=True)

        cold, _ = timed(1, start)
        warm, _ = timed(options.repeats, start)
    print(f"first process {cold:.1f} s (compiles), later ones {warm:.2f} s")
    return {"cold_seconds": cold, "warm_seconds": warm}


def peer(noisy: Image, sigma: float) -> Image:
    """Denoise with the package `bm3d`."""
    return np.asarray(PEER.bm3d(noisy, sigma / 255), np.float64)


def peak_memory(name: str, size: int) -> float:
    """Return the peak memory in MB of a process that denoises one image of this size."""
    code = (
        "import sys, resource, numpy as np;"
        "y = np.random.default_rng(0).random((int(sys.argv[2]),) * 2).astype(np.float32);"
        "ours = sys.argv[1] == 'ours';"
        "exec('from plugplay.denoisers import BM3D; BM3D()(y, 0.1)' if ours else 'import bm3d; bm3d.bm3d(y, 0.1)');"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, name, str(size)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def timed(repeats: int, work: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    """Call `work` some times; return the shortest time and the last result."""
    return _shortest(time.perf_counter, repeats, work, *arguments, **options)


def cpu_timed(repeats: int, work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Measure the time on all cores together, which other processes disturb less."""
    return _shortest(time.process_time, repeats, work, *arguments)


def _shortest(
    clock: Callable[[], float], repeats: int, work: Callable[..., Any], *arguments: Any, **options: Any
) -> tuple[float, Any]:
    times = []
    for _ in range(repeats):
        start = clock()
        result = work(*arguments, **options)
        times.append(clock() - start)
    return min(times), result


def photograph(size: int) -> Image:
    """Return a photograph of the wanted size, 512 divided or multiplied: averaged, or repeated in mirror image."""
    camera = bundled("camera") / 255
    if size <= 512:
        factor = 512 // size
        smaller: Image = camera.reshape(size, factor, size, factor).mean(axis=(1, 3))
        return smaller
    return np.pad(camera, [(0, size - 512)] * 2, mode="symmetric")


def bundled(name: str) -> NDArray[Any]:
    """Return an image that comes with scikit-image."""
    image: NDArray[Any] = getattr(skimage.data, name)()
    return image


def images(folder: Path | None) -> dict[str, Image]:
    """Return the images of a folder, or some that come with scikit-image, in gray."""
    if folder is not None:
        return {path.stem: gray(imread(path)) for path in sorted(folder.iterdir()) if path.suffix in (".png", ".tif")}
    names = ("camera", "astronaut", "chelsea", "coffee")
    return {name: square(gray(bundled(name)), 300) for name in names}


def gray(image: NDArray[Any]) -> Image:
    """Return an 8-bit image in gray on [0, 1]."""
    return np.asarray(rgb2gray(image[..., :3]) if image.ndim == 3 else image / 255, dtype=np.float64)


def square(image: Image, size: int) -> Image:
    """Return the middle of an image."""
    top, left = ((length - size) // 2 for length in image.shape[:2])
    return image[top : top + size, left : left + size].copy()


def with_noise(clean: Image, sigma: float) -> Image:
    """Add white Gaussian noise of standard deviation `sigma` on the scale [0, 255]."""
    return clean + sigma / 255 * np.random.default_rng(int(sigma)).standard_normal(clean.shape)


def psnr(image: FloatArray, clean: Image) -> float:
    """Return the peak signal-to-noise ratio in dB."""
    return float(-10 * np.log10(np.mean((image - clean) ** 2)))


if __name__ == "__main__":
    main()
