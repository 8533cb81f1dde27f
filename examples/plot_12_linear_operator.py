"""
A linear operator of your own: tomography
=========================================

`plugplay.models.Linear` takes any matrix or ``LinearOperator``. This one is a parallel-beam tomograph with few
angles: every measurement is a sum along a ray.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse
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
# One row of the matrix for each ray; a pixel's weight goes to the two nearest rays.

size, angles = 64, np.linspace(0, np.pi, 40, endpoint=False)
image = np.clip(resize(data.shepp_logan_phantom(), (size, size), anti_aliasing=True), 0, 1)
rows, columns = np.indices(image.shape) - (size - 1) / 2
rays, pieces = 96, []
for angle in angles:
    place = (columns * np.cos(angle) + rows * np.sin(angle)).ravel() + rays / 2
    low = np.floor(place).astype(int)
    pixel = np.arange(size**2)
    weights = np.concatenate([low + 1 - place, place - low])
    pieces.append(
        sparse.csr_array((weights, (np.concatenate([low, low + 1]), np.tile(pixel, 2))), shape=(rays, size**2))
    )
matrix = sparse.vstack(pieces).tocsr() / size

tomograph = pp.models.Linear(matrix, shape=image.shape)
sinogram = tomograph.simulate(image, noise=0.002, rng=0)
pp.check_model(tomograph, image).raise_if_failed()

# %%
# The noise has to be told: it cannot be read off sums over the whole image.

result = pp.restore(sinogram, tomograph, denoiser="tv", noise=0.002)
back = tomograph.adjoint(sinogram).reshape(image.shape)
print(result.status.name, *result.warnings)

_ = show(
    {
        "sinogram (40 angles)": sinogram.reshape(len(angles), rays) / sinogram.max(),
        "back-projection": back / back.max(),
        f"plugplay, {pp.psnr(result.image, image):.1f} dB": result.image,
        "truth": image,
    }
)
