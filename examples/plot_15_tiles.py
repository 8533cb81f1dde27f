"""
Tiles on Dask
=============

A blur has a reach, and so has a denoiser. Tiles that overlap by both are restored on their own: `plugplay.scale`
takes Dask arrays and gives them back, on a laptop or on a cluster alike. Noise and lambda are chosen once, for
everything: chosen tile by tile, seams would show.
"""

import dask.array as da
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


image = data.immunohistochemistry()[:256, :256].mean(axis=2) / 255
kernel = pp.kernels.disk(3)
y = pp.models.Deblurring(kernel).simulate(image, noise=2 / 255, rng=0)

# %%
# Nothing is restored yet: the result's image is a Dask array, and what was chosen is known already.

lazy = pp.scale.deblur(da.from_array(y, chunks=128), kernel, denoiser="tv", core=128)
print(lazy.image)
print(f"noise {255 * lazy.parameters.noise:.2f}/255, lambda {lazy.parameters.lam:.2g}")

# %%
# Four tiles, computed by Dask, and the whole image in one piece for comparison.

tiled = lazy.compute()
once = pp.deblur(y, kernel, denoiser="tv", noise=lazy.parameters.noise)
difference = np.abs(tiled.image - once.image)
seam = difference[126:130].mean()
print(f"mean difference {255 * difference.mean():.2f}/255, along a seam {255 * seam:.2f}/255")

_ = show(
    {
        f"observed, {pp.psnr(y, image):.1f} dB": y,
        f"tiles, {pp.psnr(tiled.image, image):.1f} dB": tiled.image,
        f"in one piece, {pp.psnr(once.image, image):.1f} dB": once.image,
        "difference x 50": 50 * difference,
    }
)
