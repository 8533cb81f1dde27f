"""
Single photons: the paper's second application
==============================================

A quanta image sensor has many tiny pixels, *jots*, that only say whether light arrived. Here 8 x 8 of them lie
under each pixel, and all that is known are zeros and ones.
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


image = data.astronaut()[0:288:2, 90:378:2].mean(axis=2) / 255
sensor = pp.models.SinglePhoton(8)
bits = sensor.simulate(image, rng=0)
print(bits.shape, bits.dtype, f"{bits.mean():.2f} of the jots saw light")

# %%
# Counting the ones under each pixel and inverting the law of photons pixel by pixel is the maximum-likelihood
# estimate. The denoiser adds what is known about images.

likely = sensor.data_term(bits).start()
result = pp.single_photon(bits, oversampling=8)

_ = show(
    {
        "bits (a part)": bits[480:800, 480:800],
        f"maximum likelihood, {pp.psnr(likely, image):.1f} dB": likely,
        f"plugplay, {pp.psnr(result.image, image):.1f} dB": result.image,
        "truth": image,
    }
)
