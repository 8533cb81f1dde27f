"""How good a network is on photographs it never saw."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from plugplay.denoisers.net.module import Network
from plugplay.denoisers.net.opponent import from_opponent, to_opponent

__all__ = ["LEVELS", "crops", "gray", "judge", "psnr"]

LEVELS = (15, 25, 50)
CROP = 256


def gray(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the luma of ``(H, W, 3)``."""
    return image @ np.array([0.299, 0.587, 0.114], np.float32)


def crops(held_out: dict[str, NDArray[np.uint16]]) -> list[NDArray[np.float32]]:
    """Return the middle of every held-out photograph, ``(256, 256, 3)`` on [0, 1]."""
    found = []
    for _, image in sorted(held_out.items()):
        top, left = ((side - CROP) // 2 for side in image.shape[:2])
        found.append(image[top : top + CROP, left : left + CROP].astype(np.float32) / np.float32(65535))
    return found


def psnr(found: NDArray[np.float32], clean: NDArray[np.float32]) -> float:
    """Return the peak signal-to-noise ratio in dB."""
    return float(-10 * np.log10(np.mean((found.astype(np.float64) - clean) ** 2)))


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
    noisy = clean + np.float32(sigma) * np.random.default_rng(0).standard_normal(clean.shape, np.float32)
    planes = np.zeros((3, *clean.shape[1:]), np.float32)
    planes[: len(clean)] = to_opponent(noisy - np.float32(0.5)) if colour else noisy - np.float32(0.5)
    switches = torch.tensor([1.0, float(colour)])[None, :, None, None]
    with torch.no_grad():
        noise = sigma * network(torch.from_numpy(planes / np.float32(sigma))[None], switches)[0].numpy()
    return psnr(noisy - (from_opponent(noise) if colour else noise[:1]), clean)
