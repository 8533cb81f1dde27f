"""
FITS with NaN and saturated stars
=================================

A field with two dead columns (NaN) and cores that are saturated. A mask says which pixels are believed; that this is
a star field, and how its noise grows with the signal, is found out, and the header goes along.
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
places, fluxes = rng.integers(8, 152, (60, 2)), rng.pareto(1.3, 60) * 1500 + 300
sky[tuple(places.T)] += fluxes
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
# Read, restore, write: in the units of the file, with its header.

file = pp.io.read(folder / "field.fits")
with np.errstate(invalid="ignore"):
    good = np.isfinite(file.pixels) & (file.pixels < 1190)
result = pp.deblur(file.pixels, psf, mask=good)
print(result.status.name, *result.warnings, sep="\n")
result.save(folder / "sharp.fits", like=folder / "field.fits")
print(fits.getheader(folder / "sharp.fits")["OBJECT"])

# %%
# Is light kept? Stars that stand alone, measured in apertures of 5 pixels on the restored image, faint ones at the
# noise included. What a saturated core held is estimated from what the star shows around it:


def flux(image, place):
    """Return the light above the sky around a place."""
    return (image - 200)[np.hypot(rows - place[0], columns - place[1]) <= 5].sum()


apart = [k for k, p in enumerate(places) if np.sort(np.hypot(*(places - p).T))[1] > 11 and abs(p[1] - 109) > 7]
ratios = np.array([flux(result.image, places[k]) / flux(sky, places[k]) for k in apart])
saturated = np.array([not good[r - 2 : r + 3, c - 2 : c + 3].all() for r, c in places[apart]])
for name, these in (("saturated", saturated), ("other", ~saturated)):
    print(f"{these.sum()} {name} stars, restored over true flux: {np.round(np.sort(ratios[these]), 2)}")

# %%
# Shown with an arcsinh stretch, as faint things are.


def stretched(image):
    """Show faint and bright together."""
    return np.arcsinh((np.nan_to_num(image, nan=0.0) - 170) / 40) / np.arcsinh(2000 / 40)


_ = show(
    {"observed (NaN and saturation)": stretched(field), "restored": stretched(result.image), "truth": stretched(sky)},
    cmap="inferno",
)
