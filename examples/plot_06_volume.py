"""
Deconvolution of a volume
=========================

Beads and a thin shell, seen by a microscope that is blurred more along its axis than across. With
``spatial_ndim=3`` a volume is one problem, with a kernel of three dimensions.
"""

import numpy as np
from matplotlib import pyplot as plt

import plugplay as pp


def show(images, **options):
    """Show named images side by side."""
    figure, axes = plt.subplots(1, len(images), figsize=(3.3 * len(images), 3.6), layout="constrained")
    for place, (title, image) in zip(axes, images.items()):
        place.imshow(image, **{"cmap": "gray", "vmin": 0, "vmax": 1, **options})
        place.set_title(title, fontsize=11)
        place.axis("off")
    return figure


z, y, x = np.indices((40, 72, 72)).astype(float)
volume = np.zeros(z.shape)
rng = np.random.default_rng(0)
for centre in rng.uniform(8, (32, 64, 64), (25, 3)):
    volume += 0.8 * (np.sqrt((z - centre[0]) ** 2 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2) < 2.5)
radius = np.sqrt((1.4 * (z - 20)) ** 2 + (y - 36) ** 2 + (x - 36) ** 2)
volume = np.clip(volume + 0.5 * (np.abs(radius - 22) < 1.5), 0, 1).astype(np.float32)

# %%
# The point spread function: 2.5 pixels along z, 1 pixel across.

along = np.exp(-(np.arange(-6, 7) ** 2) / (2 * 2.5**2))
psf = along[:, None, None] * pp.kernels.gaussian(7, sigma=1.0)[None]
psf /= psf.sum()
microscope = pp.models.Deblurring(psf)
seen = microscope.simulate(volume, noise=0.02, rng=1)

# %%
# Total variation is made for volumes; other denoisers are used on slices in all three directions.

result = pp.restore(seen, microscope, denoiser="tv", noise=0.02)
print(result.status.name, len(result.history), "iterations")

_ = show(
    {
        f"seen, {pp.psnr(seen, volume):.1f} dB": seen[:, 36],
        f"restored, {pp.psnr(result.image, volume):.1f} dB": result.image[:, 36],
        "truth (a plane along the axis)": volume[:, 36],
    }
)
