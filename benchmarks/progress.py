"""How well a run tells how long it will still take.

    python benchmarks/progress.py                                    five restorations of half a megapixel
    python benchmarks/progress.py --megapixels 3 --tasks deblur
    python benchmarks/progress.py --cpu                              on a machine that does other things as well

After every iteration the time that is said to be left (`plugplay.pnp.forecast`, which the command line shows) is
compared with the time that was. Printed are the least and the largest ratio of the two from the fourth iteration on, as
long as more than ``--until`` seconds are left. What others take from the processor is not foreseen: run it on a machine
that does nothing else, or with ``--cpu``, which counts the processor's seconds and takes one thread. The exit code is 1
if a forecast is off by more than 30 %.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
import skimage.data
from numpy.typing import NDArray

import plugplay as pp
from plugplay.pnp.forecast import seconds_left
from plugplay.pnp.state import State

TASKS = ("deblur", "deblur wide", "upscale", "upscale exact", "inpaint")
COLOURS = ("gray", "colour")
NOISE = 3 / 255
# Forecasts begin after so many iterations, and may be off by so much.
FIRST, MAX_ERROR = 4, 0.3


@dataclass(frozen=True)
class Forecast:
    """What was said after an iteration, and when; both in seconds."""

    iteration: int
    left: float
    at: float


def main() -> int:
    """Restore, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megapixels", type=float, default=0.5, help="size of the results")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--colours", nargs="+", choices=COLOURS, default=COLOURS)
    parser.add_argument("--until", type=float, default=1.0, help="seconds before the end that no longer count")
    parser.add_argument("--cpu", action="store_true", help="count the processor's seconds, with one thread")
    parser.add_argument("--others", action="store_true", help="moon and coffee instead of camera and astronaut")
    parser.add_argument("--details", action="store_true", help="print every forecast")
    options = parser.parse_args()
    worst = 0.0
    print(f"{'':21s} {'seconds':>8s} {'iterations':>10s} {'compared':>8s} {'told / true':>14s}")
    for task in options.tasks:
        for colour in options.colours:
            clean = image(options.megapixels, colour == "colour", options.others)
            seconds, told = forecasts(task, clean, options.cpu)
            compared = [one for one in told if one.iteration >= FIRST and seconds - one.at > options.until]
            ratios = [one.left / (seconds - one.at) for one in compared]
            worst = max([worst, *(abs(ratio - 1) for ratio in ratios)])
            span = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-"
            count = told[-1].iteration if told else 0
            print(f"{task:14s} {colour:6s} {seconds:8.1f} {count:10d} {len(ratios):8d} {span:>14s}", flush=True)
            for one in told if options.details else ():
                print(f"    {one.iteration:3d} {one.left:8.2f} told, {seconds - one.at:8.2f} true")
    print(f"off by {100 * worst:.0f} % at most")
    return int(worst > MAX_ERROR)


def image(megapixels: float, colour: bool, other: bool = False) -> NDArray[np.float32]:
    """Return a photograph of about this size, on [0, 1]."""
    names = ("moon", "coffee") if other else ("camera", "astronaut")
    source = getattr(skimage.data, names[colour])()
    side = 4 * round((megapixels * 1e6) ** 0.5 / 4)
    widths = [(0, max(0, side - n)) for n in source.shape[:2]] + [(0, 0)] * (source.ndim - 2)
    return np.pad(source, widths, mode="symmetric")[:side, :side].astype(np.float32) / np.float32(255)


def forecasts(task: str, clean: NDArray[np.float32], cpu: bool) -> tuple[float, list[Forecast]]:
    """Degrade an image and restore it; return how long that took, and what was told on the way."""
    restored(task, clean[:96, :96], [], cpu)  # compiles
    told: list[Forecast] = []
    return restored(task, clean, told, cpu), told


def restored(task: str, clean: NDArray[np.float32], told: list[Forecast], cpu: bool) -> float:
    """Degrade an image, restore it, and return how many seconds that took; `told` gets the forecasts."""
    clock = time.process_time if cpu else time.perf_counter
    rng = np.random.default_rng(0)
    happened, assumed = posed(task, clean, rng)
    y = happened.simulate(clean, noise=0.0 if task in ("upscale exact", "inpaint") else NOISE, rng=rng)
    plan = pp.prepare(y, assumed, channel_axis=-1 if clean.ndim == 3 else None, workers=1 if cpu else None)
    began = clock()
    ends = [began]

    def watch(state: State) -> None:
        ends.append(clock())
        if cpu:  # the history has the seconds on the wall
            state = replace(state, history=replace(state.history, seconds=np.diff(ends)[-len(state.history) :]))
        told.append(Forecast(state.iteration, seconds_left(state, plan.parameters), ends[-1] - began))

    plan.run(callback=watch)
    return clock() - began


def posed(task: str, clean: NDArray[np.float32], rng: np.random.Generator) -> tuple[pp.models.Model, pp.models.Model]:
    """Return what happens to the image, and what the one-call functions would assume."""
    if task == "inpaint":
        holes = pp.models.Inpainting(rng.random(clean.shape[:2]) < 0.5)
        return holes, holes
    if task.startswith("upscale"):
        return pp.models.SuperResolution(2), pp.models.SuperResolution(2, boundary="reflect")
    kernel = pp.kernels.motion(31 if task == "deblur wide" else 15, 30)
    return pp.models.Deblurring(kernel), pp.models.Deblurring(kernel, boundary="unknown")


if __name__ == "__main__":
    raise SystemExit(main())
