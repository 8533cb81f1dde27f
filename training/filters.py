"""Learn the filters of BM3D's fourth stage: least squares, one small system for each kind of neighbourhood.

``python -m training.filters`` draws squares from the prepared photographs (``python -m training.photographs``), adds
white noise, runs the other stages of BM3D as they are in a single denoising and within restorations, and writes what
brings their estimate closest to the truth: ``src/plugplay/denoisers/bm3d/filters.npy``. On one core that takes some
minutes; the result is a function of the seed alone.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.bm3d.images import denoise_image
from plugplay.denoisers.bm3d.local import FILTERS, REACH, REMOVED, SURROUNDINGS, classes
from plugplay.denoisers.bm3d.profiles import Profile, profile_for
from training.photographs import cache_folder, load

__all__ = ["Normal", "fitted", "main"]

TARGET = Path(__file__).parents[1] / "src" / "plugplay" / "denoisers" / "bm3d" / "filters.npy"
SIDE, SQUARES = 160, 480
# Standard deviations of the noise are drawn evenly on a logarithmic scale.
MIN_LEVEL, MAX_LEVEL = 2 / 255, 0.2
# Of each square, this share of pixels is looked at.
SHARE = 0.3
RIDGE, MIN_PIXELS = 3e-3, 500
# Squares that are denoised better than this, in units of the noise's variance, do not count more.
MIN_ERROR = 1e-3
TAPS = SURROUNDINGS**2 + REMOVED**2


def _restoring(stages: int, step: int) -> Profile:
    """Return stages as they are within a restoration, with reference blocks of the first two so far apart."""
    profile = profile_for("normal", stages, "restoration")
    return replace(profile, pilot=replace(profile.pilot, step=step), final=replace(profile.final, step=step))


# What the filters follow. On crops of 160 x 160 pixels (camera, coffee, chelsea, coins and astronaut, which they were
# not learned on, and brick), filters that follow three stages within restorations only gain 0.01 to 0.03 dB less in
# deblurring and inpainting; those that follow two stages only gain up to 0.05 dB more in deblurring and 0.04 dB less
# in denoising.
_DENOISING = profile_for("normal", 3, "denoising")
PROFILES = (_restoring(3, 3), _DENOISING, _restoring(3, 4), _restoring(2, 4), _restoring(3, 5), _restoring(2, 6))


@dataclass(eq=False)
class Normal:
    """The normal equations of all filters.

    Attributes
    ----------
    products, targets : ndarray
        Sums of the products of what the filters see, with itself and with what they should find.
    pixels : ndarray
        How many pixels there were of each kind.
    """

    products: NDArray[np.float64] = field(default_factory=lambda: np.zeros((FILTERS, TAPS, TAPS)))
    targets: NDArray[np.float64] = field(default_factory=lambda: np.zeros((FILTERS, TAPS)))
    pixels: NDArray[np.int64] = field(default_factory=lambda: np.zeros(FILTERS, np.int64))

    def add(
        self,
        clean: NDArray[np.float32],
        noisy: NDArray[np.float32],
        estimate: NDArray[np.float32],
        sigma: float,
        rng: np.random.Generator,
    ) -> None:
        """Add some pixels of an image; what is said about them is relative to how well it was denoised."""
        seen, removed = (np.pad(image, REACH, mode="reflect") for image in (estimate, noisy - estimate))
        kinds = classes(seen, sigma).reshape(-1)
        chosen = np.flatnonzero(rng.random(kinds.size) < SHARE)
        kind, mirror = kinds[chosen] // 4, kinds[chosen] % 4
        patches = [_patches(seen, SURROUNDINGS)[chosen] - estimate.reshape(-1)[chosen, None, None]]
        patches.append(_patches(removed, REMOVED)[chosen])
        rows = np.concatenate([_turned(part, mirror).reshape(chosen.size, -1) for part in patches], axis=1) / sigma
        wanted = (clean - estimate).reshape(-1)[chosen] / sigma
        weight = 1 / (float(np.mean(np.square(wanted))) + MIN_ERROR)
        for index in np.unique(kind):
            part = kind == index
            self.products[index] += weight * (rows[part].T @ rows[part])
            self.targets[index] += weight * (rows[part].T @ wanted[part])
            self.pixels[index] += np.count_nonzero(part)

    def solved(self) -> NDArray[np.float16]:
        """Return the filters; kinds that are too rare have none, and a ridge keeps the others small.

        A structure tensor does not tell up from down: what was seen counts as much as what half a turn makes of it.
        """
        filters = np.zeros((FILTERS, TAPS))
        turn = np.r_[SURROUNDINGS**2 - 1 : -1 : -1, TAPS - 1 : SURROUNDINGS**2 - 1 : -1]
        for index in np.flatnonzero(self.pixels >= MIN_PIXELS):
            products, targets = self.products[index], self.targets[index]
            products, targets = products + products[np.ix_(turn, turn)], targets + targets[turn]
            power = np.diagonal(products)
            ridge = np.diag(RIDGE * (power + power.mean()) + 1e-9)
            filters[index] = np.linalg.solve(products + ridge, targets)
        return filters.astype(np.float16)


def fitted(images: list[NDArray[np.uint16]], *, seed: int, squares: int = SQUARES) -> NDArray[np.float16]:
    """Return the filters for gray squares of some colour images."""
    rng, normal = np.random.default_rng(seed), Normal()
    large = [image for image in images if min(image.shape[:2]) >= SIDE]
    for number in range(squares):
        clean = _square(large[number % len(large)], rng)
        for profile in PROFILES:
            sigma = float(np.exp(rng.uniform(np.log(MIN_LEVEL), np.log(MAX_LEVEL))))
            noisy = clean + np.float32(sigma) * rng.standard_normal(clean.shape, np.float32)
            estimate = denoise_image(noisy, sigma, profile, workers=1)
            normal.add(clean, noisy, estimate, sigma, rng)
    return normal.solved()


def _square(image: NDArray[np.uint16], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the liveliest of six places in one photograph, in gray, mirrored or not."""
    gray = image.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) / np.float32(65535)
    places = []
    for _ in range(6):
        top, left = (int(rng.integers(0, side - SIDE + 1)) for side in gray.shape)
        places.append(gray[top : top + SIDE, left : left + SIDE])
    liveliest = max(places, key=lambda place: float(np.abs(np.diff(place, axis=1)).mean()))
    turned = liveliest[::-1].T if rng.random() < 0.5 else liveliest
    return np.ascontiguousarray(turned)


def _patches(padded: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Return the surroundings of every pixel, ``(pixels, size, size)``."""
    inner = slice(REACH - size // 2, -(REACH - size // 2) or None)
    windows = np.lib.stride_tricks.sliding_window_view(padded[inner, inner], (size, size))
    return np.asarray(windows.reshape(-1, size, size))


def _turned(patches: NDArray[np.float32], mirror: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return patches with their gradients in the first eighth of the circle."""
    patches = np.where((mirror & 1 > 0)[:, None, None], patches[:, ::-1], patches)
    return np.where((mirror & 2 > 0)[:, None, None], patches.swapaxes(1, 2), patches)


def main(arguments: list[str] | None = None) -> None:
    """Learn the filters and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--squares", type=int, default=SQUARES)
    parser.add_argument("--output", type=Path, default=TARGET)
    options = parser.parse_args(arguments)
    images = list(load(cache_folder()).training.values())
    np.save(options.output, fitted(images, seed=options.seed, squares=options.squares))
    print(f"filters are in {options.output}")


if __name__ == "__main__":
    main()
