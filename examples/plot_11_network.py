"""
A network plugged in
====================

Any callable ``(image, sigma) -> image`` is a denoiser, a network too. Here it is the small one that comes with
plugplay (``pip install 'plugplay[net]'``); `plugplay.denoisers.from_torch` takes any ``torch.nn.Module``.
"""

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


image = data.chelsea()[60:188, 120:248].mean(axis=2) / 255
camera = pp.models.Deblurring(pp.kernels.disk(2))
y = camera.simulate(image, noise=5 / 255, rng=0)

net = pp.denoisers.get("net")
calls = []


def counted(image, sigma):
    """Denoise by the network, and note at which level."""
    calls.append(sigma)
    return net(image, sigma)


# %%
# The loop asks for less and less noise to be removed; this network corrects BM3D, and follows it down to any level.
# Others stop improving images below some level: tell it by a member ``min_sigma``, and the run ends there.

by_net = pp.restore(y, camera, denoiser=counted, noise=5 / 255)
by_bm3d = pp.restore(y, camera, denoiser="bm3d", noise=5 / 255)
print(f"{len(calls)} calls, sigma from {calls[0]:.3f} to {calls[-1]:.3f}; {by_net.status.name}")

_ = show(
    {
        f"observed, {pp.psnr(y, image):.1f} dB": y,
        f"network, {pp.psnr(by_net.image, image):.1f} dB": by_net.image,
        f"BM3D, {pp.psnr(by_bm3d.image, image):.1f} dB": by_bm3d.image,
        "truth": image,
    }
)
