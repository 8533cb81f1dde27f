"""
A scratch, and lost pixels
==========================

A mask is True where a pixel was observed. What the file holds elsewhere does not matter; here it is NaN.
"""

import numpy as np
from matplotlib import pyplot as plt
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


image = data.chelsea()[40:200, 110:270] / 255
rows, columns = np.indices(image.shape[:2])
mask = (np.abs(rows - 0.7 * columns - 20 - 8 * np.sin(columns / 12)) > 2) & (np.abs(columns - 120) > 1)
mask &= np.random.default_rng(0).random(mask.shape) > 0.1
print(f"{1 - mask.mean():.0%} of the pixels are missing")

# %%
# The mask is for all channels of a pixel.

scratched = np.where(mask[..., None], image, np.nan)
result = pp.inpaint(scratched, mask, channel_axis=-1, noise=1 / 255)
hole = ~mask
print(f"{pp.psnr(result.image[hole], image[hole]):.1f} dB inside the holes")

_ = show(
    {
        "observed": np.where(mask[..., None], image, 1.0),
        "restored": np.clip(result.image, 0, 1),
        "truth": image,
    }
)
