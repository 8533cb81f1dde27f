"""Compare the exported network with BM3D on photographs that training never saw.

``python -m training.evaluate`` prints a table in Markdown; ``--images FOLDER`` adds gray images of one's own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import plugplay as pp
from training.held_out import LEVELS, gray, psnr, with_noise
from training.photographs import cache_folder, load

__all__ = ["main"]

Denoise = Callable[[NDArray[np.float32], float], NDArray[np.float32]]


def photographs_and_images(folder: Path | None, *, colour: bool) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the held-out photographs as a whole, and the images of a folder."""
    for name, image in sorted(load(cache_folder()).held_out.items()):
        photograph = image.astype(np.float32) / np.float32(65535)
        if not colour:
            yield name, gray(photograph)
        elif np.ptp(photograph, axis=-1).max() > 0:
            yield name, photograph
    for path in sorted(folder.iterdir()) if folder and not colour else ():
        with Image.open(path) as file:
            yield path.name, np.asarray(file.convert("L"), np.float32) / np.float32(255)


def compare(folder: Path | None, workers: int) -> Iterator[str]:
    """Yield the lines of the table."""
    rivals: dict[str, Denoise] = {name: pp.denoisers.get(name, workers=workers) for name in ("bm3d", "net")}
    yield "| image | sigma | BM3D | net | difference |"
    yield "|---|---|---|---|---|"
    for colour in (False, True):
        kind = "colour" if colour else "gray"
        scores: dict[int, list[list[float]]] = {level: [] for level in LEVELS}
        seconds = dict.fromkeys(rivals, 0.0)
        for name, clean in photographs_and_images(folder, colour=colour):
            for level in LEVELS:
                noisy = with_noise(clean, level / 255)
                row = []
                for rival, denoise in rivals.items():
                    begin = time.perf_counter()
                    found = denoise(noisy, level / 255)
                    seconds[rival] += time.perf_counter() - begin
                    row.append(psnr(found, clean))
                scores[level].append(row)
                yield _line(f"{name}, {kind}", level, row)
        for level in LEVELS:
            yield _line(f"**mean, {kind}**", level, np.mean(scores[level], axis=0).tolist())
        yield f"| **time, {kind}** | | 1 | {seconds['net'] / seconds['bm3d']:.2f} | |"


def _line(title: str, level: int, row: list[float]) -> str:
    return f"| {title} | {level}/255 | {row[0]:.2f} | {row[1]:.2f} | {row[1] - row[0]:+.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Compare the network with BM3D on held-out photographs.")
    parser.add_argument("--images", type=Path, help="a folder with further images, taken as gray")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for line in compare(options.images, options.workers):
        print(line, flush=True)


if __name__ == "__main__":
    main()
