"""Impulses are noticed, and nothing else is taken for them."""

import re

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage
from skimage import data

import plugplay as pp
from plugplay.noise.impulses import share_of_impulses

PHOTOGRAPHS = ("camera", "coins", "moon", "page", "text", "brick", "grass", "gravel", "cell", "clock")


def letters(size):
    image = Image.new("L", (200, 120), 235)
    drawing = ImageDraw.Draw(image)
    for row in range(7):
        drawing.text((4, 4 + 16 * row), "The i: lazy, dog; jumps.", fill=20, font=ImageFont.load_default(size))
    return np.asarray(image)


def spoilt(image, share, seed=0):
    places = np.random.default_rng(seed).random(image.shape)
    return np.where(places < share / 2, 0, np.where(places > 1 - share / 2, 255, image)).astype(np.uint8)


@pytest.mark.parametrize("share", [0.01, 0.02, 0.1])
@pytest.mark.parametrize("name", ["camera", "coins", "moon", "brick", "grass"])
def test_impulses_in_photographs(name, share):
    found = share_of_impulses(spoilt(getattr(data, name)()[:200, :200], share), 3)
    assert 0.5 * share < found < 1.3 * share


@pytest.mark.parametrize("noise", [0, 5, 20, 50, 100])
def test_nothing_else_is_taken_for_impulses(noise):
    rng = np.random.default_rng(1)
    points = np.zeros((200, 200))
    points[rng.integers(0, 200, 400), rng.integers(0, 200, 400)] = 20 * rng.pareto(1.2, 400) + 5
    images = [getattr(data, name)()[:256, :256] for name in PHOTOGRAPHS]
    images += [letters(size) for size in (8, 10, 14, 20)]
    images += [ndimage.gaussian_filter(points, blur) for blur in (0, 0.5, 1)]
    for image in images:
        noisy = np.clip(np.rint(image + rng.normal(0, noise, image.shape)), 0, 255).astype(np.uint8)
        assert share_of_impulses(noisy, noise) == 0
        halftone = np.asarray(Image.fromarray(noisy).convert("1"))
        assert share_of_impulses(halftone.astype(float), noise / 255) == 0


@pytest.mark.parametrize("colour", [False, True])
def test_denoising_says_so(colour):
    image = data.astronaut()[40:136, 180:276] if colour else data.camera()[100:196, 100:196]
    axis = -1 if colour else None
    said = [
        [text for text in pp.denoise(y, denoiser="tv", channel_axis=axis).warnings if "salt and pepper" in text]
        for y in (image, spoilt(image, 0.02))
    ]
    assert said[0] == []
    assert len(said[1]) == 1
    assert re.match(r"at least (1|2) % of the pixels are single black or white ones", said[1][0])
