"""D_sigma removes noise of standard deviation sigma about as well as the method can, on images not tuned on."""

import numpy as np
import pytest

import plugplay as pp
from oracles.images import held_out_colour, held_out_gray, noisy

NAMES = ("tv", "nlm", "dsg-nlm", "wavelet", "recursive", "bilateral", "median", "gaussian")
# What each level of noise must gain over the noisy image, in dB.
GAIN = {10: 2.0, 25: 5.5, 50: 8.0}
MARGIN = 0.3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", GAIN)
@pytest.mark.parametrize("images", [held_out_gray, held_out_colour], ids=["gray", "colour"])
def test_no_other_strength_does_much_better(name, level, images):
    """Every internal parameter is a function of sigma, so another sigma is another point of the method's grid."""
    denoise, sigma = pp.denoisers.get(name), level / 255

    def quality(factor):
        return np.mean([pp.psnr(denoise(noisy(x, sigma), factor * sigma), x) for x in images()])

    calibrated = quality(1.0)
    others = {factor: quality(factor) for factor in (0.5, 0.7, 0.85, 1.2, 1.45, 2.0)}
    assert max(others.values()) <= calibrated + MARGIN, others
    untouched = np.mean([pp.psnr(noisy(x, sigma), x) for x in images()])
    assert calibrated >= untouched + GAIN[level]
