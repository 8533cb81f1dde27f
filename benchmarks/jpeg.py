"""JPEG photographs with a kernel that is a little wrong, against scikit-image's Richardson-Lucy on the same data.

Light is blurred, gets a little photon noise, the sRGB curve and JPEG compression; the restoration is told the kernel
right, or 5 to 12 % too large or too small. The peer does 30 iterations on the numbers of the file, with and without
reflected margins, of which the better one counts, and on the frame without its rim. Run ``python benchmarks/jpeg.py``;
the photographs are not those on which the noise floor was looked at (camera, gravel, motorcycle).
"""

from __future__ import annotations

import argparse
import io as streams

import numpy as np
from numpy.typing import NDArray
from photographs import available, crop
from PIL import Image
from scipy.signal import fftconvolve
from skimage.restoration import richardson_lucy

import plugplay as pp
from plugplay import io

NAMES = ("astronaut", "coffee", "chelsea", "retina", "coins", "brick", "nuthatch", "bridge", "dragonfly")
# The kernel that blurs, and those that are told: right, and wrong by 5 to 12 %.
KERNELS = {
    "motion:15,30": ("motion:15,30", "motion:16.5,30", "motion:13.5,30"),
    "disk:4": ("disk:4", "disk:4.4", "disk:3.6"),
}
MARGIN = 16
ITERATIONS = 30

Array = NDArray[np.float64]


def photographed(name: str, size: int, kernel: str, quality: int) -> tuple[NDArray[np.uint8], float, Array]:
    """Return the decoded JPEG file of a blurred photograph, its noise floor, and the true numbers."""
    truth = crop(name, size + 2 * MARGIN)
    taps = pp.kernels.parse(kernel)
    taps = taps if truth.ndim == 2 else taps[..., None]
    light = fftconvolve(io.linearise(truth, "srgb"), taps, mode="same", axes=(0, 1))
    light += np.random.default_rng(0).normal(size=light.shape) * np.sqrt(1e-5 * np.abs(light) + 1e-6)
    inner = (slice(MARGIN, -MARGIN),) * 2
    numbers = (io.encode(np.clip(light, 0, 1), "srgb")[inner] * 255).round().astype(np.uint8)
    stream = streams.BytesIO()
    Image.fromarray(numbers).save(stream, "JPEG", quality=quality)
    stream.seek(0)
    with Image.open(stream) as file:
        tables = tuple(tuple(table) for table in file.quantization.values())
        return np.asarray(file), io.Metadata(quantisation=tables).noise_floor, truth[inner]


def peer(y: NDArray[np.uint8], taps: Array, *, margin: int) -> Array:
    """Return what Richardson and Lucy's iterations make of an image, within reflected margins."""
    planes = np.atleast_3d(y / 255)
    padded = np.pad(planes, ((margin, margin), (margin, margin), (0, 0)), mode="reflect")
    restored = [richardson_lucy(padded[..., c], taps, ITERATIONS) for c in range(padded.shape[-1])]
    inner = slice(margin, -margin or None)
    return np.stack(restored, axis=-1)[inner, inner].reshape(y.shape)


def score(image: NDArray[np.floating], truth: Array) -> float:
    """Return the PSNR without the rim, where the peer knows nothing."""
    inner = (slice(MARGIN, -MARGIN),) * 2
    return pp.psnr(np.clip(image[inner], 0, 1), truth[inner])


def main() -> None:
    """Print a line for each case and the counts at the end."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--quality", type=int, default=92)
    parser.add_argument("--images", default=",".join(NAMES))
    parser.add_argument("--told", choices=("wrong", "right", "all"), default="wrong")
    parser.add_argument("--floors", default="", help="noise floors in 1/255 to compare, instead of the file's own")
    options = parser.parse_args()
    chosen = {"wrong": slice(1, None), "right": slice(1), "all": slice(None)}[options.told]
    above, input_above, count = 0, 0, 0
    print(f"{'image':10} {'told':15} {'input':>6} {'peer':>6}  ours (noise in 1/255, status)")
    for name in [name for name in options.images.split(",") if name in available()]:
        for kernel, told in KERNELS.items():
            y, floor, truth = photographed(name, options.size, kernel, options.quality)
            for words in told[chosen]:
                taps = pp.kernels.parse(words)
                before = score(y / 255, truth)
                theirs = max(score(peer(y, taps, margin=margin), truth) for margin in (0, 24))
                ours = []
                for level in [float(n) / 255 for n in options.floors.split(",") if n] or [floor]:
                    axis = -1 if y.ndim == 3 else None
                    result = pp.deblur(y, taps, channel_axis=axis, transfer="srgb", noise_floor=level)
                    noise = result.parameters.noise
                    ours.append((score(result.image, truth), 255 * float(noise), result.status.name))  # type: ignore[arg-type]
                count, above = count + 1, above + (ours[0][0] > theirs)
                input_above += ours[0][0] < before
                cells = "  ".join(f"{psnr:6.2f} ({noise:.1f}, {status})" for psnr, noise, status in ours)
                print(f"{name:10} {words:15} {before:6.2f} {theirs:6.2f} {cells}", flush=True)
    print(f"above the peer in {above} of {count}, below the input in {input_above}")


if __name__ == "__main__":
    main()
