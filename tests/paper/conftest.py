"""Small images, so that everything the full report does can be done in seconds."""

import numpy as np
import pytest
from skimage import data

from plugplay_paper.experiments import Scope
from plugplay_paper.images import TestImage


def crop(name, *, side=48, top=100, left=200, colour=False):
    """Return a small part of a photograph."""
    pixels = data.astronaut()[top : top + side, left : left + side] / 255
    return TestImage(name, pixels if colour else pixels.mean(axis=-1))


@pytest.fixture
def small():
    return crop("small")


@pytest.fixture
def scope():
    """Two tiny images, one of them named like one of the paper's."""
    images = (crop("house"), crop("<other> & co", side=52, top=40))
    return Scope(images, crop("colour", colour=True), quick=True)


@pytest.fixture
def folder(tmp_path):
    """A folder with one tiny image, and something else."""
    from PIL import Image

    place = tmp_path / "images"
    place.mkdir()
    pixels = np.round(255 * crop("small", side=50).pixels).astype(np.uint8)
    Image.fromarray(pixels).save(place / "07_house.png")
    (place / "notes.txt").write_text("not an image")
    return place
