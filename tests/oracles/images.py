"""Images that no parameter was chosen on.

They have smooth and busy parts, like the ones the parameters were chosen on. For an image that is smooth throughout
(the moon) or busy throughout (grass), every method would do better with another strength.
"""

import numpy as np
from skimage import data


def held_out_gray():
    """Cells under the microscope, and the luminance of a cat and of a rocket, and bricks, 96 x 96."""
    coloured = data.immunohistochemistry()[:96, :96], *(255 * image for image in held_out_colour())
    return [*(image.mean(axis=2) / 255 for image in coloured), data.brick()[:96, :96] / 255]


def held_out_colour():
    """A cat and a rocket, 96 x 96 x 3."""
    return [image / 255 for image in (data.chelsea()[80:176, 150:246], data.rocket()[180:276, 250:346])]


def noisy(image, sigma, seed=1234):
    return image + sigma * np.random.default_rng(seed).standard_normal(image.shape)
