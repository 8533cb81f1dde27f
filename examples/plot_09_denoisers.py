"""
Denoisers compared
==================

The same blurred image, the same model, the same rules for the parameters: only the prior differs.
"""

import time

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


image = data.astronaut()[30:158, 160:288].mean(axis=2) / 255
camera = pp.models.Deblurring(pp.kernels.gaussian(11, sigma=1.6))
y = camera.simulate(image, noise=3 / 255, rng=0)

images = {f"observed, {pp.psnr(y, image):.1f} dB": y}
for name in ("bm3d", "tv", "wavelet", "nlm", "gaussian"):
    before = time.process_time()
    result = pp.restore(y, camera, denoiser=name, noise=3 / 255)
    spent = time.process_time() - before
    gain = pp.psnr(result.image, image) - pp.psnr(y, image)
    print(
        f"{name:9} +{gain:.2f} dB, {len(result.history):3} iterations, {spent:.1f} s of CPU time, {result.status.name}"
    )
    images[f"{name}, {pp.psnr(result.image, image):.1f} dB"] = result.image

# %%
names = list(images)
_ = show({name: images[name] for name in names[:3]})
_ = show({name: images[name] for name in names[3:]})
