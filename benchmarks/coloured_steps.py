"""Whether the denoiser gains by knowing the colour of what the deblurring step leaves.

    python benchmarks/coloured_steps.py [--images NAME ...] [--kernels NAME ...] [--noise N ...] [--size N]

The noise in x has the spectrum ``s² |H|² / (|H|² + rho)²``, which changes with rho in each iteration. Three loops are
compared, all with the same schedule of sigma, circular boundaries and the true noise, each with the best of its sweep:

* white: BM3D is told ``sigma² = lambda / rho``, as everywhere; lambda is swept;
* shaped: it is told that the noise of this sigma has that spectrum; lambda is swept;
* exact: it is told that spectrum with its own level ``s² mean(|H|² / (|H|² + rho)²)``, times a factor that is swept.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from degradations import KERNELS, taps
from numpy.typing import NDArray
from photographs import crop

import plugplay as pp
from plugplay.denoisers.bm3d import BM3D

Array = NDArray[Any]

LAMBDAS = (0.16, 0.25, 0.38, 0.55, 0.8, 1.2)
FACTORS = (1.0, 2.0, 2.8, 4.0)
FIRST_SIGMA, GAMMA, ITERATIONS = 0.2, 1.33, 24
RESTORATION = BM3D(purpose="restoration", workers=1)


@dataclass(frozen=True)
class Coloured:
    """BM3D that is told the spectrum of the noise in x; without `factor`, sigma is left as it is."""

    power: Array
    noise: float
    lam: float
    factor: float | None = None

    def __call__(self, image: Array, sigma: float) -> Array:
        """Denoise the image of one iteration."""
        spectrum = self.power / np.square(self.power + self.lam / sigma**2)
        level = sigma if self.factor is None else self.factor * self.noise * float(np.sqrt(spectrum.mean()))
        return np.asarray(replace(RESTORATION, noise_spectrum=spectrum / spectrum.mean())(image, level))


def measured(name: str, kernel: str, noise: float, size: int) -> dict[str, tuple[float, float]]:
    """Return the best PSNR of each loop, and the value at which it was found."""
    scene = crop(name, size)
    x = scene if scene.ndim == 2 else scene.mean(axis=-1)
    model = pp.models.Deblurring(taps(kernel))
    y = model.simulate(x, noise=noise, rng=0)
    power = np.square(np.abs(np.asarray(model.traits(y).spectrum)))

    def score(denoiser: Callable[[Array, float], Array], lam: float) -> float:
        schedule = pp.Monotone(lam / FIRST_SIGMA**2, GAMMA)
        result = pp.pnp_admm(model.data_term(y), denoiser, schedule=schedule, lam=lam, max_iter=ITERATIONS, tol=2e-3)
        return pp.psnr(result.image, x)

    variance = noise**2
    white = [(score(RESTORATION.__call__, ratio * variance), ratio) for ratio in LAMBDAS]
    shaped = [(score(Coloured(power, noise, ratio * variance), ratio * variance), ratio) for ratio in LAMBDAS]
    lam = max(white)[1] * variance
    exact = [(score(Coloured(power, noise, lam, factor), lam), factor) for factor in FACTORS]
    return {"input": (pp.psnr(y, x), 0.0), "white": max(white), "shaped": max(shaped), "exact": max(exact)}


def main() -> None:
    """Print a line for each case, and means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", nargs="+", default=["camera", "brick"])
    parser.add_argument("--kernels", nargs="+", default=["gaussian 1.6", "motion 9", "disk 5"], choices=tuple(KERNELS))
    parser.add_argument("--noise", nargs="+", type=float, default=[2.0, 10.0], help="standard deviations, times 255")
    parser.add_argument("--size", type=int, default=112)
    options = parser.parse_args()
    gains = []
    for name in options.images:
        for kernel in options.kernels:
            for noise in options.noise:
                found = measured(name, kernel, noise / 255, options.size)
                gains.append([found[way][0] - found["white"][0] for way in ("shaped", "exact")])
                cells = "  ".join(f"{way} {psnr:5.2f} ({at:g})" for way, (psnr, at) in found.items())
                print(f"{name:10} {kernel:12} {noise:4g}  {cells}", flush=True)
    print("against white: shaped {:+.2f} dB, exact {:+.2f} dB".format(*np.mean(gains, axis=0)))


if __name__ == "__main__":
    main()
