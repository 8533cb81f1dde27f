"""How far estimates of noise are from the truth, and whether their uncertainty covers it.

Run with ``python benchmarks/noise.py [--part PART ...] [--images fit|check|all] [--own kept|reduced|denoised]
[--folder DIR] [--fetch] [--rows]``.

Images are scikit-image's and photographs unpacked from two Debian packages (``--fetch`` downloads them into the user's
cache with ``apt-get download``; without them the benchmark runs on scikit-image's alone). Photographs are reduced four
times and most of scikit-image's images twice, because a photograph brings noise of its own; what is left of that is
measured with the clean image at hand, and "with own" counts it as part of the truth. ``--own`` takes it away before
noise is added: by reducing images twice more, or by a denoising at 1/255, which takes texture as weak as that, too. The
noise of a JPEG file is that before the compression. Constants of the estimators were chosen on the images marked "fit";
those marked "check" had no say in them.
"""

from __future__ import annotations

import argparse
import io
import math
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from platformdirs import user_cache_path
from scipy.fft import dctn
from scipy.ndimage import convolve, gaussian_filter
from skimage import data
from skimage.measure import block_reduce

import plugplay as pp
from plugplay.noise.coloured import ColouredNoise, estimate_spectrum
from plugplay.noise.curve import estimate_curve
from plugplay.noise.estimation import NoiseEstimate, estimate_noise

Array = NDArray[np.float64]

PACKAGES = ("lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04")
CROP = 512
# What is taken from images before noise is added, if their own is to be removed: no estimate has a say in it.
OWN = 1 / 255
DRAWINGS = ("Fossa", "Painting", "Infinite", "Picture_1A", "analogpattern")
# Of the photographs, those that only check.
CHECKING = ("Dragonfly", "Kleiber", "Wine", "free", "greentock", "picosdeeuropa", "sunset")
# Name: how often it is reduced. Brick, grass and gravel are texture everywhere.
FIT = {"coffee": 2, "chelsea": 1, "coins": 2, "brick": 2, "grass": 1, "gravel": 2, "immunohistochemistry": 2}
CHECK = {
    "astronaut": 2,
    "camera": 2,
    "retina": 3,
    "rocket": 2,
    "moon": 2,
    "page": 1,
    "hubble_deep_field": 4,
}


@dataclass(frozen=True)
class Scene:
    """A nearly noiseless image on [0, 1], gray or colour."""

    name: str
    pixels: Array

    @property
    def gray(self) -> Array:
        """The mean of its channels."""
        return self.pixels if self.pixels.ndim == 2 else self.pixels.mean(axis=-1)


@dataclass(frozen=True)
class Case:
    """An observation and the standard deviation of the noise that was added to it.

    `own` is the noise that the image had before, and `differs` is what a JPEG file differs from the image by.
    """

    kind: str
    image: str
    true: float
    y: Array
    mask: NDArray[np.bool_] | None = None
    own: float = 0.0
    differs: float = math.nan


# --- images ----------------------------------------------------------------------------------------------------------


def fetch(folder: Path) -> None:
    """Unpack the photographs' packages, without installing them."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)


def reduced(pixels: Array, factor: int) -> Array:
    """Average squares of `factor` pixels; what does not fill one is cut off."""
    size = [n - n % factor for n in pixels.shape[:2]]
    block = (factor, factor) + (1,) * (pixels.ndim - 2)
    return np.asarray(block_reduce(pixels[: size[0], : size[1]], block, np.mean))


def scenes(which: str, cache: Path) -> Iterator[Scene]:
    """Yield the images for fitting, for checking, or both."""
    chosen = {"fit": FIT, "check": CHECK, "all": {**FIT, **CHECK}}[which]
    for name, factor in chosen.items():
        yield Scene(name, reduced(getattr(data, name)() / 255, factor))
    # Other benchmarks unpack the same packages next to this one's: each photograph counts once.
    photographs = {p.name: p for p in cache.rglob("*.jpg") if not p.name.startswith(DRAWINGS)}
    for name, path in sorted(photographs.items()):
        if which == "all" or (which == "check") == name.startswith(CHECKING):
            with Image.open(path) as file:
                pixels = np.asarray(file.convert("RGB").reduce(2), np.float64) / 255
            pixels = reduced(pixels, 2)
            top, left = (max(0, n - CROP) // 2 for n in pixels.shape[:2])
            yield Scene(path.stem.split("_by_")[0], pixels[top : top + CROP, left : left + CROP])


def folder_scenes(folder: Path) -> Iterator[Scene]:
    """Yield the images of a folder as they are."""
    for path in sorted(folder.glob("*.png")):
        with Image.open(path) as file:
            yield Scene(path.stem, np.asarray(file.convert("L"), np.float64) / 255)


def without_own_noise(scene: Scene, how: str) -> Scene:
    """Return an image without the noise that it came with, or as it is."""
    if how == "reduced":
        return Scene(scene.name, reduced(scene.pixels, 2))
    if how == "denoised":
        axis = -1 if scene.pixels.ndim == 3 else None
        return Scene(scene.name, np.clip(pp.denoise(scene.pixels, noise=OWN, channel_axis=axis).image, 0, 1))
    return scene


# --- degradations ----------------------------------------------------------------------------------------------------


def eight_bit(image: Array) -> Array:
    """Clip and round as files do."""
    return np.round(np.clip(image, 0, 1) * 255) / 255


def jpeg(image: Array, quality: int, subsampling: int = 0) -> Array:
    """Write and read a JPEG file."""
    file = io.BytesIO()
    kept = {} if image.ndim == 2 else {"subsampling": subsampling}
    Image.fromarray((eight_bit(image) * 255).astype(np.uint8)).save(file, "jpeg", quality=quality, **kept)
    return np.asarray(Image.open(file), np.float64) / 255


def demosaicked(colour: Array) -> Array:
    """Keep one colour of each pixel (RGGB) and interpolate the others bilinearly."""
    masks = np.zeros(colour.shape)
    masks[::2, ::2, 0] = masks[1::2, ::2, 1] = masks[::2, 1::2, 1] = masks[1::2, 1::2, 2] = 1
    side = np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4
    full = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4
    kernels = (full, side, full)
    return np.stack([convolve(colour[..., c] * masks[..., c], kernels[c], mode="mirror") for c in range(3)], axis=-1)


def unclipped_rms(y: Array, clean: Array) -> float:
    """Return the RMS of what a file adds where neither end of its range is near."""
    inner = (clean > 0.1) & (clean < 0.9)
    return math.sqrt(float(np.mean(np.square((y - clean)[inner])))) if inner.sum() > 100 else math.nan


def rounded(sigma: float) -> float:
    """Return the noise of a file with 8 bits: rounding is noise too."""
    return math.hypot(sigma, 1 / 255 / math.sqrt(12))


def own_noise(clean: Array, noisy: Array) -> float:
    """Return the level of what looks like noise in a clean image: high frequencies of blocks that are quiet when noisy.

    0 if that grows by a tenth from 1 to 8 % of the blocks, as texture does. Of the clean image nothing is known but
    this; noise was added to it before blocks were chosen, and those with clipped pixels are left out.
    """
    images = np.stack([clean, noisy]).reshape(2, *clean.shape[:2], -1)
    blocks = np.lib.stride_tricks.sliding_window_view(images, (8, 8), axis=(1, 2))[:, ::3, ::3]
    unclipped = (blocks[1].min(axis=(2, 3, 4)) > 0) & (blocks[1].max(axis=(2, 3, 4)) < 1)
    power = np.square(dctn(blocks[:, unclipped], axes=(-2, -1), norm="ortho")).mean(axis=2).reshape(2, -1, 64)
    if power.shape[1] < 100:
        return 0.0
    order = np.argsort(power[1, :, 1:].sum(axis=1))
    high = np.hypot.outer(np.arange(8), np.arange(8)).ravel() > 5
    few, many = (power[0, order[: math.ceil(share * len(order))]][:, high].mean() for share in (0.01, 0.08))
    return math.sqrt(few) if many < 1.1**2 * few else 0.0


def white_cases(scene: Scene, rng: np.random.Generator) -> Iterator[Case]:
    """Yield 8-bit clipped images, and unclipped ones, with white noise."""
    for level in (2, 5, 15, 30):
        sigma = level / 255
        for name, clean in {"gray": scene.gray, "colour": scene.pixels}.items():
            if name == "gray" or clean.ndim == 3:
                noisy = clean + sigma * rng.normal(size=clean.shape)
                own = own_noise(clean, eight_bit(noisy))
                yield Case(f"8-bit {name} {level:g}", scene.name, rounded(sigma), eight_bit(noisy), own=own)
    sigma = 5 / 255
    yield Case("float 5", scene.name, sigma, scene.gray + sigma * rng.normal(size=scene.gray.shape))


def jpeg_cases(scene: Scene, rng: np.random.Generator) -> Iterator[Case]:
    """Yield JPEG files."""
    for quality, level in ((95, 2), (95, 5), (95, 15), (92, 15), (90, 5)):
        clean = scene.gray
        noisy = eight_bit(clean + level / 255 * rng.normal(size=clean.shape))
        yield jpeg_case(f"JPEG {quality} gray {level}", scene.name, clean, noisy, jpeg(noisy, quality), level)
        if scene.pixels.ndim == 3:
            for subsampling in (0, 2):
                clean = scene.pixels
                noisy = eight_bit(clean + level / 255 * rng.normal(size=clean.shape))
                name = f"JPEG {quality} colour 4:{'4:4' if not subsampling else '2:0'} {level}"
                yield jpeg_case(name, scene.name, clean, noisy, jpeg(noisy, quality, subsampling), level)


def jpeg_case(kind: str, image: str, clean: Array, noisy: Array, y: Array, level: float) -> Case:
    """Return a JPEG file; its noise is that before the compression."""
    own, differs = own_noise(clean, noisy), unclipped_rms(y, clean)
    return Case(kind, image, rounded(level / 255), y, own=own, differs=differs)


def coloured_cases(scene: Scene, rng: np.random.Generator) -> Iterator[Case]:
    """Yield demosaicked and blurred noise."""
    for level in (3, 10):
        if scene.pixels.ndim == 3:
            noise = demosaicked(level / 255 * rng.normal(size=scene.pixels.shape))
            y = eight_bit(demosaicked(scene.pixels) + noise)
            yield Case(f"demosaicked {level}", scene.name, rounded(float(noise.std())), y)
        noise = gaussian_filter(rng.normal(size=scene.gray.shape), 0.8)
        noise *= level / 255 / noise.std()
        yield Case(f"blurred noise {level}", scene.name, rounded(level / 255), eight_bit(scene.gray + noise))


def masked_cases(scene: Scene, rng: np.random.Generator) -> Iterator[Case]:
    """Yield scattered observations."""
    clean = scene.gray
    for share, sigma in ((0.8, 0.02), (0.5, 0.02), (0.2, 0.02), (0.2, 0.1), (0.05, 0.1)):
        y = clean + sigma * rng.normal(size=clean.shape)
        yield Case(f"{share:.0%} observed, {sigma}", scene.name, sigma, y, rng.random(clean.shape) < share)


def aliased_cases(scene: Scene, rng: np.random.Generator) -> Iterator[Case]:
    """Yield images of which only every second or fourth pixel is kept."""
    for factor in (2, 4):
        clean = scene.gray[::factor, ::factor]
        if min(clean.shape) >= 32:
            yield Case(f"aliased x{factor} 5", scene.name, 5 / 255, clean + 5 / 255 * rng.normal(size=clean.shape))


PARTS: dict[str, Callable[[Scene, np.random.Generator], Iterator[Case]]] = {
    "white": white_cases,
    "jpeg": jpeg_cases,
    "coloured": coloured_cases,
    "masked": masked_cases,
    "aliased": aliased_cases,
}


# --- tables ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One case and what was estimated."""

    case: Case
    found: NoiseEstimate
    seconds: float

    @property
    def ratio(self) -> float:
        """Return the estimate over the truth."""
        return self.found.sigma / self.case.true

    @property
    def with_own(self) -> float:
        """Return the estimate over the truth and the noise that the image had before."""
        return self.found.sigma / math.hypot(self.case.true, self.case.own)

    @property
    def covered(self) -> bool:
        """Tell whether the truth, with the image's own noise or without, is within two standard errors."""
        truths = (self.case.true, math.hypot(self.case.true, self.case.own))
        return any(abs(self.found.sigma - true) <= 2 * self.found.uncertainty for true in truths)


def measured(scene: Scene, part: str) -> Iterator[Row]:
    """Estimate the noise of all cases that an image gives."""
    rng = np.random.default_rng(zlib.crc32(f"{scene.name} {part}".encode()))
    for case in PARTS[part](scene, rng):
        if math.isfinite(case.true):
            begin = time.perf_counter()
            found = estimate_noise(case.y, mask=case.mask)
            yield Row(case, found, time.perf_counter() - begin)


def print_row(row: Row) -> None:
    """Print one case, in units of 1/255."""
    found, true = row.found, row.case.true
    print(
        f"{row.case.kind:26} {row.case.image[:16]:16} {255 * true:6.2f} {255 * found.sigma:6.2f} "
        f"{255 * found.uncertainty:6.2f} {row.ratio:5.2f} {' ' if row.covered else 'x'} {row.seconds:5.2f} s "
        f"{', '.join(getattr(found, 'reasons', ()))}",
        flush=True,
    )


def print_summary(rows: list[Row]) -> None:
    """Print a line for each kind of case."""
    print(
        f"{'':26}  cases  median ratio  10 %..90 %   within 10 %  15 %  25 %  with own 10 %  15 %  uncertainty  covered"
    )
    kinds = dict.fromkeys(row.case.kind for row in rows)
    for kind in [*kinds, ""]:
        some = [row for row in rows if not kind or row.case.kind == kind]
        ratio = np.array([row.ratio for row in some])
        relative = np.median([row.found.uncertainty / max(row.found.sigma, 1e-9) for row in some])
        low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
        within = [float(np.mean(np.abs(ratio - 1) <= limit)) for limit in (0.10, 0.15, 0.25)]
        own = np.array([row.with_own for row in some])
        within += [float(np.mean(np.abs(own - 1) <= limit)) for limit in (0.10, 0.15)]
        print(
            f"{kind or 'all':26} {len(some):6} {middle:13.3f}  {low:5.2f}..{high:5.2f} {within[0]:12.0%} "
            f"{within[1]:5.0%} {within[2]:5.0%} {within[3]:14.0%} {within[4]:5.0%} {relative:12.1%} "
            f"{np.mean([row.covered for row in some]):8.0%}{differing(some)}"
        )


def differing(rows: list[Row]) -> str:
    """Tell how estimates compare to what JPEG files differ from the clean image by."""
    ratio = np.array([row.found.sigma / row.case.differs for row in rows if math.isfinite(row.case.differs)])
    return f"   over what the file differs by: {np.median(ratio):.2f}" if len(ratio) == len(rows) else ""


def print_growth(scene: Scene) -> None:
    """Print gain and typical noise of photons, with and without clipping and a black level."""
    rng = np.random.default_rng(zlib.crc32(f"{scene.name} growth".encode()))
    x = scene.gray
    for gain, read, offset, clip in ((0.01, 0.01, 0, False), (0.002, 0.01, 0.1, False), (0.001, 0.01, 0, True)):
        y = gain * rng.poisson(x / gain) + read * rng.normal(size=x.shape) + offset
        curve = estimate_curve(eight_bit(y) if clip else y)
        if curve is not None:
            typical = math.sqrt(float(curve.variance(x + offset).mean()) / (gain * x.mean() + read**2))
            print(
                f"gain {gain:g}, read {read:g}, offset {offset:g}{', 8-bit' * clip:7} {scene.name[:16]:16} gain / true "
                f"{curve.gain / gain:5.2f} +- {curve.gain_error / gain:4.2f}, noise / true {typical:5.2f}, offset "
                f"{curve.offset:5.3f}, grows {curve.grows}"
            )


def print_spectra(scene: Scene) -> None:
    """Print how well spectra of known noise are found."""
    rng = np.random.default_rng(zlib.crc32(f"{scene.name} spectra".encode()))
    white = 5 / 255 * rng.normal(size=(*scene.gray.shape, 3))
    colour = scene.pixels if scene.pixels.ndim == 3 else np.repeat(scene.pixels[..., None], 3, axis=-1)
    kinds = {"white": white, "demosaicked": demosaicked(white), "blurred 0.8": gaussian_filter(white, (0.8, 0.8, 0))}
    for kind, noise in kinds.items():
        found = estimate_spectrum(eight_bit(colour + noise))
        true = periodogram(noise)
        print(
            f"{kind:12} {scene.name[:16]:16} sigma / true {found.sigma / noise.std():5.2f}, whiteness "
            f"{found.whiteness:4.2f} (true {ColouredNoise(1.0, true).whiteness:4.2f}), mean error of the spectrum "
            f"{np.abs(found.spectrum - true).mean():4.2f}"
        )


def periodogram(noise: Array, side: int = 32) -> Array:
    """Return the mean power of an image of noise at each frequency, relative to its mean."""
    window = np.outer(np.hanning(side + 2)[1:-1], np.hanning(side + 2)[1:-1])[..., None]
    starts = [range(0, n - side + 1, side // 2) for n in noise.shape[:2]]
    power = np.zeros((side, side))
    for i in starts[0]:
        for j in starts[1]:
            block = noise[i : i + side, j : j + side] * window
            power += np.square(np.abs(np.fft.fft2(block, axes=(0, 1)))).sum(axis=2)
    return power / power.mean()


PRINTED = {"growth": print_growth, "spectra": print_spectra}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--part", nargs="*", choices=(*PARTS, *PRINTED), default=tuple(PARTS))
    parser.add_argument("--images", choices=("fit", "check", "all"), default="all")
    parser.add_argument("--own", choices=("kept", "reduced", "denoised"), default="kept", help="the images' own noise")
    parser.add_argument("--folder", type=Path, help="use the images of this folder instead, as gray")
    parser.add_argument("--fetch", action="store_true", help="download the photographs first")
    parser.add_argument("--rows", action="store_true", help="print every case")
    options = parser.parse_args()
    cache = user_cache_path("plugplay") / "benchmarks" / "photographs"
    if options.fetch:
        fetch(cache)
    rows = []
    for scene in folder_scenes(options.folder) if options.folder else scenes(options.images, cache):
        clean = without_own_noise(scene, options.own)
        for part in options.part:
            if part in PRINTED:
                PRINTED[part](clean)
                continue
            for row in measured(clean, part):
                rows.append(row)
                if options.rows:
                    print_row(row)
    if rows:
        print_summary(rows)


if __name__ == "__main__":
    main()
