"""How good a network is on photographs it never saw."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from plugplay.denoisers.net.module import Network
from plugplay.denoisers.net.opponent import from_opponent, to_opponent
from training.held_out import LEVELS, crops, gray, psnr, with_noise

__all__ = ["judge"]


def judge(network: Network, held_out: dict[str, NDArray[np.uint16]]) -> list[float]:
    """Return the mean PSNR on the crops: gray at every level, then colour at every level."""
    images = crops(held_out)
    return [
        float(np.mean([_score(network, image, level / 255, colour=colour) for image in images]))
        for colour in (False, True)
        for level in LEVELS
    ]


def _score(network: Network, image: NDArray[np.float32], sigma: float, *, colour: bool) -> float:
    clean = np.moveaxis(image, -1, 0) if colour else gray(image)[None]
    noisy = with_noise(clean, sigma)
    planes = np.zeros((3, *clean.shape[1:]), np.float32)
    planes[: len(clean)] = to_opponent(noisy - np.float32(0.5)) if colour else noisy - np.float32(0.5)
    switches = torch.tensor([1.0, float(colour)])[None, :, None, None]
    with torch.no_grad():
        noise = sigma * network(torch.from_numpy(planes / np.float32(sigma))[None], switches)[0].numpy()
    return psnr(noisy - (from_opponent(noise) if colour else noise[:1]), clean)
