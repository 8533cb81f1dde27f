"""
Super-resolution: the paper's first application
===============================================

A photograph was blurred, every second pixel was kept, and noise was added. The model's step has a closed form, the
one that the paper derives.
"""

from matplotlib import pyplot as plt
from skimage import data
from skimage.transform import resize

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
# The camera: a Gaussian blur, a factor of 2, and noise of 5/255.

image = data.camera()[60:252, 130:322] / 255
camera = pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0))
small = camera.simulate(image, noise=5 / 255, rng=0)

# %%
# Nothing but the camera is told; noise, lambda and the schedule are chosen.

result = pp.restore(small, camera)
print(result.status)
print(
    f"noise {255 * result.parameters.noise:.1f}/255, lambda {result.parameters.lam:.2g}, {len(result.history)} passes"
)

# %%
# Beside it, cubic interpolation and the paper's own parameters, tolerance included.

cubic = resize(small, image.shape, order=3)
schedule = pp.Monotone(rho0=1e-5, gamma=1.2)
by_hand = pp.restore(small, camera, schedule=schedule, lam=1e-4, tol=1e-3, max_iter=100)
print(f"{len(by_hand.history)} passes with the paper's parameters")
_ = show(
    {
        "observed, 96 x 96": small,
        f"cubic, {pp.psnr(cubic, image):.1f} dB": cubic,
        f"paper's parameters, {pp.psnr(by_hand.image, image):.1f} dB": by_hand.image,
        f"automatic, {pp.psnr(result.image, image):.1f} dB": result.image,
    }
)
