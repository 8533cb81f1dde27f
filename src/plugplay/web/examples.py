"""Three example images for the page, made from photographs that are part of scikit-image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["EXAMPLES", "Example"]

# role -> array to be stored
Arrays = dict[str, "NDArray[Any]"]


@dataclass(frozen=True)
class Example:
    """An image with a known history.

    Attributes
    ----------
    name, title, text : str
        In addresses, on the button, and below it.
    names : dict
        The files by role, as users see them.
    task : dict
        The task that restores it, as `Task.parse` takes it.
    make : callable
        Returns the arrays of the files, by role.
    """

    name: str
    title: str
    text: str
    names: dict[str, str]
    task: dict[str, Any]
    make: Callable[[], Arrays]

    def write(self, targets: dict[str, Path]) -> None:
        """Write the files."""
        from plugplay import io

        for role, array in self.make().items():
            if targets[role].suffix == ".npy":
                np.save(targets[role], array)
            else:
                io.write(targets[role], io.ImageFile.of(array, colour=array.ndim == 3))


def _noisy() -> Arrays:
    from skimage import data

    truth = data.astronaut()[0:320, 90:410]
    noise = np.random.default_rng(1).normal(0, 25, truth.shape)
    return {"image": np.clip(np.rint(truth + noise), 0, 255).astype(np.uint8), "reference": truth}


def _shaken() -> Arrays:
    from skimage import data

    import plugplay as pp

    photograph = data.camera()[20:372, 80:432] / 255
    camera = pp.models.Deblurring(pp.kernels.motion(15, 30), boundary="unknown")
    blurred = camera.simulate(photograph, noise=3 / 255, rng=1)
    top, left = ((whole - part) // 2 for whole, part in zip(photograph.shape, blurred.shape, strict=True))
    truth = photograph[top : top + blurred.shape[0], left : left + blurred.shape[1]]
    return {"image": _sixteen_bits(blurred), "reference": _sixteen_bits(truth)}


def _photons() -> Arrays:
    from skimage import data
    from skimage.transform import resize

    import plugplay as pp

    truth = resize(data.coffee()[60:380, 120:440].mean(axis=-1) / 255, (160, 160), anti_aliasing=True)
    bits = pp.models.SinglePhoton(4, frames=2).simulate(truth, rng=1)
    return {"image": bits, "reference": _sixteen_bits(truth)}


def _sixteen_bits(image: NDArray[Any]) -> NDArray[np.uint16]:
    deep: NDArray[np.uint16] = np.rint(np.clip(image, 0, 1) * 65535).astype(np.uint16)
    return deep


EXAMPLES = (
    Example(
        "noise",
        "Noisy portrait",
        "Colour, 8 bits, taken in the dark",
        {"image": "portrait.png", "reference": "portrait-true.png"},
        {"kind": "denoise"},
        _noisy,
    ),
    Example(
        "motion",
        "Shaken camera",
        "Gray, 16 bits, blurred by motion",
        {"image": "shaken.tif", "reference": "shaken-true.tif"},
        {"kind": "deblur", "kernel": "motion:15,30"},
        _shaken,
    ),
    Example(
        "photons",
        "Single photons",
        "Two frames of ones and zeros",
        {"image": "photons.npy", "reference": "photons-true.png"},
        {"kind": "photon", "photon": {"oversampling": 4}},
        _photons,
    ),
)
