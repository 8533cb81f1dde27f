"""Small pictures, so that everything the full report does can be done in seconds."""

import numpy as np
import pytest
from skimage import data

from plugplay_paper.experiments import Scope
from plugplay_paper.images import Picture


def picture(name, *, side=48, top=100, left=200, colour=False):
    """Return a small part of a photograph."""
    image = data.astronaut()[top : top + side, left : left + side] / 255
    return Picture(name, image if colour else image.mean(axis=-1))


@pytest.fixture
def small():
    return picture("small")


@pytest.fixture
def scope():
    """Two tiny pictures, one of them named like one of the paper's."""
    pictures = (picture("house"), picture("<other> & co", side=52, top=40))
    return Scope(pictures, picture("colour", colour=True), quick=True)


@pytest.fixture
def folder(tmp_path):
    """A folder with one tiny picture, and something else."""
    from PIL import Image

    place = tmp_path / "pictures"
    place.mkdir()
    pixels = np.round(255 * picture("small", side=50).pixels).astype(np.uint8)
    Image.fromarray(pixels).save(place / "07_house.png")
    (place / "notes.txt").write_text("not a picture")
    return place
