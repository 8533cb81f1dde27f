"""What a JPEG file can tell about the noise before it was written: how well any unbiased estimate could do.

Run with ``python benchmarks/jpeg_noise.py``. Coefficients of white Gaussian noise of standard deviation s that were
rounded to multiples of q have the value kq with the probability P_k(s), and n of them tell s with a standard error of
at least 1 / sqrt(n I), where I is the sum of (dP_k/ds)² / P_k (Cramér and Rao). The table has this bound, relative to
s, for 160 blocks, the flattest 4 % of an image of 512 x 512 pixels, and for libjpeg's tables: of luma for all
frequencies and for high ones, which have least texture, and of chroma that was not subsampled for high ones. Where the
bound is 1 or more, the likelihood is flat: the file does not tell whether there was noise.
"""

from __future__ import annotations

import io
import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.special import ndtr

Array = NDArray[np.float64]

BLOCKS = 160
FREQUENCY = np.hypot(*np.meshgrid(np.arange(8), np.arange(8), indexing="ij")).ravel() / 7
# Of noise that is alike and independent in red, green and blue.
LUMA, CHROMA = 0.669, 0.640


def tables(quality: int) -> tuple[Array, Array]:
    """Return the steps of luma and chroma, row by row."""
    file = io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, "jpeg", quality=quality)
    found = Image.open(file).quantization
    return np.array(found[0], np.float64), np.array(found[1], np.float64)


def information(sigma: float, steps: Array) -> float:
    """Return what one block tells about ln s: the sum over its coefficients of s² I."""

    def chances(level: float) -> Array:
        tails = 2 * ndtr(-(np.arange(60) + 0.5) * steps[:, None] / level)
        return -np.diff(tails, axis=1, prepend=1.0)

    change = (chances(sigma * 1.001) - chances(sigma / 1.001)) / (2 * math.log(1.001))
    return float(np.sum(np.square(change) / np.maximum(chances(sigma), 1e-300)))


def main() -> None:
    """Print the table."""
    print(f"{'noise x 255':>12}{'quality':>9}{'gray':>8}{'high':>8}{'luma':>8}{'high':>8}{'chroma, high':>14}")
    for quality in (95, 92, 90):
        luma, chroma = tables(quality)
        high = FREQUENCY >= 0.75
        for noise in (0.5, 1, 2, 3, 5):
            row = []
            for gain, steps, some in (
                (1.0, luma, FREQUENCY > 0),
                (1.0, luma, high),
                (LUMA, luma, FREQUENCY > 0),
                (LUMA, luma, high),
                (CHROMA, chroma, high),
            ):
                told = BLOCKS * information(gain * noise, steps[some])
                row.append(1 / math.sqrt(told) if told > 1 else math.inf)
            print(f"{noise:12g}{quality:9}" + "".join(f"{x:8.3f}" for x in row[:4]) + f"{row[4]:14.3f}")


if __name__ == "__main__":
    main()
