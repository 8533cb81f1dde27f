"""Noise that depends on the brightness: what denoising gains by finding it, and whether uniform noise passes for it.

    python benchmarks/growing.py [--images fit|check] [--size 192] [--uniform]

Counts of a camera (gain 2, offset 100, read-out noise 2; 8 and 60 photons at white, as integers of 16 bits and as
floats after a flat field) are made of steps, of smooth nuclei and of scikit-image's cell; photographs (a thousand
photons at white, sRGB, 8 bits) of the images of `benchmarks/noise.py`. "Uniform" is what one level for all brightnesses
leaves, "told" what knowing the curve and that these are photons does. With ``--uniform``, Gaussian noise of 0 to 20/255
is added to three crops of each image, and only what is not found to be uniform is denoised and printed.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path
from scipy.ndimage import gaussian_filter
from skimage import data

import noise
import plugplay as pp
from plugplay.arrays.transfer import encode, linearise
from plugplay.noise.curve import find_growing_noise
from plugplay.noise.finding import find_noise

Array = NDArray[np.float64]

GAIN, OFFSET, READ, BACKGROUND = 2.0, 100.0, 2.0, 1.0
LEVELS = (0, 1, 2, 5, 10, 20)


def specimens(size: int) -> dict[str, Array]:
    """Return scenes on [0, 1] for counts."""
    rows, columns = np.indices((size, size))
    specks = np.random.default_rng(1).random((size, size)) > 0.999
    cell = data.cell()[200 : 200 + size, 100 : 100 + size].astype(float)
    scenes = {
        "dark disk": np.where(np.hypot(rows - size / 2, columns - 0.94 * size) < 0.16 * size, 0.1, 1.0),
        "half dark": np.where(columns > size / 2, 0.02, 1.0),
        "dark strip": np.where(columns < 0.23 * size, 0.02, 1.0),
        "nuclei": gaussian_filter(specks.astype(float), 6),
        "cell": (cell - cell.min()) / np.ptp(cell),
        "camera": data.camera()[100 : 100 + size, 100 : 100 + size] / 255,
    }
    return {name: scene / scene.max() for name, scene in scenes.items()}


def counted(light: Array, rng: np.random.Generator) -> Array:
    """Return what a camera shows of so many photons."""
    return np.rint(GAIN * rng.poisson(light) + OFFSET + READ * rng.normal(size=light.shape)).clip(0)


def photograph(clean: Array, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return the 8 bits of an image whose light was counted."""
    light = linearise(clean, "srgb")
    noisy = light + np.sqrt(1e-3 * light + 5e-5) * rng.normal(size=light.shape)
    return np.round(255 * encode(np.clip(noisy, 0, 1), "srgb")).astype(np.uint8)


def psnr(image: Array, clean: Array) -> float:
    """Return the PSNR of an image that nothing was clipped from."""
    return float(-10 * np.log10(np.mean(np.square(image - clean))))


def print_counts(size: int) -> None:
    """Print a row for each specimen and number of photons."""
    for name, scene in specimens(size).items():
        for photons in (8, 60):
            rng = np.random.default_rng(0)
            y = counted(scene * photons + BACKGROUND, rng)
            flat = np.linspace(0.95, 1.05, size)
            fielded = OFFSET + (counted((scene * photons + BACKGROUND) * flat, rng) - OFFSET) / flat
            uniform = pp.denoise(y, noise=float(find_noise(y).level)).image
            found, floats = pp.denoise(y.astype(np.uint16)), pp.denoise(fielded)
            images = {"input": y, "uniform": uniform, "found": 65535 * found.image, "floats": floats.image}
            figures = [psnr((each - OFFSET) / GAIN / photons - BACKGROUND / photons, scene) for each in images.values()]
            told = ", ".join(f"{key} {figure:.2f}" for key, figure in zip(images, figures, strict=True))
            print(f"{name:12} {photons:3} photons: {told}  {found.parameters.noise}", flush=True)


def crops(which: str, size: int) -> Iterator[tuple[str, list[Array]]]:
    """Yield the middle of each image and two of its corners."""
    for scene in noise.scenes(which, user_cache_path("plugplay") / "benchmarks" / "photographs"):
        room = [max(0, n - size) for n in scene.pixels.shape[:2]]
        corners = [(room[0] // 2, room[1] // 2), (0, 0), (room[0], room[1])]
        yield scene.name, [scene.pixels[top : top + size, left : left + size] for top, left in corners]


def print_photographs(which: str, size: int) -> None:
    """Print a row for the middle of each image."""
    gains = []
    for name, (clean, *_) in crops(which, size):
        y = photograph(clean, np.random.default_rng(zlib.crc32(name.encode())))
        found = pp.denoise(y)
        images = {"input": y / 255, "uniform": pp.denoise(y, noise=find_noise(y / 255).level).image}
        images["found"] = found.image
        try:
            images["told"] = pp.denoise(y, noise=pp.PoissonGaussian(), transfer="srgb").image
        except ValueError:  # too few places
            images["told"] = np.full_like(clean, np.nan)
        figures = {key: psnr(each, clean) for key, each in images.items()}
        gains.append(figures["found"] - figures["uniform"])
        shown = ", ".join(f"{key} {figure:.2f}" for key, figure in figures.items())
        print(f"{name[:16]:16} {shown}  {found.parameters.transfer}", flush=True)
    print(f"found instead of uniform: {np.mean(gains):+.2f} dB on average, {min(gains):+.2f} at least")


def print_uniform(which: str, size: int) -> None:
    """Print what of Gaussian noise is not found to be uniform, and what that costs."""
    tried, losses = 0, [0.0]
    for name, parts in crops(which, size):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        for number, clean in enumerate(parts):
            for level in LEVELS:
                noisy = clean + level / 255 * rng.normal(size=clean.shape)
                kinds = {"8-bit": noise.eight_bit(noisy), "JPEG 95": noise.jpeg(noisy, 95), "float": noisy}
                for kind, y in kinds.items():
                    tried += 1
                    if find_growing_noise(y) is None:
                        continue
                    given = y if kind == "float" else np.round(255 * y).astype(np.uint8)
                    uniform = psnr(pp.denoise(given, noise=find_noise(y).level).image, clean)
                    found = psnr(pp.denoise(given).image, clean)
                    losses.append(uniform - found)
                    print(f"{name[:16]:16} {number} {kind:8} {level:2}/255: uniform {uniform:.2f}, found {found:.2f}")
    print(f"{tried} images with uniform noise, {len(losses) - 1} not found to be: {max(losses):.2f} dB lost at most")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--images", choices=("fit", "check"), default="check")
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--uniform", action="store_true")
    options = parser.parse_args()
    if options.uniform:
        print_uniform(options.images, options.size)
        return
    print_counts(options.size)
    print_photographs(options.images, options.size)


if __name__ == "__main__":
    main()
