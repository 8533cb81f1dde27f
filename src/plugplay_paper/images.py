"""The test images: those of a folder, or some that scikit-image brings."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay import io
from plugplay_paper.arrays import LUMINANCE, FloatArray, frozen
from plugplay_paper.fingerprints import Fingerprinted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TestImage", "bundled", "colour_image", "from_folder"]

# Both factors of the super-resolution table divide it, so that every problem can be posed for every image.
MULTIPLE = 4
MIN_SIDE = 32


@dataclass(frozen=True, eq=False)
class TestImage(Fingerprinted):
    """An image to degrade and restore.

    Attributes
    ----------
    name : str
        What tables call it.
    pixels : array
        Gray ``(H, W)`` or colour ``(H, W, 3)``, float32 on [0, 1]; read-only.
    digest : str
        Of the pixels.
    """

    __test__ = False  # pytest takes classes of such names for tests

    name: str
    # Many cells share an image, and each has a fingerprint: the pixels are digested once.
    pixels: FloatArray = field(metadata={"fingerprinted": False})
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        pixels = frozen(np.asarray(self.pixels, np.float32))
        object.__setattr__(self, "pixels", pixels)
        shape = str(pixels.shape).encode()
        object.__setattr__(self, "digest", hashlib.sha256(shape + pixels.tobytes()).hexdigest())

    def cropped(self, side: int) -> TestImage:
        """Return a square from the upper middle, where the subject of a portrait is."""
        top, left = self.pixels.shape[0] // 8, (self.pixels.shape[1] - side) // 2
        return TestImage(self.name, self.pixels[top : top + side, left : left + side])

    def __str__(self) -> str:
        height, width = self.pixels.shape[:2]
        return f"{self.name} ({width} x {height})"


def from_folder(folder: Path) -> tuple[TestImage, ...]:
    """Return all images of a folder, gray, in the order of their file names.

    They lose up to three rows and columns, so that the sides are multiples of 4, and are clipped to [0, 1]. Other
    files, and hidden ones, are passed over.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    visible = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    files = sorted(file for file in visible if io.is_image_name(file))
    if not files:
        raise ValueError(f"{folder} holds no image files; supported formats: {', '.join(io.suffixes())}")
    count = Counter(_display_name(file.stem) for file in files)
    return tuple(
        # Of two files of one name, as a.png and a.tif, say all of it.
        TestImage(name if count[name := _display_name(file.stem)] == 1 else _readable(file.name), _gray(file))
        for file in files
    )


def bundled() -> tuple[TestImage, ...]:
    """Return gray images that scikit-image brings, 256 x 256 pixels of each.

    Examples
    --------
    >>> [image.name for image in bundled()]
    ['camera', 'astronaut', 'coffee', 'chelsea', 'coins', 'rocket']
    """
    from skimage import data

    corners = {
        "camera": (data.camera(), 60, 120),
        "astronaut": (data.astronaut(), 0, 100),
        "coffee": (data.coffee(), 80, 200),
        "chelsea": (data.chelsea(), 20, 100),
        "coins": (data.coins(), 20, 60),
        "rocket": (data.rocket(), 90, 200),
    }
    return tuple(
        TestImage(name, _luminance(np.asarray(image)[top : top + 256, left : left + 256] / 255))
        for name, (image, top, left) in corners.items()
    )


def colour_image() -> TestImage:
    """Return the colour image of the figures, 512 x 512."""
    from skimage import data

    return TestImage("astronaut, colour", np.asarray(data.astronaut()) / 255)


def _display_name(stem: str) -> str:
    """Return a file's name without the number that keeps files in order."""
    return re.sub(r"^\d+[ _-]+(?=\D)", "", _readable(stem))


def _readable(name: str) -> str:
    """Return a name that can be written: the file system may know names that are no text."""
    return os.fsencode(name).decode(errors="replace")


def _gray(file: Path) -> FloatArray:
    image = io.read(file)
    if len(image.pages) != 1:
        raise ValueError(f"{file} holds {len(image.pages)} images; a file with one image is needed")
    gray = _luminance(image.unit_pages()[0])
    if not np.isfinite(gray).all():
        raise ValueError(f"{file} has NaN or infinite pixels; remove it from the folder or fill them in")
    height, width = (side // MULTIPLE * MULTIPLE for side in gray.shape)
    if min(height, width) < MIN_SIDE:
        raise ValueError(
            f"{file} has {gray.shape[1]} x {gray.shape[0]} pixels; at least {MIN_SIDE} each way are needed"
        )
    return np.clip(gray[:height, :width], 0, 1)


def _luminance(image: NDArray[Any]) -> FloatArray:
    gray: FloatArray = (
        image if image.ndim == 2 else image[..., :3] @ LUMINANCE if image.shape[2] >= 3 else image[..., 0]
    )
    return gray
