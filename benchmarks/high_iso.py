"""Photographs at high sensitivity: noise that demosaicking and JPEG have coloured, removed by `plugplay.denoise`.

Run with ``python benchmarks/high_iso.py [--size N] [--images fit|seen|check] [--oracle]``. A colour photograph is taken
for the scene: each pixel sees one colour (RGGB) with photon and read-out noise, the others are interpolated, bilinearly
or with the linear filters of Malvar, He and Cutler (2004), and the image is written as JPEG of quality 95 (4:2:0). PSNR
is against the scene. "white" is what the same denoiser makes of the level of `estimate_noise` as white noise; "undone"
is the image demosaicked without noise and compression, so that its gain is what a denoiser could reach that leaves
alone what demosaicking lost. "oracle" is BM3D told the true spectrum of the luminance and 1 or 1.2 times its level,
whichever is better: what no estimate can improve. Rules were found on the images marked "fit", some were mended after a
look at those marked "seen", and those marked "check" had no say in any.
"""

from __future__ import annotations

import argparse
import io

import numpy as np
import photographs
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import convolve
from skimage import data

import plugplay as pp
from plugplay.noise.coloured import ColouredNoise
from plugplay.noise.estimation import estimate_noise

Array = NDArray[np.float64]

IMAGES = {
    "fit": ("motorcycle", "astronaut", "Bridge", "aitzgorri", "friends", "seeding", "umang", "life"),
    "seen": ("coffee", "chelsea", "retina", "nuthatch", "rocket"),
    "check": ("Dragonfly", "Wine", "free", "greentock", "picosdeeuropa", "sunset"),
}
# Photons at white, and read-out noise as a share of white.
LEVELS = ((400, 0.01), (120, 0.02), (40, 0.04))


def scene(name: str, size: int) -> Array:
    """Return a colour crop on [0, 1]: of photographs that `automatic.py` does not use, the middle."""
    if name == "rocket":
        return np.asarray(data.rocket()[60 : 60 + size, 150 : 150 + size] / 255)
    if name in photographs.SOURCES:
        return photographs.crop(name, size)
    file = Image.open(io.BytesIO(photographs.photograph(name, True)))
    whole = np.asarray(file.convert("RGB").reduce(photographs.REDUCTION), np.float64) / 255
    top, left = ((n - size) // 2 for n in whole.shape[:2])
    return whole[top : top + size, left : left + size]


def colours(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return which colour each pixel of an RGGB sensor sees."""
    rows, columns = np.indices(shape[:2])
    return np.asarray(rows % 2 + columns % 2)


def bilinear(mosaic: Array) -> Array:
    """Interpolate each colour on its own."""
    seen = colours(mosaic.shape)
    near = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4
    side = np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4
    planes = [convolve(np.where(seen == c, mosaic, 0), side if c == 1 else near, mode="mirror") for c in range(3)]
    return np.stack(planes, axis=-1)


def malvar(mosaic: Array) -> Array:
    """Interpolate with what the other colours show of the slopes between."""
    cross = np.array([[0, 0, -1, 0, 0], [0, 0, 2, 0, 0], [-1, 2, 4, 2, -1], [0, 0, 2, 0, 0], [0, 0, -1, 0, 0]]) / 8
    row = np.array([[0, 0, 0.5, 0, 0], [0, -1, 0, -1, 0], [-1, 4, 5, 4, -1], [0, -1, 0, -1, 0], [0, 0, 0.5, 0, 0]]) / 8
    corner = np.array([[0, 0, -1.5, 0, 0], [0, 2, 0, 2, 0], [-1.5, 0, 6, 0, -1.5], [0, 2, 0, 2, 0], [0, 0, -1.5, 0, 0]])
    at_cross, at_row, at_column, at_corner = (
        convolve(mosaic, kernel, mode="mirror") for kernel in (cross, row, row.T, corner / 8)
    )
    seen = colours(mosaic.shape)
    even_rows = (np.indices(mosaic.shape)[0] % 2 == 0) & (seen == 1)
    odd_rows = ~even_rows & (seen == 1)
    red = np.select([seen == 0, even_rows, odd_rows], [mosaic, at_row, at_column], at_corner)
    blue = np.select([seen == 2, odd_rows, even_rows], [mosaic, at_row, at_column], at_corner)
    return np.stack([red, np.where(seen == 1, mosaic, at_cross), blue], axis=-1)


DEMOSAICKINGS = {"bilinear": bilinear, "malvar": malvar}


def mosaic_of(x: Array) -> Array:
    """Return the brightness that each pixel sees."""
    return np.take_along_axis(x, colours(x.shape)[..., None], axis=-1)[..., 0]


def developed(x: Array, demosaicking: str, photons: float, read: float, seed: int = 0) -> NDArray[np.uint8]:
    """Return what the camera makes of the light, in 8 bits."""
    rng = np.random.default_rng(seed)
    expected = mosaic_of(x)
    mosaic = rng.poisson(photons * expected) / photons + read * rng.normal(size=expected.shape)
    return np.round(255 * np.clip(DEMOSAICKINGS[demosaicking](mosaic), 0, 1)).astype(np.uint8)


def as_jpeg(pixels: NDArray[np.uint8], subsampling: int) -> NDArray[np.uint8]:
    """Return what a JPEG file of quality 95 keeps; `subsampling` is 0 for 4:4:4 and 2 for 4:2:0."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "jpeg", quality=95, subsampling=subsampling)
    return np.asarray(Image.open(file))


def photograph(x: Array, demosaicking: str, photons: float, read: float, seed: int = 0) -> NDArray[np.uint8]:
    """Return what the camera writes, decoded."""
    return as_jpeg(developed(x, demosaicking, photons, read, seed), 2)


def true_noise(error: Array, side: int = 32) -> ColouredNoise:
    """Return level and spectrum of the luminance of an error, for noise that is alike in all channels."""
    luminance = error.sum(axis=-1) / np.sqrt(3)
    window = np.outer(np.hanning(side + 2)[1:-1], np.hanning(side + 2)[1:-1])
    blocks = np.lib.stride_tricks.sliding_window_view(luminance, (side, side))[:: side // 2, :: side // 2]
    blocks = blocks - blocks.mean(axis=(2, 3), keepdims=True)
    power = np.square(np.abs(np.fft.fft2(window * blocks))).mean(axis=(0, 1)) / np.square(window).sum()
    power[0, 0] = (power[0, 1] + power[1, 0]) / 2
    return ColouredNoise(float(np.sqrt(power.mean())), power)


def psnr(a: Array, b: Array) -> float:
    """Return the peak signal-to-noise ratio for images on [0, 1]."""
    return float(-10 * np.log10(np.mean(np.square(np.clip(a, 0, 1) - b))))


def oracle(y: NDArray[np.uint8], x: Array, undone: Array) -> float:
    """Return the PSNR of BM3D that knows the spectrum, at the better of two levels."""
    true = true_noise(y / 255 - undone)
    told = [ColouredNoise(factor * true.sigma, true.spectrum) for factor in (1.0, 1.2)]
    return max(psnr(pp.denoise(y, channel_axis=-1, noise=noise).image, x) for noise in told)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", type=int, default=256, help="side of the images")
    parser.add_argument("--images", choices=tuple(IMAGES), default="check")
    parser.add_argument("--oracle", action="store_true", help="what the same denoiser gains that knows the noise")
    options = parser.parse_args()
    here = (*photographs.available(), "rocket")
    gains, limits = [], []
    print(
        f"{'image':14}{'demosaicking':13}{'photons':>8}{'input':>8}{'white':>8}{'plugplay':>10}{'gain':>8}{'undone':>8}"
        f"{'oracle':>8}  used"
    )
    for name in IMAGES[options.images]:
        if name in photographs.SOURCES and name not in here:
            continue
        x = scene(name, options.size)
        for demosaicking, interpolate in DEMOSAICKINGS.items():
            undone = np.clip(interpolate(mosaic_of(x)), 0, 1)
            for photons, read in LEVELS:
                y = photograph(x, demosaicking, photons, read)
                before = psnr(y / 255, x)
                white = pp.denoise(y, channel_axis=-1, noise=estimate_noise(y / 255).sigma)
                found = pp.denoise(y, channel_axis=-1)
                gains.append(psnr(found.image, x) - before)
                limits.append(oracle(y, x, undone) - before if options.oracle else np.nan)
                print(
                    f"{name:14}{demosaicking:13}{photons:8}{before:8.2f}{psnr(white.image, x):8.2f}"
                    f"{psnr(found.image, x):10.2f}{gains[-1]:+8.2f}{psnr(undone, x) - before:+8.2f}{limits[-1]:+8.2f}"
                    f"  {found.parameters.noise}",
                    flush=True,
                )
    below = int(np.sum(np.array(gains) < 3))
    print(f"gain: {np.mean(gains):+.2f} dB on average, {min(gains):+.2f} at least, below 3 in {below} of {len(gains)}")
    if options.oracle:
        below = int(np.sum(np.array(limits) < 3))
        gap = np.array(limits) - gains
        print(
            f"oracle: {np.mean(limits):+.2f} dB on average, below 3 in {below}; {gap.max():+.2f} at most above plugplay"
        )


if __name__ == "__main__":
    main()
