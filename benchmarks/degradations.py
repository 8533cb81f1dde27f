"""What happens to an image in `automatic.py`, and what the restoration is told about it.

Kernels are densities in the plane, so that a kernel that is 10 % too wide, turned or shifted by half a pixel is the
same density, stretched, turned or shifted before it is sampled.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import fourier_shift
from scipy.optimize import minimize
from scipy.signal import fftconvolve

Array = NDArray[np.float64]
Density = Callable[[Array, Array], Array]

SUBPIXELS = 8
# No kernel reaches farther than this many pixels from its centre.
REACH = 14
GAMMA = 2.2
# Of an image that was registered, a border of so many pixels does not count.
REGISTERED_BORDER = 8


@dataclass(frozen=True)
class Kernel:
    """A blur; turning an isotropic one changes nothing."""

    density: Density
    isotropic: bool = False


@dataclass(frozen=True)
class Variant:
    """What the restoration is told wrongly, and what the file lost.

    Attributes
    ----------
    noise : float, optional
        The noise that is told, as a multiple of the true one; None leaves it to be estimated.
    stretch, turn, shift
        What is told of the kernel: too wide by this factor, turned by degrees, shifted by pixels.
    rounded : bool
        Whether the kernel comes from an 8-bit file.
    file : {"float", "8 bit", "gamma", "jpeg"}
        How the blurred image was stored.
    quality : int
        Of the JPEG file.
    """

    noise: float | None = None
    stretch: float = 1.0
    turn: float = 0.0
    shift: float = 0.0
    rounded: bool = False
    file: str = "float"
    quality: int = 95

    def concerns(self, kernel: Kernel) -> bool:
        """Tell whether the variant differs from the plain case."""
        return not (self.turn and kernel.isotropic)


MATCHED = "matched"
VARIANTS = {
    MATCHED: Variant(),
    "noise x0.6": Variant(noise=0.6),
    "noise x2": Variant(noise=2.0),
    "kernel 10% wide": Variant(stretch=1.1),
    "kernel 10% narrow": Variant(stretch=1 / 1.1),
    "kernel turned 5°": Variant(turn=5.0),
    "kernel shifted 0.5": Variant(shift=0.5),
    "kernel 8 bit": Variant(rounded=True),
    "image 8 bit": Variant(file="8 bit"),
    "gamma": Variant(file="gamma"),
    "jpeg 92": Variant(file="jpeg", quality=92),
    "jpeg 95": Variant(file="jpeg", quality=95),
}


def gaussian(sigma: float) -> Kernel:
    """Return a Gaussian."""
    return Kernel(lambda y, x: np.exp(-(x**2 + y**2) / (2 * sigma**2)), isotropic=True)


def disk(radius: float) -> Kernel:
    """Return the blur of a lens out of focus."""
    return Kernel(lambda y, x: (x**2 + y**2 <= radius**2).astype(float), isotropic=True)


def box(side: float) -> Kernel:
    """Return a square of equal weights."""
    return Kernel(lambda y, x: (np.maximum(np.abs(x), np.abs(y)) <= side / 2).astype(float))


def motion(length: float, degrees: float) -> Kernel:
    """Return a straight path, one pixel wide."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return Kernel(lambda y, x: ((np.abs(c * x - s * y) <= length / 2) & (np.abs(s * x + c * y) <= 0.5)).astype(float))


def rational(half: float) -> Kernel:
    """Return 1/(1 + r²) on a square."""
    return Kernel(lambda y, x: (np.maximum(np.abs(x), np.abs(y)) <= half) / (1 + x**2 + y**2), isotropic=True)


def shake(seed: int, reach: float) -> Kernel:
    """Return the path of a hand that trembles: a smooth random walk, slower at some places than at others."""
    rng = np.random.default_rng(seed)
    speed = np.cumsum(rng.standard_normal((120, 2)), axis=0) * 0.15 + rng.standard_normal(2)
    path = np.cumsum(speed - 0.7 * speed.mean(axis=0), axis=0)
    path -= path.mean(axis=0)
    path *= reach / np.abs(path).max()

    def density(y: Array, x: Array) -> Array:
        total = np.zeros(np.broadcast_shapes(y.shape, x.shape))
        for down, right in path:
            total += np.exp(-((y - down) ** 2 + (x - right) ** 2) / (2 * 0.4**2))
        return total

    return Kernel(density)


KERNELS = {
    "gaussian 0.5": gaussian(0.5),
    "gaussian 1": gaussian(1.0),
    "gaussian 1.6": gaussian(1.6),
    "gaussian 2.5": gaussian(2.5),
    "rational": rational(7.5),
    "box 5": box(5),
    "box 9": box(9),
    "disk 2.5": disk(2.5),
    "disk 5": disk(5),
    "motion 9": motion(9, 30),
    "motion 15": motion(15, 75),
    "shake 7": shake(1, 7),
    "shake 11": shake(2, 11),
    "shake 4": shake(3, 4),
}


@cache
def taps(name: str, variant: Variant = VARIANTS[MATCHED]) -> Array:
    """Return the kernel that a restoration is told: what it is, or what a variant makes of it."""
    return sampled(KERNELS[name], variant)


def sampled(blur: Kernel, variant: Variant = VARIANTS[MATCHED]) -> Array:
    """Return the taps of a kernel, or of what a variant makes of it."""
    n = 2 * (REACH + 2) + 1
    fine = (np.arange(n * SUBPIXELS) + 0.5) / SUBPIXELS - n / 2
    y, x = fine[:, None], fine[None, :] - variant.shift
    c, s = math.cos(math.radians(variant.turn)), math.sin(math.radians(variant.turn))
    density = blur.density((c * y - s * x) / variant.stretch, (s * y + c * x) / variant.stretch)
    kernel = density.reshape(n, SUBPIXELS, n, SUBPIXELS).sum(axis=(1, 3))
    kernel[kernel < 1e-4 * kernel.max()] = 0
    if variant.rounded:
        kernel = np.round(255 * kernel / kernel.max())
    used = np.argwhere(kernel) - n // 2
    half = int(np.abs(used).max())
    kernel = kernel[n // 2 - half : n // 2 + half + 1, n // 2 - half : n // 2 + half + 1]
    return kernel / kernel.sum()


def observe(scene: Array, kernel: str, noise: float, variant: Variant, seed: int) -> NDArray[np.generic]:
    """Blur a scene, add noise, store it; the frame is `REACH` + 2 pixels smaller on every side.

    Gamma-encoded means that the blur and the noise happened in linear light, but the file is restored as it is stored.
    """
    light = scene**GAMMA if variant.file == "gamma" else scene
    true = taps(kernel)
    channels = light[..., None] if light.ndim == 2 else light
    blurred = np.stack([fftconvolve(c, true, mode="same") for c in np.moveaxis(channels, -1, 0)], axis=-1)
    inner = slice(REACH + 2, -(REACH + 2))
    blurred = blurred.reshape(light.shape)[inner, inner]
    y = blurred + noise * np.random.default_rng(seed).standard_normal(blurred.shape)
    if variant.file == "float":
        return y
    if variant.file == "gamma":
        y = np.clip(y, 0, 1) ** (1 / GAMMA)
    stored = np.round(255 * np.clip(y, 0, 1)).astype(np.uint8)
    if variant.file != "jpeg":
        return stored
    buffer = io.BytesIO()
    Image.fromarray(stored).save(buffer, "jpeg", quality=variant.quality)
    return np.asarray(Image.open(buffer))


def truth(scene: Array) -> Array:
    """Return what of a scene lies in the frame."""
    inner = slice(REACH + 2, -(REACH + 2))
    return scene[inner, inner]


def psnr(image: Array, reference: Array, *, registered: bool = False) -> float:
    """Return the PSNR, after moving the image by fractions of a pixel to where it belongs, if asked to."""
    if registered:
        inner = slice(REGISTERED_BORDER, -REGISTERED_BORDER)
        reference = reference[inner, inner]

        def error(offset: Array) -> float:
            return float(np.mean((moved(image, offset)[inner, inner] - reference) ** 2))

        simplex = 0.3 * np.array([[-1, -1], [1, -1], [0, 1]])
        found = minimize(error, np.zeros(2), method="Nelder-Mead", options={"initial_simplex": simplex, "xatol": 0.01})
        image = moved(image, found.x)[inner, inner]
    return -10 * math.log10(max(float(np.mean((image - reference) ** 2)), 1e-12))


def moved(image: Array, offset: Array) -> Array:
    """Shift an image by fractions of a pixel, mirrored beyond its border."""
    margin = 2 * REGISTERED_BORDER
    padded = np.pad(image, [(margin, margin)] * 2 + [(0, 0)] * (image.ndim - 2), mode="reflect")
    offsets = (*offset, *([0.0] * (image.ndim - 2)))
    shifted = np.fft.ifftn(fourier_shift(np.fft.fftn(padded), offsets)).real
    return shifted[margin:-margin, margin:-margin]
