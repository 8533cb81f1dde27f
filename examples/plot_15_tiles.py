"""
Tiles on Dask
=============

A blur has a reach, and so has a denoiser. Tiles that overlap by both are restored on their own, here as tasks of
Dask, on a laptop or on a cluster alike. Noise is estimated once, on everything: estimated tile by tile, seams would
show.
"""

import dask
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


image = data.camera()[:256, 128:384] / 255
kernel = pp.kernels.disk(2)
camera = pp.models.Deblurring(kernel, boundary="unknown")
y = pp.models.Deblurring(kernel).simulate(image, noise=3 / 255, rng=0)

whole = pp.prepare(y, camera, denoiser="tv", workers=1)
noise = whole.parameters.noise
print(f"noise {255 * noise:.2f}/255")

# %%
# A task is a tile with a margin; what is kept is its middle.

tile, margin = 128, 24


@dask.delayed
def restored(top, left):
    """Restore one tile."""
    first = max(top - margin, 0), max(left - margin, 0)
    part = y[first[0] : top + tile + margin, first[1] : left + tile + margin]
    result = pp.restore(part, camera, denoiser="tv", noise=noise, workers=1)
    return result.image[top - first[0] :, left - first[1] :][:tile, :tile]


rows = [[restored(top, left) for left in range(0, 256, tile)] for top in range(0, 256, tile)]
tiled = np.block(dask.compute(rows, scheduler="threads", num_workers=2)[0])

# %%
# In one piece, for comparison: the difference is of the order of a grey level, and no larger at the seams.

once = whole.run().image
difference = np.abs(tiled - once)
seam = difference[126:130].mean()
print(f"mean difference {255 * difference.mean():.2f}/255, along a seam {255 * seam:.2f}/255")
_ = show({"observed": y, f"tiles, {pp.psnr(tiled, image):.1f} dB": tiled, "difference x 50": 50 * difference})
