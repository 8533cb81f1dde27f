"""Make the two images of the first page: ``python docs/tools/draw_slider.py``.

scikit-image's coffee (Rachel Michetti, public domain), blurred by motion of 15 pixels at 30 degrees with noise 2/255,
stored in 8 bits and restored by ``plugplay.deblur`` with nothing given but the kernel.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data

import plugplay as pp

IMAGES = Path(__file__).parents[1] / "_static"


def main() -> None:
    """Write both."""
    image = data.coffee() / 255
    kernel = pp.kernels.motion(15, 30)
    camera = pp.models.Deblurring(kernel, boundary="unknown")
    large = np.pad(image, ((8, 8), (8, 8), (0, 0)), mode="reflect")
    blurred = pp.models.Deblurring(kernel).simulate(large, noise=2 / 255, rng=0)[8:-8, 8:-8]
    stored = np.rint(255 * np.clip(blurred, 0, 1)).astype(np.uint8)
    result = pp.restore(stored, camera, channel_axis=-1)
    psnr = [pp.psnr(shown, image) for shown in (stored / 255, np.clip(result.image, 0, 1))]
    print(f"{psnr[0]:.1f} dB before, {psnr[1]:.1f} dB after; {result.history.seconds.sum():.1f} s")  # noqa: T201
    for name, pixels in (("before", stored / 255), ("after", result.image)):
        picture = Image.fromarray(np.rint(255 * np.clip(pixels, 0, 1)).astype(np.uint8))
        picture.save(IMAGES / f"slider-{name}.jpg", quality=84, optimize=True)


if __name__ == "__main__":
    main()
