"""
A denoiser of ten lines
=======================

No class, no registration: a function of an image and a noise level. Here a cosine transform of the whole image,
with small coefficients set to zero.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.fft import dctn, idctn
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


def cosine(image, sigma):
    """Average over shifts of an 8 x 8 cosine transform with hard thresholds."""
    total = np.zeros_like(image)
    for shift in ((0, 0), (4, 0), (0, 4), (4, 4)):
        moved = np.roll(image, shift, (0, 1))
        h, w = moved.shape
        blocks = moved.reshape(h // 8, 8, w // 8, 8).swapaxes(1, 2)
        coefficients = dctn(blocks, axes=(2, 3), norm="ortho")
        coefficients[np.abs(coefficients) < 2.5 * sigma] = 0
        clean = idctn(coefficients, axes=(2, 3), norm="ortho").swapaxes(1, 2).reshape(h, w)
        total += np.roll(clean, (-shift[0], -shift[1]), (0, 1))
    return total / 4


image = data.page()[20:148, 60:188] / 255
camera = pp.models.Deblurring(pp.kernels.motion(9, 45))
y = camera.simulate(image, noise=2 / 255, rng=0)
result = pp.restore(y, camera, denoiser=cosine, noise=2 / 255)

# %%
# A coefficient that is set to zero was below 2.5 sigma, so that no image is moved by more than that (RMS): the
# denoiser is bounded with C = 6.25, and the convergence theorem covers the run.

certificate = pp.certify(result, camera.data_term(y), cosine)
print(certificate)
_ = show(
    {
        f"observed, {pp.psnr(y, image):.1f} dB": y,
        f"restored, {pp.psnr(result.image, image):.1f} dB": result.image,
        "truth": image,
    }
)
