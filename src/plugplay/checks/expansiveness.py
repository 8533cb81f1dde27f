r"""Appendix A: how far a denoiser can drive two images apart.

A denoiser is non-expansive if :math:`\kappa = \|D(x) - D(y)\|^2 / \|x - y\|^2 \le 1` for all pairs. One pair with
:math:`\kappa > 1` disproves it; a search that finds none proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plugplay.arrays.checks import FloatArray, frozen
from plugplay.checks import images
from plugplay.checks.probe import Probe

__all__ = ["Expansiveness", "expansiveness"]

SIGMAS = (0.03, 0.1, 0.3)
# The shortest distance ||x - y|| of a pair, absolutely and as an RMS relative to sigma: far above what rounding in
# single precision, or a solver that stops at a tolerance, does to D(x) - D(y).
SHORTEST = 0.05
SHORTEST_RMS = 0.05
# kappa from which on a pair counts, and up to which a solver's tolerance may still be the cause.
LIMIT, CLEAR = 1.001, 1.05


@dataclass(frozen=True, eq=False)
class Expansiveness:
    """The pair that the denoiser drives apart most.

    Attributes
    ----------
    kappa : float
        The largest ratio of squared distances.
    sigma : float
        The denoiser's strength for the pair.
    x, y : arrays
        The pair.
    denoised_x, denoised_y : arrays
        What the denoiser makes of it.
    tried : int
        Number of calls.
    """

    kappa: float
    sigma: float
    x: FloatArray
    y: FloatArray
    denoised_x: FloatArray
    denoised_y: FloatArray
    tried: int

    @property
    def expansive(self) -> bool:
        """Whether the pair is a counter-example to non-expansiveness."""
        return self.kappa > LIMIT

    def __str__(self) -> str:
        if self.expansive:
            doubt = "" if self.kappa > CLEAR else " (so little above 1 that a solver's tolerance may be the cause)"
            return f"expansive: a pair of images has kappa = {self.kappa:.4g} at sigma {self.sigma:g}{doubt}"
        return (
            f"no pair with kappa > 1 in {self.tried} calls; the largest is {self.kappa:.4g} at sigma {self.sigma:g} "
            "(which does not prove that there is none)"
        )


@dataclass(frozen=True)
class _Pair:
    kappa: float
    sigma: float
    x: FloatArray
    y: FloatArray
    dx: FloatArray
    dy: FloatArray


def expansiveness(probe: Probe, *, size: int, steps: int, rng: np.random.Generator) -> Expansiveness:
    """Search for a pair with a large kappa: many starts, and a climb of `steps` from the best of each sigma."""
    calls = probe.calls
    best: list[_Pair] = []
    for sigma in SIGMAS:
        pairs = [pair for x in _bases(size, sigma, rng) for pair in _starts(probe, x, sigma, rng)]
        # Two climbs from different places: the steepest start is not always on the highest hill.
        pairs.sort(key=lambda pair: -pair.kappa)
        best += [_climbed(probe, pair, steps // 2, rng) for pair in pairs[:2]]
    top = max(best, key=lambda pair: pair.kappa)
    x, y, dx, dy = (frozen(array) for array in (top.x, top.y, top.dx, top.dy))
    return Expansiveness(top.kappa, top.sigma, x, y, dx, dy, probe.calls - calls)


def _bases(size: int, sigma: float, rng: np.random.Generator) -> list[FloatArray]:
    photograph = images.natural(size)
    noise = rng.standard_normal((size, size))
    columns = np.indices((size, size))[1]
    step = np.where(columns < size // 2, -1.0, 1.0)
    bases = [
        photograph,
        photograph + sigma * noise,
        0.5 + 1.5 * sigma * step + 0.3 * sigma * noise,
        0.5 + 2.0 * sigma * noise,
        0.5 + 2.0 * sigma * np.sign(noise),
    ]
    return [np.clip(base, 0, 1) for base in bases]


def _starts(probe: Probe, x: FloatArray, sigma: float, rng: np.random.Generator) -> list[_Pair]:
    dx = probe(x, sigma)
    residual = x - dx
    scale = float(np.std(residual)) or sigma
    directions = [rng.standard_normal(x.shape), residual / scale, np.ones_like(x), x - x.mean()]
    pairs = [_paired(probe, x, dx, x + 0.3 * sigma * direction, sigma) for direction in directions]
    return [pair for pair in pairs if pair is not None]


def _paired(probe: Probe, x: FloatArray, dx: FloatArray, y: FloatArray, sigma: float) -> _Pair | None:
    """Return the pair, or None if the two are too close to mean anything."""
    y = np.clip(y, 0, 1)
    distance = float(np.sum((x - y) ** 2))
    if distance < max(SHORTEST**2, x.size * (SHORTEST_RMS * sigma) ** 2):
        return None
    dy = probe(y, sigma)
    return _Pair(float(np.sum((dx - dy) ** 2)) / distance, sigma, x, y, dx, dy)


def _climbed(probe: Probe, pair: _Pair, steps: int, rng: np.random.Generator) -> _Pair:
    for step in range(steps):
        other = _moved_pair(probe, pair, rng) if step % 4 == 3 else _turned_pair(probe, pair, rng, step)
        if other is not None and other.kappa > pair.kappa:
            pair = other
    return pair


def _turned_pair(probe: Probe, pair: _Pair, rng: np.random.Generator, step: int) -> _Pair | None:
    """Keep x and choose another y."""
    d, g = pair.y - pair.x, pair.dy - pair.dx
    length = np.linalg.norm(d)
    choice = step % 4
    if choice == 0 and np.any(g):  # as in a power iteration: the direction that came out goes in
        d = g * (length / np.linalg.norm(g))
    elif choice == 1:  # only where the distance grows
        gain = _smoothed(g**2 - d**2)
        d = d * (gain > np.quantile(gain, rng.uniform(0.3, 0.95)))
        d = d * rng.choice([1.0, 1.5, 0.7])
    else:
        noise = rng.standard_normal(d.shape)
        kept = np.zeros_like(d)
        part = images.blocks((d.shape[0], d.shape[1]), rng)
        kept[part] = noise[part]
        d = rng.choice([0.7, 1.0, 1.4]) * d + rng.choice([0.1, 0.3, 1.0]) * length * kept / np.linalg.norm(kept)
    return _paired(probe, pair.x, pair.dx, pair.x + d, pair.sigma)


def _moved_pair(probe: Probe, pair: _Pair, rng: np.random.Generator) -> _Pair | None:
    """Move both images together."""
    x, d = pair.x, pair.y - pair.x
    choice = rng.integers(4)
    if choice == 0:  # where y was
        x = pair.y
    elif choice == 1:  # back by half, so that the pair straddles x
        x = x - 0.5 * d
    elif choice == 2:
        x = x + rng.choice([-0.5, 0.5, 1.0]) * (x - pair.dx)
    else:
        part = images.blocks((d.shape[0], d.shape[1]), rng)
        x = x.copy()
        x[part] += pair.sigma * rng.choice([0.2, 0.5, 1.0]) * rng.standard_normal(x[part].shape)
    x = np.clip(x, 0, 1)
    return _paired(probe, x, probe(x, pair.sigma), x + d, pair.sigma)


def _smoothed(array: FloatArray) -> FloatArray:
    from scipy.ndimage import uniform_filter

    smooth: FloatArray = uniform_filter(array, 3, mode="nearest")
    return smooth
