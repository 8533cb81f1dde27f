"""
Camera shake in a colour photograph
===================================

A hand does not move along a line: it drifts, and trembles 8 to 12 times a second. There is no recording of a hand
with a free licence at hand, so the path is simulated from these two movements; everything after it is as in a
camera. The photograph is stored in 8 bits, and the noise is not told.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.ndimage import gaussian_filter
from skimage import data

import plugplay as pp


def show(images, **options):
    """Show named images side by side."""
    figure, axes = plt.subplots(1, len(images), figsize=(3.3 * len(images), 3.6), layout="constrained")
    for place, (title, image) in zip(axes, images.items()):
        place.imshow(image, **{"cmap": "gray", "vmin": 0, "vmax": 1, **options})
        place.set_title(title, fontsize=11)
        place.axis("off")
    return figure


# %%
# The path of the hand in pixels, while the shutter was open for a quarter of a second, drawn on a grid.

rng = np.random.default_rng(2)
t = np.linspace(0, 0.25, 5000)[:, None]
path = rng.normal(0, 45, 2) * t + rng.normal(0, 250, 2) * (t - 0.125) ** 2
for hertz in (8, 9, 10, 11, 12):
    path += rng.normal(0, 1.2, 2) * np.sin(2 * np.pi * (hertz * t + rng.random(2)))
path -= path.mean(axis=0)
kernel = gaussian_filter(np.histogram2d(*path.T, bins=25, range=[(-12.5, 12.5)] * 2)[0], 0.4)
kernel /= kernel.sum()

# %%
# Photograph and restoration. `plugplay.deblur` wants the kernel's middle where the image should stay.

photo = data.coffee()[80:320, 180:420] / 255
frame = np.s_[16:-16, 16:-16]
shaken = pp.models.Deblurring(kernel).simulate(photo, noise=2 / 255, rng=1)[frame]
stored = np.rint(255 * np.clip(shaken, 0, 1)).astype(np.uint8)
result = pp.deblur(stored, kernel, channel_axis=-1)

images = {
    "the hand's path": np.repeat(kernel[..., None] / kernel.max(), 3, axis=2),
    f"as stored, {pp.psnr(stored / 255, photo[frame]):.1f} dB": stored / 255,
    f"restored, {pp.psnr(result.image, photo[frame]):.1f} dB": np.clip(result.image, 0, 1),
}
_ = show(images)

# %%
# A result on the last line shows itself, as it does in a notebook: before, after, what was used, and the curve.

result
