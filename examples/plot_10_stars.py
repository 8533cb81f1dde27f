"""
FITS with NaN and saturated stars
=================================

A field with two dead columns (NaN) and cores that are saturated. NaN counts as missing by itself; a mask says what
else is not believed, and the header goes along.
"""

import tempfile
from pathlib import Path

import numpy as np
from astropy.io import fits
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


rng = np.random.default_rng(1)
sky = np.full((160, 160), 200.0)
for r, c, flux in zip(rng.integers(8, 152, 60), rng.integers(8, 152, 60), rng.pareto(1.3, 60) * 1500 + 300):
    sky[r, c] += flux
rows, columns = np.indices(sky.shape)
sky += 60 * np.exp(-np.hypot((rows - 90) / 1.8, columns - 70) / 12)  # a galaxy

psf = pp.kernels.gaussian(17, sigma=1.7)
field = pp.models.Deblurring(psf).forward(sky)
field += rng.normal(0, 3, sky.shape) + rng.standard_normal(sky.shape) * np.sqrt(field / 4)
field = np.minimum(field, 1200.0)  # the detector's full well
field[:, 108:110] = np.nan

folder = Path(tempfile.mkdtemp())
hdu = fits.PrimaryHDU(field.astype(np.float32))
hdu.header["BUNIT"], hdu.header["OBJECT"] = "adu", "simulated field"
hdu.writeto(folder / "field.fits")

# %%
# Read, restore, write: in the units of the file, with its header. The noise grows with the signal, and total
# variation rings less around points than BM3D.

file = pp.io.read(folder / "field.fits")
with np.errstate(invalid="ignore"):
    good = np.isfinite(file.pixels) & (file.pixels < 1190)
result = pp.deblur(file.pixels, psf, mask=good, denoiser="tv", noise=pp.PoissonGaussian())
print(result.status.name, *result.warnings, sep="\n")
result.save(folder / "sharp.fits", like=folder / "field.fits")
print(fits.getheader(folder / "sharp.fits")["OBJECT"])

# %%
# Shown with an arcsinh stretch, as faint things are.


def stretched(image):
    """Show faint and bright together."""
    return np.arcsinh((np.nan_to_num(image, nan=0.0) - 170) / 40) / np.arcsinh(2000 / 40)


_ = show(
    {"observed (NaN and saturation)": stretched(field), "restored": stretched(result.image), "truth": stretched(sky)},
    cmap="inferno",
)
