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
radius = np.sqrt((1.6 * (z - 20)) ** 2 + (y - 36) ** 2 + (x - 36) ** 2)
volume = 0.7 * (np.abs(radius - 25) < 2.5)
rng = np.random.default_rng(0)
for place in rng.uniform((10, 18, 18), (30, 54, 54), (40, 3)):
    volume += np.sqrt((z - place[0]) ** 2 + (y - place[1]) ** 2 + (x - place[2]) ** 2) < 3.2
volume = np.clip(volume, 0, 1).astype(np.float32)

# %%
# The point spread function: 2 pixels along z, 1 pixel across.

along = np.exp(-(np.arange(-6, 7) ** 2) / (2 * 2.0**2))
psf = along[:, None, None] * pp.kernels.gaussian(7, sigma=1.0)[None]
psf /= psf.sum()
microscope = pp.models.Deblurring(psf)
seen = microscope.simulate(volume, noise=0.01, rng=1)

# %%
# Total variation is made for volumes; other denoisers are used on slices in all three directions.

result = pp.restore(seen, microscope, denoiser="tv", noise=0.01)
print(result.status.name, len(result.history), "iterations")

volumes = {
    f"seen, {pp.psnr(seen, volume):.1f} dB": seen,
    f"restored, {pp.psnr(result.image, volume):.1f} dB": result.image,
    "truth": volume,
}
_ = show({name: shown[20] for name, shown in volumes.items()})

# %%
# The same along the axis, where the microscope sees least.

_ = show({name: shown[:, 36] for name, shown in volumes.items()}, aspect=1.6)
