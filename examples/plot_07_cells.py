"""
Poisson deconvolution of cells
==============================

Counts of a camera on a microscope: an offset of 100, read-out noise, and photons, whose noise grows with the
signal. For 16-bit counts that show it, `plugplay.deblur` uses the likelihood of photons by itself.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage.restoration import richardson_lucy

import plugplay as pp


def show(images, **options):
    """Show named images side by side."""
    figure, axes = plt.subplots(1, len(images), figsize=(3.3 * len(images), 3.6), layout="constrained")
    for place, (title, image) in zip(axes, images.items()):
        place.imshow(image, **{"cmap": "gray", "vmin": 0, "vmax": 1, **options})
        place.set_title(title, fontsize=11)
        place.axis("off")
    return figure


rng = np.random.default_rng(3)
rows, columns = np.indices((160, 160)).astype(float)
cells = np.zeros(rows.shape)
for r, c, s in zip(rng.uniform(15, 145, 14), rng.uniform(15, 145, 14), rng.uniform(5, 9, 14)):
    cells = np.maximum(cells, 60 / (1 + np.exp(np.hypot(rows - r, columns - c) - s)))
for k in range(5):
    cells += 45 * np.exp(-((rows - 25 - 28 * k - 12 * np.sin(columns / 17 + k)) ** 2) / 2.5)

psf = pp.kernels.gaussian(15, sigma=2.0)
mean = pp.models.Deblurring(psf).forward(cells)
counts = 100 + rng.poisson(np.maximum(mean, 0)) + rng.normal(0, 1.5, mean.shape)
counts = np.rint(counts.clip(0)).astype(np.uint16)

# %%
# Nothing but the kernel is given. Integers come back on the scale of their type; times 65535 they are counts again.

result = pp.deblur(counts, psf)
print(result.parameters.noise)
restored = 65535 * result.image - 100

# %%
# Richardson-Lucy, with the best of several numbers of iterations, which needs the truth, and the true offset.

peak = cells.max()
raised = np.pad(np.clip(counts - 100.0, 1e-3, None) / peak, 16, mode="reflect")
candidates = [richardson_lucy(raised, psf, num_iter=k, clip=False)[16:-16, 16:-16] for k in (5, 10, 20, 40)]
lucy = max(candidates, key=lambda image: pp.psnr(image, cells / peak))

_ = show(
    {
        f"counts, {pp.psnr((counts - 100.0) / peak, cells / peak):.1f} dB": (counts - 100.0) / peak,
        f"Richardson-Lucy, {pp.psnr(lucy, cells / peak):.1f} dB": lucy,
        f"plugplay, {pp.psnr(restored / peak, cells / peak):.1f} dB": restored / peak,
        "truth": cells / peak,
    },
    cmap="magma",
)
