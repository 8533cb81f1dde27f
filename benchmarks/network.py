"""The network that corrects BM3D, against BM3D: on photographs that training never saw, alone and in restorations.

Run with ``python benchmarks/network.py [--restorations] [--images FOLDER] [--size N]``. It needs the extra ``net``;
``python benchmarks/denoisers.py --held-out`` prints the first table as well. BM3D has two stages, three, or four, which
is what a restoration or a single denoising has by default. All see the same noise, and times are sums over all images,
taken in turns; CPU time counts all threads.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from photographs import REDUCTION, photograph
from PIL import Image
from skimage import data

import plugplay as pp
from plugplay.traits import Traits

Picture = NDArray[np.float32]
LEVELS = (15, 25, 50)
WORKERS = 2
NOISE = 5 / 255
LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def held_out() -> Iterator[tuple[str, Picture]]:
    """Yield the photographs that training keeps away from, ``(H, W, 3)`` or, without colour, ``(H, W)``."""
    for name in ("astronaut", "camera", "chelsea", "coffee"):
        yield name, getattr(data, name)().astype(np.float32) / np.float32(255)
    with Image.open(io.BytesIO(photograph("friends", True))) as file:
        yield "friends", np.asarray(file.reduce(REDUCTION).convert("RGB"), np.float32) / np.float32(255)


def images(folder: Path | None, *, colour: bool, size: int | None) -> Iterator[tuple[str, Picture]]:
    """Yield held-out photographs and the gray images of a folder, or the middle of each."""
    for name, picture in held_out():
        if colour and picture.ndim == 3:
            yield name, middle(picture, size)
        elif not colour:
            yield name, middle(picture @ LUMA if picture.ndim == 3 else picture, size)
    for path in sorted(folder.iterdir()) if folder and not colour else ():
        with Image.open(path) as file:
            yield path.stem, middle(np.asarray(file.convert("L"), np.float32) / np.float32(255), size)


def middle(picture: Picture, size: int | None) -> Picture:
    """Return the square of this size in the middle of an image, or the image."""
    if size is None:
        return picture
    top, left = (max(side - size, 0) // 2 for side in picture.shape[:2])
    return np.ascontiguousarray(picture[top : top + size, left : left + size])


@dataclass(eq=False)
class Rival:
    """One denoiser with the time it has taken."""

    run: Callable[[Picture], Picture]
    psnr: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0

    def take(self, noisy: Picture, clean: Picture) -> None:
        """Denoise one image."""
        begun, cpu = time.perf_counter(), time.process_time()
        found = self.run(noisy)
        self.seconds += time.perf_counter() - begun
        self.cpu += time.process_time() - cpu
        self.psnr.append(pp.psnr(found, clean))


def rivals(sigma: float, workers: int) -> dict[str, Rival]:
    """Return BM3D with two, three and four stages, and the network."""
    bm3d, net = pp.denoisers.BM3D(workers=workers), pp.denoisers.get("net", workers=workers)
    two, three = (replace(bm3d, stages=stages) for stages in (2, 3))

    def four(noisy: Picture, sigma: float) -> Picture:
        return bm3d.prepared(Traits(leaves="white"), workers).session()(noisy, sigma)

    return {
        name: Rival(lambda noisy, run=run: run(noisy, sigma))
        for name, run in (("two", two), ("three", three), ("four", four), ("net", net))
    }


def denoising(folder: Path | None, *, size: int | None = None, workers: int = WORKERS) -> Iterator[str]:
    """Yield the lines of the table of denoising, in Markdown."""
    yield "| images | sigma | two stages | three | four | net | − two | − three | − four | time: four | net |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for colour in (False, True):
        parts = [("held out", lambda name: not name[:2].isdigit()), ("the ten", lambda name: name[:2].isdigit())]
        pictures = list(images(folder, colour=colour, size=size))
        for title, belongs in parts:
            chosen = [picture for name, picture in pictures if belongs(name)]
            for level in LEVELS if chosen else ():
                yield _row(f"{title}, {'colour' if colour else 'gray'} ({len(chosen)})", chosen, level, workers)


def _row(title: str, pictures: list[Picture], level: int, workers: int) -> str:
    found = rivals(level / 255, workers)
    for rival in found.values():
        rival.run(pictures[0][:64, :64])  # compile and load
    for picture in pictures:
        noise = np.random.default_rng(0).standard_normal(picture.shape, np.float32)
        for rival in found.values():
            rival.take(picture + np.float32(level / 255) * noise, picture)
    *before, net = (float(np.mean(rival.psnr)) for rival in found.values())
    times = [
        f"{rival.seconds / found['two'].seconds:.1f} (CPU {rival.cpu / found['two'].cpu:.1f})"
        for rival in (found["four"], found["net"])
    ]
    figures = [f"{psnr:.2f}" for psnr in (*before, net)] + [f"{net - psnr:+.2f}" for psnr in before]
    return f"| {title} | {level}/255 | {' | '.join(figures + times)} |"


def problems(clean: Picture, workers: int) -> Iterator[tuple[str, Callable[[str], pp.Result]]]:
    """Yield restorations with automatic parameters, as functions of the name of a denoiser."""
    for title, kernel in (
        ("deblurring, Gaussian 1.6", pp.kernels.gaussian(15, sigma=1.6)),
        ("deblurring, box 9", pp.kernels.box(9)),
    ):
        blur = pp.models.Deblurring(kernel)
        y = blur.simulate(clean, noise=NOISE, rng=0)
        yield title, lambda name, y=y, model=blur: pp.restore(y, model, denoiser=name, **_common(y, workers))
    for factor in (2, 4):
        camera = pp.models.SuperResolution(factor, pp.kernels.gaussian(9, sigma=1.0))
        y = camera.simulate(clean, noise=NOISE, rng=0)
        yield (
            f"super-resolution x{factor}",
            lambda name, y=y, model=camera: pp.restore(y, model, denoiser=name, **_common(y, workers)),
        )
    observed = np.random.default_rng(1).random(clean.shape[:2]) > 0.5
    mask = pp.models.Inpainting(observed)
    y = mask.simulate(clean, noise=NOISE, rng=0)
    yield "inpainting, half", lambda name, y=y, model=mask: pp.restore(y, model, denoiser=name, **_common(y, workers))


def _common(y: NDArray[np.generic], workers: int) -> dict[str, object]:
    return {"noise": NOISE, "workers": workers, "channel_axis": -1 if y.ndim == 3 else None}


def restorations(folder: Path | None, *, size: int, workers: int = WORKERS) -> Iterator[str]:
    """Yield the lines of the table of restorations, in Markdown."""
    yield "| problem | images | BM3D | net | difference | least | most |"
    yield "|---|---|---|---|---|---|---|"
    for colour in (False, True):
        scores: dict[str, list[tuple[float, float]]] = {}
        for _, clean in images(folder, colour=colour, size=size):
            for title, solve in problems(clean, workers):
                pair = tuple(pp.psnr(solve(name).image, clean) for name in ("bm3d", "net"))
                scores.setdefault(title, []).append(pair)
        for title, pairs in scores.items():
            bm3d, net = np.mean(pairs, axis=0)
            gains = [after - before for before, after in pairs]
            kind = f"{'colour' if colour else 'gray'} ({len(pairs)})"
            yield (
                f"| {title} | {kind} | {bm3d:.2f} | {net:.2f} | {net - bm3d:+.2f} | {min(gains):+.2f} | "
                f"{max(gains):+.2f} |"
            )


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--restorations", action="store_true", help="restore, instead of denoising")
    parser.add_argument("--images", type=Path, help="a folder with further images, taken as gray")
    parser.add_argument("--size", type=int, help="the middle of every image only; 160 for restorations by default")
    parser.add_argument("--workers", type=int, default=WORKERS, help="number of threads, which changes times only")
    options = parser.parse_args()
    lines = (
        restorations(options.images, size=options.size or 160, workers=options.workers)
        if options.restorations
        else denoising(options.images, size=options.size, workers=options.workers)
    )
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
