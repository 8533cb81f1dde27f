"""
From a photon cube to a video
=============================

A SPAD camera records thousands of binary frames a second. Something moves: all frames together are sharp where
nothing moves and smeared elsewhere, single ones are nearly black. Windows of frames are a video.
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
# 96 frames of a coin that moves across a page.

page = data.page()[20:148, 60:188] / 255
coin = data.coins()[10:58, 300:348] / 255
disk = np.hypot(*(np.indices(coin.shape) - 23.5)) < 22
sensor = pp.models.SinglePhoton(1, gain=1.5)
bits = []
for t in range(96):
    scene, left = page.copy(), 12 + int(0.5 * t)
    scene[40:88, left : left + 48][disk] = 0.6 * coin[disk] ** 2
    bits.append(sensor.simulate(scene, rng=t))
bits = np.stack(bits)
print(bits.shape, f"{bits.mean():.3f} ones in a frame")

# %%
# Each image of the video is made of 24 frames; the windows overlap.

video = [pp.single_photon(bits[t : t + 24], oversampling=1, gain=1.5).image for t in (0, 24, 48, 72)]
everything = pp.single_photon(bits, oversampling=1, gain=1.5).image
_ = show({"one frame": bits[0], "all 96 frames": everything, "frames 0 to 23": video[0]})

# %%
# The coin on its way:

_ = show({f"frames {24 * k} to {24 * k + 23}": image for k, image in enumerate(video) if k})
