"""What dictionaries are trained on: images that scikit-image brings and that the package tests nothing on.

Those that `plugplay_paper` restores (camera, astronaut, coffee, chelsea, coins, rocket) are left out, so that no
method is judged on what it has learned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.models import SuperResolution
from plugplay_paper.arrays import LUMINANCE, FloatArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["AVAILABLE", "NAMES", "training_images"]

#: Images in the wheel of scikit-image, which needs no download for them.
AVAILABLE = (
    "brick",
    "clock",
    "grass",
    "gravel",
    "hubble_deep_field",
    "immunohistochemistry",
    "moon",
    "page",
    "retina",
    "stereo_motorcycle",
    "text",
)
#: What is used by default: the only photograph of a scene among them counts for three.
NAMES = (*AVAILABLE, "stereo_motorcycle", "stereo_motorcycle")


def training_images(names: tuple[str, ...], *, shrink: int, multiple: int) -> Iterator[FloatArray]:
    """Yield gray images, float32 on [0, 1], each in eight orientations.

    Parameters
    ----------
    names : tuple of str
        Some of `AVAILABLE`, which are functions of `skimage.data`.
    shrink : int
        Images are made smaller by this factor: most are enlarged beyond their sharpness, and a dictionary cannot
        learn details from images that have none.
    multiple : int
        The sides of the result are multiples of it.

    Examples
    --------
    >>> next(training_images(("text",), shrink=2, multiple=8)).shape
    (80, 224)
    """
    from skimage import data

    for name in names:
        loaded = getattr(data, name)()
        image = _gray(loaded[0] if isinstance(loaded, tuple) else loaded)
        image = _cropped(image, shrink * multiple)
        small = np.clip(SuperResolution(shrink).simulate(image), 0, 1).astype(np.float32)
        for turned in (small, small.T):
            for quarter in range(4):
                yield np.ascontiguousarray(np.rot90(turned, quarter))


def _gray(image: NDArray[Any]) -> FloatArray:
    pixels: FloatArray = np.asarray(image) / 255
    return pixels if pixels.ndim == 2 else pixels[..., :3] @ LUMINANCE


def _cropped(image: FloatArray, multiple: int) -> FloatArray:
    height, width = (side // multiple * multiple for side in image.shape)
    return image[:height, :width]
