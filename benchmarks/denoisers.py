"""PSNR and time of the built-in denoisers, and ratios against scikit-image and OpenCV.

Run with ``python benchmarks/denoisers.py [--json FILE] [--repeats N] [NAME ...]``. It needs the extra ``bench``.
``--held-out [--images FOLDER]`` compares BM3D and the network (extra ``net``) on photographs that training never saw.

Every peer gets the noise level too. Its own strength is chosen, at each noise level, as the one with the best PSNR on
the very image of the benchmark: an advantage over ours, whose rule is fixed. Times are minima over repeats, measured
in turns, in this process, with the threads that each library uses by default.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import skimage
from network import denoising
from numpy.typing import NDArray
from skimage import data
from skimage.restoration import (
    cycle_spin,
    denoise_bilateral,
    denoise_nl_means,
    denoise_tv_bregman,
    denoise_tv_chambolle,
    denoise_wavelet,
)

import plugplay as pp

Image = NDArray[np.float32]
LEVELS = (15, 25, 50)
TIMED = 25
# Names that other parts of the package add are measured too, if they are there.
CLASSICAL = ("bm3d", "tv", "nlm", "dsg-nlm", "wavelet", "recursive", "bilateral", "median", "gaussian")


@dataclass(frozen=True)
class Peer:
    """Another library's denoiser, with a grid of its strength as a multiple of sigma."""

    library: str
    name: str
    run: Callable[[Image, float, float], Image]
    grid: tuple[float, ...]


def eight_bit(image: Image) -> NDArray[np.uint8]:
    """Return what OpenCV's 8-bit functions take."""
    return np.round(255 * np.clip(image, 0, 1)).astype(np.uint8)


def skimage_chambolle(image: Image, sigma: float, strength: float) -> Image:
    """Run Chambolle's algorithm with its default stopping rule."""
    return denoise_tv_chambolle(image, weight=strength * sigma)


def skimage_bregman(image: Image, sigma: float, strength: float) -> Image:
    """Run the split Bregman method with its default stopping rule."""
    return denoise_tv_bregman(image, weight=1 / (strength * sigma))


def skimage_nl_means(image: Image, sigma: float, strength: float) -> Image:
    """Run non-local means with the window and the largest patches that ours has at this noise level."""
    size = 5 if sigma < 40 / 255 else 7
    return denoise_nl_means(image, patch_size=size, patch_distance=7, h=strength * sigma, sigma=sigma, fast_mode=True)


def opencv_nl_means(image: Image, sigma: float, strength: float) -> Image:
    """Run the 8-bit non-local means with the same window and patches."""
    size = 5 if sigma < 40 / 255 else 7
    out = cv2.fastNlMeansDenoising(eight_bit(image), None, 255 * strength * sigma, size, 15)
    return out.astype(np.float32) / 255


def skimage_wavelet(image: Image, sigma: float, strength: float) -> Image:
    """Threshold without cycle spinning."""
    return denoise_wavelet(image, sigma=strength * sigma, wavelet="sym4", rescale_sigma=False)


def skimage_cycle_spin(image: Image, sigma: float, strength: float) -> Image:
    """Average over 16 shifts."""
    options = {"sigma": strength * sigma, "wavelet": "sym4", "rescale_sigma": False}
    return cycle_spin(image, func=denoise_wavelet, max_shifts=3, func_kw=options, workers=1)


def opencv_domain_transform(image: Image, sigma: float, strength: float) -> Image:
    """Run the recursive filter of opencv-contrib, guided by the image itself."""
    return cv2.ximgproc.dtFilter(image, image, 4.0, strength * sigma, mode=cv2.ximgproc.DTF_RF, numIters=3)


def opencv_guided_domain_transform(image: Image, sigma: float, strength: float) -> Image:
    """Run the recursive filter of opencv-contrib the way ours is run, with a smoothed guide."""
    guide = cv2.GaussianBlur(image, (0, 0), math.sqrt(7.4 * sigma + 12 * sigma**2))
    return cv2.ximgproc.dtFilter(guide, image, 10.0, strength * sigma, mode=cv2.ximgproc.DTF_RF, numIters=3)


def opencv_edge_preserving(image: Image, sigma: float, strength: float) -> Image:
    """Run the main package's recursive filter, which takes 8-bit colour."""
    colour = np.dstack([eight_bit(image)] * 3)
    out = cv2.edgePreservingFilter(colour, flags=cv2.RECURS_FILTER, sigma_s=4, sigma_r=min(strength * sigma, 1.0))
    return out[..., 0].astype(np.float32) / 255


def skimage_bilateral(image: Image, sigma: float, strength: float) -> Image:
    """Run the bilateral filter with the spatial width ours has."""
    return denoise_bilateral(np.clip(image, 0, 1), sigma_color=strength * sigma, sigma_spatial=1.15 + 2.8 * sigma)


def opencv_bilateral(image: Image, sigma: float, strength: float) -> Image:
    """Run the bilateral filter with the spatial width and window ours has."""
    width = 1.15 + 2.8 * sigma
    return cv2.bilateralFilter(image, 2 * math.ceil(2.5 * width) + 1, strength * sigma, width)


PEERS = {
    "tv": (
        Peer("scikit-image", "denoise_tv_chambolle", skimage_chambolle, (0.6, 0.75, 0.9, 1.05)),
        Peer("scikit-image", "denoise_tv_bregman", skimage_bregman, (0.75, 1.0, 1.5, 2.0, 3.0)),
    ),
    "nlm": (
        Peer("scikit-image", "denoise_nl_means", skimage_nl_means, (0.5, 0.6, 0.7, 0.8)),
        Peer("OpenCV", "fastNlMeansDenoising", opencv_nl_means, (0.7, 0.8, 0.9, 1.0, 1.15)),
    ),
    "wavelet": (
        Peer("scikit-image", "denoise_wavelet", skimage_wavelet, (0.8, 1.0, 1.25, 1.5)),
        Peer("scikit-image", "cycle_spin, 16 shifts", skimage_cycle_spin, (0.8, 1.0, 1.25)),
    ),
    "recursive": (
        Peer("OpenCV", "dtFilter", opencv_domain_transform, (4.0, 6.0, 9.0, 14.0)),
        Peer("OpenCV", "GaussianBlur + dtFilter", opencv_guided_domain_transform, (0.5, 0.7, 1.0, 1.4)),
        Peer("OpenCV", "edgePreservingFilter", opencv_edge_preserving, (2.0, 4.0, 6.0, 10.0)),
    ),
    "bilateral": (
        Peer("scikit-image", "denoise_bilateral", skimage_bilateral, (2.5, 3.0, 4.0)),
        Peer("OpenCV", "bilateralFilter", opencv_bilateral, (2.0, 3.0, 4.0)),
    ),
}


def image() -> tuple[Image, dict[int, Image]]:
    """Return scikit-image's photograph of 512 x 512 pixels, clean and with every level of noise."""
    clean = data.camera().astype(np.float32) / 255
    noise = np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    return clean, {level: clean + np.float32(level / 255) * noise for level in LEVELS}


def fastest(functions: list[Callable[[], object]], repeats: int) -> list[float]:
    """Return each function's shortest time in milliseconds; they take turns, so that all see the same machine."""
    best = [math.inf] * len(functions)
    for _ in range(repeats):
        for index, function in enumerate(functions):
            began = time.perf_counter()
            function()
            best[index] = min(best[index], 1e3 * (time.perf_counter() - began))
    return best


def measure(name: str, clean: Image, noisy: dict[int, Image], repeats: int) -> list[dict[str, object]]:
    """Return a row for ours and one for each peer."""
    denoise = pp.denoisers.get(name)
    peers = PEERS.get(name, ())
    rows: list[dict[str, object]] = [{"denoiser": name, "library": "plugplay", "function": name, "psnr": {}}]
    rows += [{"denoiser": name, "library": peer.library, "function": peer.name, "psnr": {}} for peer in peers]
    strengths: list[float] = []
    for level in LEVELS:
        sigma, image = level / 255, noisy[level]
        rows[0]["psnr"][level] = pp.psnr(denoise(image, sigma), clean)
        for row, peer in zip(rows[1:], peers, strict=True):
            quality = {strength: pp.psnr(peer.run(image, sigma, strength), clean) for strength in peer.grid}
            best = max(quality, key=quality.__getitem__)
            row["psnr"][level] = quality[best]
            if level == TIMED:
                strengths.append(best)
    sigma, image = TIMED / 255, noisy[TIMED]
    runs: list[Callable[[], object]] = [lambda: denoise(image, sigma)]
    runs += [
        lambda peer=peer, strength=strength: peer.run(image, sigma, strength)
        for peer, strength in zip(peers, strengths, strict=True)
    ]
    times = fastest(runs, repeats)
    for row, milliseconds in zip(rows, times, strict=True):
        row["milliseconds"] = milliseconds
        row["time of ours over theirs"] = None if row is rows[0] else times[0] / milliseconds
    return rows


def main() -> None:
    """Print the table and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CLASSICAL))
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--held-out", action="store_true", help="BM3D and the network on photographs it never saw")
    parser.add_argument("--images", type=Path, help="with --held-out: a folder with further images, taken as gray")
    arguments = parser.parse_args()
    if arguments.held_out:
        for line in denoising(arguments.images):
            print(line, flush=True)
        return

    versions = {"plugplay": pp.__version__, "scikit-image": skimage.__version__, "OpenCV": cv2.__version__}
    print(", ".join(f"{library} {version}" for library, version in versions.items()))
    print(f"{platform.machine()}, Python {platform.python_version()}; camera, 512 x 512, gray, float32")
    print(f"PSNR in dB at sigma = {', '.join(map(str, LEVELS))} over 255; time at {TIMED}/255\n")
    print(f"{'denoiser':10} {'by':38}" + "".join(f"{level:>8}" for level in LEVELS) + f"{'ms':>9}{'ours/theirs':>13}")
    clean, noisy = image()
    results = []
    for name in arguments.names:
        for row in measure(name, clean, noisy, arguments.repeats):
            results.append(row)
            ratio = row["time of ours over theirs"]
            by = "plugplay" if ratio is None else f"{row['library']} {row['function']}"
            figures = "".join(f"{row['psnr'][level]:8.2f}" for level in LEVELS)
            print(
                f"{name if ratio is None else '':10} {by:38}{figures}{row['milliseconds']:9.1f}"
                + ("" if ratio is None else f"{ratio:13.2f}"),
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps({"versions": versions, "rows": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
