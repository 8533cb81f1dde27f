"""Sample data: degraded images, with what is needed to restore them."""

from __future__ import annotations

from typing import Any

import numpy as np
from skimage import data

import plugplay as pp

__all__ = ["cells", "photograph", "scratched"]

LayerData = tuple[Any, dict[str, Any], str]


def photograph() -> list[LayerData]:
    """Return a colour photograph out of focus; ``disk`` with radius 3 restores it."""
    # The scene is larger than the frame, as it is behind every camera.
    scene = data.coffee()[92:364, 142:414] / 255
    blurred = pp.models.Deblurring(pp.kernels.disk(3)).simulate(scene, noise=2 / 255, rng=0)[8:-8, 8:-8]
    stored = np.rint(255 * np.clip(blurred, 0, 1)).astype(np.uint8)
    return [(stored, {"name": "out of focus", "rgb": True}, "image")]


def cells() -> list[LayerData]:
    """Return 16-bit counts of simulated cells, and the PSF as a second layer."""
    rng = np.random.default_rng(3)
    rows, columns = np.indices((192, 192)).astype(np.float64)
    bright = np.zeros(rows.shape)
    for r, c, s in zip(rng.uniform(15, 177, 16), rng.uniform(15, 177, 16), rng.uniform(5, 9, 16), strict=True):
        bright = np.maximum(bright, 60 / (1 + np.exp(np.hypot(rows - r, columns - c) - s)))
    for k in range(6):
        bright += 45 * np.exp(-((rows - 25 - 28 * k - 12 * np.sin(columns / 17 + k)) ** 2) / 2.5)
    psf = pp.kernels.gaussian(13, sigma=2.0)
    mean = np.maximum(pp.models.Deblurring(psf).forward(bright), 0)
    counts = np.rint((100 + rng.poisson(mean) + rng.normal(0, 1.5, mean.shape)).clip(0)).astype(np.uint16)
    return [
        (counts, {"name": "cells", "colormap": "magma"}, "image"),
        (psf, {"name": "psf", "visible": False}, "image"),
    ]


def scratched() -> list[LayerData]:
    """Return a photograph with a scratch, and the labels that mark it."""
    image = data.camera()[60:252, 150:342]
    rows, columns = np.indices(image.shape)
    scratch = np.abs(rows - 0.7 * columns - 30 - 10 * np.sin(columns / 14)) < 2.5
    return [
        (np.where(scratch, 255, image).astype(np.uint8), {"name": "scratched"}, "image"),
        (scratch.astype(np.uint8), {"name": "scratch"}, "labels"),
    ]
