"""How much better than BM3D a network is on photographs it never saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from plugplay.denoisers.net.facts import level_of
from plugplay.denoisers.net.module import Network, detail_of
from training.held_out import LEVELS, crops, gray, with_noise
from training.pilots import Pairs, pair

__all__ = ["held_out_pairs", "judge"]


def held_out_pairs(folder: Path, held_out: dict[str, NDArray[np.uint16]]) -> Pairs:
    """Return the middle of every held-out photograph, gray and colour, at every level; BM3D runs once."""
    file = folder / "pairs-held-out.npz"
    if not file.exists():
        cases = [(colour, level) for colour in (False, True) for level in LEVELS for _ in held_out]
        images = [image for _ in range(2 * len(LEVELS)) for image in crops(held_out)]
        found = []
        for (colour, level), image in zip(cases, images, strict=True):
            clean = image if colour else gray(image)
            found.append(pair(clean, with_noise(clean, level / 255), level / 255, restoration=False, workers=2))
        np.savez(
            file,
            allow_pickle=False,
            **{name: np.stack([planes[name] for planes in found]) for name in found[0]},
            sigma=np.array([level / 255 for _, level in cases], np.float32),
            colour=np.array([colour for colour, _ in cases]),
            restoration=np.zeros(len(cases), bool),
        )
    with np.load(file) as content:
        return Pairs(**content)


def judge(network: Network, pairs: Pairs) -> list[float]:
    """Return by how many decibels the mean PSNR is above BM3D's: gray at every level, then colour at every level."""
    gains = []
    for index, sigma in enumerate(pairs.sigma):
        pilot, rest, error = (
            torch.from_numpy(planes[index].astype(np.float32))[None]
            for planes in (pairs.pilot, pairs.rest, pairs.error)
        )
        facts = torch.tensor([float(pairs.colour[index]), float(pairs.restoration[index]), level_of(float(sigma))])
        with torch.no_grad():
            found = network(rest, detail_of(pilot) / float(sigma), facts.reshape(1, 3, 1, 1))
        channels = 3 if pairs.colour[index] else 1
        before, after = ((x[:, :channels].double() ** 2).mean() for x in (error, error - found))
        gains.append(float(10 * torch.log10(before / after)))
    cases: list[float] = np.reshape(gains, (2 * len(LEVELS), -1)).mean(axis=1).tolist()
    return cases
