"""Images for the screen: eight bits, at most as large as asked for."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.io import ImageFile

__all__ = ["MAX_VIEW_SIDE", "display_range", "kernel_image", "png", "screen_image"]

MAX_VIEW_SIDE = 8192
"""Browsers draw larger ones unreliably."""
# Number of pixels from which the display range is measured.
_SAMPLES = 200_000
# An image that uses less than this share of its range is stretched; otherwise sensor counts would look black.
_DARK_SHARE = 0.3


def display_range(image: ImageFile) -> tuple[float, float]:
    """Return the values that are shown as black and white: those of the file, or the range of nearly all pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from plugplay.io import ImageFile
    >>> counts = np.linspace(200, 1200, 100).astype(np.uint16).reshape(10, 10)
    >>> low, high = display_range(ImageFile.of(counts))
    >>> 190 < low < 210 and 1190 < high < 1210
    True
    """
    low, high = image.data_range
    flat = image.pixels.reshape(-1)
    sample = flat[:: max(1, flat.size // _SAMPLES)].astype(np.float64)
    sample = sample[np.isfinite(sample)]
    if sample.size == 0:
        return low, high
    first, last = (float(q) for q in np.quantile(sample, (0.001, 0.999)))
    width = high - low
    within = first >= low - width / 2 and last <= high + width / 2
    if last <= first or (within and (image.pixels.dtype == np.uint8 or last - first > _DARK_SHARE * width)):
        return (low, high) if within else (first - 0.5, first + 0.5)
    return first, last


def screen_image(
    pixels: NDArray[Any], shown: tuple[float, float], *, max_side: int = MAX_VIEW_SIDE
) -> NDArray[np.uint8]:
    """Return gray or RGB bytes; missing pixels are black, further channels are averaged.

    Examples
    --------
    >>> import numpy as np
    >>> screen_image(np.array([[0.0, 0.5, 1.0]]), (0.0, 1.0)).tolist()
    [[0, 128, 255]]
    """
    height, width = pixels.shape[:2]
    step = math.ceil(max(height, width) / max_side)
    if step > 1:  # means of squares, as a screen that is too small would show them
        rows, columns = height // step * step, width // step * step
        cells = pixels[:rows, :columns].reshape(rows // step, step, columns // step, step, *pixels.shape[2:])
        pixels = np.asarray(cells.mean(axis=(1, 3)))
    if pixels.ndim == 3 and pixels.shape[-1] != 3:
        pixels = pixels.mean(axis=-1)
    low, high = shown
    if pixels.dtype in (np.uint8, np.uint16):  # a table is ten times as fast as arithmetic on a photograph
        values = np.arange(np.iinfo(pixels.dtype).max + 1, dtype=np.float64)
        looked_up: NDArray[np.uint8] = _shades(values, low, high)[pixels]
        return looked_up
    return _shades(pixels.astype(np.float64), low, high)


def _shades(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.uint8]:
    values = np.nan_to_num((values - low) * (255 / (high - low)), nan=0.0)
    shades: NDArray[np.uint8] = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return shades


def png(pixels: NDArray[np.uint8], *, compression: int = 1) -> bytes:
    """Return the bytes of a PNG file; little compression, because it travels over the loopback."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG", compress_level=compression)
    return stream.getvalue()


def kernel_image(kernel: NDArray[np.float64], *, side: int = 128) -> NDArray[np.uint8]:
    """Return a square image of a kernel, enlarged by a whole number where it is small.

    Examples
    --------
    >>> import numpy as np
    >>> kernel_image(np.ones((3, 5)) / 15, side=10).shape
    (10, 10)
    """
    # The square root shows weak parts, which matter as much as strong ones.
    unit = np.sqrt(np.clip(kernel / kernel.max(), 0, 1))
    longest = max(kernel.shape)
    scale = max(1, side // (longest + 2))
    step = math.ceil(longest / side)
    bright = np.kron((unit * 255).astype(np.uint8)[::step, ::step], np.ones((scale, scale), np.uint8))
    canvas = np.zeros((side, side), np.uint8)
    top, left = (side - bright.shape[0]) // 2, (side - bright.shape[1]) // 2
    canvas[top : top + bright.shape[0], left : left + bright.shape[1]] = bright
    return canvas
