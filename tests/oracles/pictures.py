"""Pictures that no parameter was chosen on."""

import numpy as np
from skimage import data


def held_out_gray():
    """A cat, a rocket, the moon and bricks, 96 x 96."""
    cat, rocket = data.chelsea()[80:176, 150:246].mean(axis=2), data.rocket()[180:276, 250:346].mean(axis=2)
    return [picture / 255 for picture in (cat, rocket, data.moon()[200:296, 200:296], data.brick()[:96, :96])]


def held_out_colour():
    """A cat and a rocket, 96 x 96 x 3."""
    return [picture / 255 for picture in (data.chelsea()[80:176, 150:246], data.rocket()[180:276, 250:346])]


def noisy(picture, sigma, seed=1234):
    return picture + sigma * np.random.default_rng(seed).standard_normal(picture.shape)
