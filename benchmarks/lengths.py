"""What it costs to know beforehand how long a run is.

    python benchmarks/lengths.py                                     18 images, ten minutes with one thread
    python benchmarks/lengths.py --images camera moon --size 128 --denoiser tv

Automatic runs have a planned number of iterations (`plugplay.tuning.length`). Every problem is restored far beyond it,
with the true image at hand. Printed are, for each kind of problem and for the images on which the rule was found and
those that only check it: the mean number of iterations of runs that end where the change per iteration reaches the
tolerance, and of those with the planned length; the mean, least and largest change of PSNR by that, and how many runs
lost and gained more than 0.05 dB; and how often the iterations left are foretold within 30 % or one iteration, from the
fourth iteration on, for both ends.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from holes import masks
from numpy.typing import NDArray
from photographs import SOURCES, available, crop

import plugplay as pp
from plugplay.pnp.forecast import iterations_left, last_ratio
from plugplay.pnp.results import Parameters
from plugplay.pnp.state import History
from plugplay.tuning.length import SLACK

# Of PSNR, in dB.
NOTICEABLE = 0.05
FIRST, MAX_ERROR = 4, 0.3


@dataclass(frozen=True)
class Problem:
    """What happens to an image, and what is assumed; the noise is that of 8-bit images."""

    kind: str
    happens: pp.models.Model
    assumed: pp.models.Model
    noise: float


@dataclass(frozen=True)
class Run:
    """What was found for an image and a problem: lengths, PSNR, and whether forecasts were right."""

    by_tolerance: int
    planned: int
    change: float
    right: tuple[bool, ...]
    right_by_tolerance: tuple[bool, ...]


def problems(size: int) -> Iterator[Problem]:
    """Yield all problems for images of this size, which 12 divides."""
    for kernel, levels in ((pp.kernels.motion(15, 30), (1, 3, 8)), (pp.kernels.gaussian(15, sigma=2.0), (2, 6))):
        happens, assumed = pp.models.Deblurring(kernel), pp.models.Deblurring(kernel, boundary="unknown")
        yield from (Problem("deblurring", happens, assumed, noise) for noise in levels)
    for factor in (2, 3, 4):
        happens = pp.models.SuperResolution(factor)
        assumed = pp.models.SuperResolution(factor, boundary="reflect")
        yield from (Problem("super-resolution", happens, assumed, noise) for noise in (0, 3, 8))
    holes = masks(size)
    for name, noise in (
        ("text", 0),
        ("scratches", 0),
        ("objects", 0),
        ("half observed", 0),
        ("half observed", 5),
        ("a fifth observed", 0),
    ):
        model = pp.models.Inpainting(holes[name])
        yield Problem("holes", model, model, noise)


def run_of(clean: NDArray[np.float32], problem: Problem, denoiser: str) -> Run:
    """Restore a degraded image far beyond its planned length, and compare."""
    y = problem.happens.simulate(clean, noise=problem.noise / 255, rng=0)
    options = {"channel_axis": -1 if clean.ndim == 3 else None, "denoiser": denoiser, "workers": 1}
    chosen = pp.prepare(y, problem.assumed, **options).parameters
    course = pp.restore(y, problem.assumed, reference=clean, tol=0.0, **options).history
    by_tolerance = _end(course, chosen.tol / SLACK, 1)
    planned = _end(course, chosen.tol, chosen.min_iter)
    return Run(
        by_tolerance,
        planned,
        float(course.psnr[planned - 1] - course.psnr[by_tolerance - 1]),
        _right(course, planned, chosen, chosen.tol, chosen.min_iter),
        _right(course, by_tolerance, chosen, chosen.tol / SLACK, 0),
    )


def _end(course: History, tol: float, first: int) -> int:
    settled = np.flatnonzero(course.delta[first - 1 :] <= tol)
    return first + int(settled[0]) if settled.size else len(course)


def _right(course: History, length: int, used: Parameters, tol: float, min_iter: int) -> tuple[bool, ...]:
    """Tell for each iteration from the fourth on whether those that were left were foretold."""
    found = []
    for done in range(FIRST, length):
        delta, sigma = course.delta[:done].tolist(), course.sigma[:done].tolist()
        ratio = last_ratio(course)
        left = iterations_left(delta, sigma, tol=tol, max_iter=used.max_iter, min_iter=min_iter, ratio=ratio)
        found.append(abs(left - (length - done)) <= max(MAX_ERROR * (length - done), 1))
    return tuple(found)


def main() -> None:
    """Restore, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=156, help="of the crops; 12 must divide it")
    parser.add_argument("--images", nargs="+", choices=tuple(SOURCES), default=None)
    parser.add_argument("--denoiser", default="bm3d")
    options = parser.parse_args()
    found: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for name in options.images or available():
        clean = crop(name, options.size).astype(np.float32)
        role = "found on" if SOURCES[name].found_on else "check"
        for problem in problems(options.size):
            found[problem.kind, role].append(run_of(clean, problem, options.denoiser))
        print(f"{name} done", flush=True)
    for (kind, role), runs in sorted(found.items()):
        print(f"{kind:17s} {role:9s} {len(runs):3d} {_row(runs)}")


def _row(runs: list[Run]) -> str:
    change = np.array([run.change for run in runs])
    before, after = (np.mean([getattr(run, name) for run in runs]) for name in ("by_tolerance", "planned"))
    right = 100 * np.mean(np.concatenate([run.right for run in runs]))
    old = 100 * np.mean(np.concatenate([run.right_by_tolerance for run in runs]))
    return (
        f"iterations {before:5.2f} -> {after:5.2f}; PSNR {change.mean():+.3f} ({change.min():+.2f} to "
        f"{change.max():+.2f}), {np.sum(change < -NOTICEABLE)} lost, {np.sum(change > NOTICEABLE)} gained; "
        f"foretold {old:.1f} -> {right:.1f} %"
    )


if __name__ == "__main__":
    main()
