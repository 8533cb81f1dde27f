"""Plug-and-Play with every built-in denoiser on five problems: the PSNR of the start and of the result.

Run with ``python benchmarks/plug_and_play.py [--json FILE] [NAME ...]``. Lambda and the schedule are fixed for each
problem, the same for all denoisers, with one exception: for the bilateral filter a missing pixel that was filled in
wrongly looks like an edge, to be kept, so that its inpainting has to start gently and gains little.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skimage import data

import plugplay as pp
from plugplay.models.base import Model
from plugplay.pnp.schedules import Schedule

CLASSICAL = ("bm3d", "tv", "nlm", "dsg-nlm", "wavelet", "recursive", "bilateral", "median", "gaussian")
NOISE = 5 / 255
GENTLE = pp.Monotone(rho0=0.2, gamma=1.15)


@dataclass(frozen=True)
class Problem:
    """A model with an observation, and the parameters that suit it."""

    name: str
    model: Model
    observe: Callable[[Model, NDArray[np.float64]], NDArray[np.generic]]
    lam: float
    schedule: Schedule
    gentle: Schedule | None = None

    def schedule_for(self, denoiser: str) -> Schedule:
        """Return the schedule for this denoiser."""
        return self.gentle if self.gentle is not None and denoiser == "bilateral" else self.schedule


def with_noise(model: Model, clean: NDArray[np.float64]) -> NDArray[np.generic]:
    """Observe with Gaussian noise of 5/255."""
    return model.simulate(clean, noise=NOISE, rng=0)


def with_photons(model: Model, clean: NDArray[np.float64]) -> NDArray[np.generic]:
    """Observe single photons, which are noise enough."""
    return model.simulate(clean, rng=0)


def problems(shape: tuple[int, int]) -> list[Problem]:
    """Return the five problems for an image of this shape."""
    draws = np.random.default_rng(1).random(shape)
    return [
        Problem(
            "deblurring",
            pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.6)),
            with_noise,
            lam=1e-4,
            schedule=pp.Monotone(rho0=0.05, gamma=1.15),
        ),
        Problem(
            "inpainting 50 %",
            pp.models.Inpainting(draws >= 0.5),
            with_noise,
            lam=2e-4,
            schedule=pp.Monotone(rho0=0.01, gamma=1.15),
            gentle=GENTLE,
        ),
        Problem(
            "inpainting 80 %",
            pp.models.Inpainting(draws >= 0.8),
            with_noise,
            lam=1e-4,
            schedule=pp.Monotone(rho0=0.01, gamma=1.15),
            gentle=GENTLE,
        ),
        Problem(
            "super-resolution x2",
            pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0)),
            with_noise,
            lam=1e-4,
            schedule=pp.Monotone(rho0=0.05, gamma=1.15),
        ),
        Problem(
            "single photon K=4",
            pp.models.SinglePhoton(4),
            with_photons,
            lam=0.5,
            schedule=pp.Monotone(rho0=2.0, gamma=1.15),
        ),
    ]


def main() -> None:
    """Print the table and write the JSON; say so if a cell does not improve over its start."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CLASSICAL))
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--size", type=int, default=256, help="rows and columns of the image, a crop of camera")
    parser.add_argument("--iterations", type=int, default=50)
    arguments = parser.parse_args()

    crop = slice(128, 128 + arguments.size)
    clean = data.camera()[crop, crop].astype(np.float32) / 255
    print(
        f"plugplay {pp.__version__}; camera, {clean.shape[0]} x {clean.shape[1]}, at most {arguments.iterations} steps"
    )
    print(f"PSNR in dB; noise {255 * NOISE:.0f}/255, photons: one frame of 4 x 4 jots per pixel\n")
    print(f"{'problem':20}{'start':>8}" + "".join(f"{name:>11}" for name in arguments.names) + f"{'seconds':>9}")
    rows, worse = [], []
    for problem in problems(clean.shape):
        term = problem.model.data_term(problem.observe(problem.model, clean))
        start = pp.psnr(term.start(), clean)
        began, quality = time.perf_counter(), {}
        for name in arguments.names:
            result = pp.pnp_admm(
                term,
                pp.denoisers.get(name),
                schedule=problem.schedule_for(name),
                lam=problem.lam,
                max_iter=arguments.iterations,
            )
            quality[name] = pp.psnr(result.image, clean)
            if quality[name] <= start:
                worse.append(f"{problem.name} with {name}")
        seconds = time.perf_counter() - began
        rows.append({"problem": problem.name, "start": start, "psnr": quality, "seconds": seconds})
        figures = "".join(f"{value:11.2f}" for value in quality.values())
        print(f"{problem.name:20}{start:8.2f}{figures}{seconds:9.1f}", flush=True)
    print("\nevery result is better than its start" if not worse else f"\nnot better: {', '.join(worse)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
