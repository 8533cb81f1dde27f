"""
Camera shake in a colour photograph
===================================

A hand does not move along a line. This kernel is a random walk with inertia, as hands do it; the photograph is
stored in 8 bits, and the noise is not told.
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
# The path of the hand while the shutter was open, drawn on a grid.

rng = np.random.default_rng(4)
path = np.cumsum(gaussian_filter(rng.standard_normal((400, 2)), (40, 0)), axis=0)
path = 14 * (path - path.mean(axis=0)) / np.ptp(path)
kernel = np.histogram2d(*path.T, bins=17, range=[(-8.5, 8.5)] * 2)[0]
kernel = gaussian_filter(kernel, 0.5)
kernel /= kernel.sum()

# %%
# Photograph and restoration. `plugplay.deblur` wants the kernel's middle where the image should stay.

photo = data.coffee()[120:312, 200:392] / 255
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
# How the run went, and what was noticed in it:

print(result.status.name, *result.warnings)
_ = result.plot()
