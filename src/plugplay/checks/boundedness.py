r"""Definition 1: a denoiser is bounded if :math:`\|D_\sigma(x) - x\|^2 / n \le C \sigma^2` for all x and sigma.

No experiment proves it. What can be done is to look for large values of
:math:`c = \|D_\sigma(x) - x\|^2 / (n \sigma^2)` and to watch the largest one as sigma falls: it stays below C if the
denoiser is bounded, and grows like :math:`1/\sigma^2` if the denoiser does not tend to the identity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from plugplay.arrays.checks import FloatArray, frozen
from plugplay.checks import images
from plugplay.checks.probe import DenoiserFailedError, Probe, mean_square

__all__ = ["Boundedness", "boundedness"]

SIGMAS = (1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4)
# The part of SIGMAS on which the trend is judged.
SMALL_SIGMA = 1e-2
# Between 0 (bounded) and -2 (does not tend to the identity): the exponent of sigma from which on c is said to grow.
GROWTH = -0.5
# RMS change that single precision can cause by itself.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Boundedness:
    """What the search found.

    Attributes
    ----------
    bounded : bool
        Whether the largest value stays bounded, on all that was tried, as sigma falls.
    constant : float
        The largest c that was found: a lower bound of C. For an unbounded denoiser, that of the counter-example.
    sigmas, constants : tuple of float
        The largest c for each sigma.
    exponent : float
        p in c ~ sigma^p for the smallest sigmas: 0 for a bounded denoiser, -2 for one that does not tend to the
        identity.
    tends_to_identity : bool
        Whether the largest RMS change tends to 0 with sigma.
    identity_at_zero : bool
        Whether sigma = 0 returns the image.
    image : array
        The image with the largest c, at `sigma`; the counter-example if the denoiser is not bounded.
    sigma : float
        See `image`.
    kind : str
        What the image is.
    tried : int
        Number of calls.
    """

    bounded: bool
    constant: float
    sigmas: tuple[float, ...]
    constants: tuple[float, ...]
    exponent: float
    tends_to_identity: bool
    identity_at_zero: bool
    image: FloatArray
    sigma: float
    kind: str
    tried: int

    @property
    def moves(self) -> tuple[float, ...]:
        """The largest RMS change ``||D(x) - x|| / sqrt(n)`` for each sigma."""
        return tuple(sigma * math.sqrt(c) for sigma, c in zip(self.sigmas, self.constants, strict=True))

    def __str__(self) -> str:
        where = f"found on {self.kind} at sigma {self.sigma:g}"
        limit = f"the largest change at sigma {self.sigmas[-1]:g} is {self.moves[-1]:.2g} RMS"
        zero = "" if self.identity_at_zero else "; sigma = 0 does not return the image"
        if self.bounded:
            identity = "it tends to the identity" if self.tends_to_identity else "no identity limit"
            return f"bounded in all tests, C about {self.constant:.3g} ({where}); {identity}: {limit}{zero}"
        return (
            f"not bounded: c grows like sigma^{self.exponent:.2g} as sigma falls and reaches {self.constant:.3g} "
            f"({where}); {limit}{zero}"
        )


@dataclass(frozen=True)
class _Found:
    c: float
    kind: str
    image: FloatArray
    output: FloatArray


def boundedness(probe: Probe, *, size: int, steps: int, rng: np.random.Generator) -> Boundedness:
    """Search for inputs that the denoiser changes much, sigma by sigma, each search starting from the last."""
    calls = probe.calls
    worst: list[_Found] = []
    for index, sigma in enumerate(SIGMAS):
        starts = list(images.tried(size, sigma, rng))
        if worst:
            before, ratio = worst[-1], sigma / SIGMAS[index - 1]
            starts.append((before.kind, before.image))
            starts.append((before.kind, 0.5 + ratio * (before.image - 0.5)))
        found = max((_measured(probe, image, sigma, kind) for kind, image in starts), key=lambda found: found.c)
        worst.append(_climbed(probe, found, sigma, steps, rng))
    constants = np.array([found.c for found in worst])
    exponent = _exponent(np.array(SIGMAS), constants)
    small = np.array(SIGMAS) < SMALL_SIGMA
    move = SIGMAS[-1] * math.sqrt(constants[-1])
    grows = exponent < GROWTH and constants[-1] > 2 * constants[~small].max() and move > ROUNDING
    top = len(SIGMAS) - 1 if grows else int(constants.argmax())
    return Boundedness(
        bounded=not grows,
        constant=float(constants[top]),
        sigmas=SIGMAS,
        constants=tuple(map(float, constants)),
        exponent=exponent,
        # c ~ sigma^p makes the change proportional to sigma^(1 + p/2), which tends to 0 for p > -2.
        tends_to_identity=move <= ROUNDING or exponent > -1.5,
        identity_at_zero=_is_identity_at_zero(probe, size, rng),
        image=frozen(worst[top].image),
        sigma=SIGMAS[top],
        kind=worst[top].kind,
        tried=probe.calls - calls,
    )


def _measured(probe: Probe, image: FloatArray, sigma: float, kind: str) -> _Found:
    output = probe(image, sigma)
    return _Found(mean_square(output - image) / sigma**2, kind, image, output)


def _climbed(probe: Probe, found: _Found, sigma: float, steps: int, rng: np.random.Generator) -> _Found:
    """Change the image at random, keep what increases c."""
    kind = found.kind
    for _ in range(steps):
        changed = np.clip(_neighbour(found, sigma, rng), 0, 1)
        other = _measured(probe, changed, sigma, kind if "searched" in kind else f"an image searched from {kind}")
        if other.c > found.c:
            found, kind = other, other.kind
    return found


def _neighbour(found: _Found, sigma: float, rng: np.random.Generator) -> FloatArray:
    image, shape = found.image, found.image.shape
    choice = rng.integers(5)
    if choice == 0:  # away from what the denoiser makes of it
        return image + float(rng.choice([0.5, 1.0, 3.0])) * (image - found.output)
    if choice == 1:  # more or less contrast
        return 0.5 + float(rng.choice([0.5, 0.8, 1.25, 2.0])) * (image - 0.5)
    amplitude = sigma * 10 ** rng.uniform(-0.5, 1.5)
    if choice == 2:
        return image + amplitude * rng.standard_normal(shape)
    changed = image.copy()
    part = images.blocks((shape[0], shape[1]), rng)
    if choice == 3:
        changed[part] = 1 - changed[part]
    else:
        changed[part] += amplitude * rng.choice([-1.0, 1.0], size=changed[part].shape)
    return changed


def _exponent(sigmas: FloatArray, constants: FloatArray) -> float:
    """Fit p in c ~ sigma^p to the smallest sigmas."""
    part = (sigmas <= SMALL_SIGMA) & (constants > 0)
    if np.count_nonzero(part) < 2:
        return 0.0
    return float(np.polyfit(np.log(sigmas[part]), np.log(constants[part]), 1)[0])


def _is_identity_at_zero(probe: Probe, size: int, rng: np.random.Generator) -> bool:
    image = rng.random((size, size))
    try:
        return math.sqrt(mean_square(probe(image, 0.0) - image)) <= ROUNDING
    except DenoiserFailedError:  # reported by the conformance part
        return False
