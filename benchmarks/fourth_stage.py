"""What the fourth stage of BM3D gains in each kind of restoration, with default parameters, and what it takes.

    python benchmarks/fourth_stage.py [--images NAME ...] [--size N] [--tasks TASK ...]

Every problem is restored with `plugplay`'s default and with the same BM3D without that stage (``local_below=0``). Noise
is unknown. By default the images are those that the filters were not learned on. Printed are the mean, the least and
the largest difference in dB, and the ratio of processor times on one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from photographs import SOURCES, crop

import plugplay as pp

Array = NDArray[np.float64]
# Not in training.photographs.
UNLEARNED = ("camera", "astronaut", "coffee", "chelsea", "coins", "moon", "motorcycle")
GRAY = (0.299, 0.587, 0.114)
DEBLURRINGS = {
    "motion 15": pp.kernels.motion(15, 30),
    "box 9": pp.kernels.box(9),
    "Gaussian 1.6": pp.kernels.gaussian(13, sigma=1.6),
}


def cases(x: Array) -> Iterator[tuple[str, pp.models.Model, Array]]:
    """Yield what an image is restored from."""
    for level in (5, 15, 25, 50):
        yield f"denoise, noise {level}", pp.models.Denoising(), _noisy(pp.models.Denoising(), x, level)
    for (name, kernel), level in ((pair, level) for pair in DEBLURRINGS.items() for level in (2, 8)):
        happened = pp.models.Deblurring(kernel)
        yield f"deblur, {name}, noise {level}", happened, _noisy(happened, x, level)
    for share, level in ((0.5, 0), (0.2, 0), (0.5, 5)):
        holes = pp.models.Inpainting(np.random.default_rng(1).random(x.shape[:2]) < share)
        yield f"inpaint, {share:.0%} observed, noise {level}", holes, _noisy(holes, x, level)
    for factor, level in ((2, 0), (4, 0), (2, 5), (4, 5)):
        camera = pp.models.SuperResolution(factor)
        yield f"upscale by {factor}, noise {level}", camera, _noisy(camera, x, level)


def _noisy(model: pp.models.Model, x: Array, level: float) -> Array:
    return model.simulate(x, noise=level / 255, rng=0)


def restored(y: Array, model: pp.models.Model, denoiser: pp.denoisers.BM3D, colour: bool) -> tuple[Array, float]:
    """Return the image that defaults give, and how many seconds of processor time it took."""
    began = time.process_time()
    result = pp.restore(y, model, denoiser=denoiser, channel_axis=-1 if colour else None, workers=1)
    return result.image, time.process_time() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", nargs="+", choices=tuple(SOURCES), default=UNLEARNED)
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--tasks", nargs="+", help="how the tasks begin, such as deblur; default all")
    parser.add_argument("--colour", action="store_true", help="colour images in colour; default all in gray")
    options = parser.parse_args()
    gains: dict[str, list[float]] = {}
    seconds: dict[str, list[tuple[float, float]]] = {}
    for name in options.images:
        x = crop(name, options.size)
        if options.colour and x.ndim == 2:
            continue
        x = x if x.ndim == 2 or options.colour else x @ GRAY
        for task, model, y in cases(x):
            if options.tasks and not task.startswith(tuple(options.tasks)):
                continue
            score, spent = [], []
            for denoiser in (pp.denoisers.BM3D(local_below=0.0), pp.denoisers.BM3D()):
                image, took = restored(y, model, denoiser, x.ndim == 3)
                score.append(pp.psnr(np.clip(image, 0, 1), x))
                spent.append(took)
            gains.setdefault(task, []).append(score[1] - score[0])
            seconds.setdefault(task, []).append((spent[0], spent[1]))
    print(f"{'':36s} {'mean':>6s} {'least':>6s} {'most':>6s} {'time':>6s}")
    for task, found in gains.items():
        before, after = np.sum(seconds[task], axis=0)
        print(f"{task:36s} {np.mean(found):+6.2f} {min(found):+6.2f} {max(found):+6.2f} {after / before:6.2f}")


if __name__ == "__main__":
    main()
