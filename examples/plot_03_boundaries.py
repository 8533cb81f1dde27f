"""
What lies beyond the frame
==========================

Pixels near the edge of a blurred photograph hold light from outside. Whoever assumes that the image repeats itself
there gets rings; with ``boundary="unknown"``, the default of `plugplay.deblur`, what lies beyond is restored as
well and cut off.
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


# %%
# A scene, blurred by motion; the camera sees only its middle.

kernel = pp.kernels.motion(15, 30)
scene = data.camera()[40:232, 130:322] / 255
frame = np.s_[24:-24, 24:-24]
y = pp.models.Deblurring(kernel).simulate(scene, noise=2 / 255, rng=0)[frame]

images = {f"observed, {pp.psnr(y, scene[frame]):.1f} dB": y}
for boundary in ("circular", "reflect", "unknown"):
    result = pp.deblur(y, kernel, noise=2 / 255, boundary=boundary)
    images[f"{boundary}, {pp.psnr(result.image, scene[frame]):.1f} dB"] = result.image
_ = show(images)
