"""The model's step: over its bare FFTs, and, for super-resolution, against conjugate gradients.

    python benchmarks/xstep.py              both tables
    python benchmarks/xstep.py --only ffts  the step over its FFTs: 512 and 1024 pixels, gray and colour, 1 or 2 threads

Everything is measured in one run, contenders taking turns. The FFTs of a step are one real FFT of the image and one
inverse, for all channels at once; deblurring with an unknown boundary takes as many as its conjugate gradients need,
which are counted. Between two images that alternate they need no iterations at the residual of a restoration; the rows
"iterated" ask for a smaller one. Conjugate gradients for comparison solve the normal equations
(GᵀG + rho I) x = Gᵀy + rho v to a relative residual of 1e-6, from v.
"""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft
from scipy.sparse.linalg import LinearOperator, cg
from timing import best_times

import plugplay as pp
from plugplay.models.operators import polyphase
from plugplay.tuning.accuracy import BLUR_RESIDUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


UNKNOWN = pp.models.Deblurring(pp.kernels.motion(15, 30), boundary="unknown")
# Models, and the residuals at which their steps are good enough.
MODELS = {
    "deblur, circular": (pp.models.Deblurring(pp.kernels.motion(15, 30)), BLUR_RESIDUAL),
    "deblur, unknown": (UNKNOWN, BLUR_RESIDUAL),
    "deblur, iterated": (UNKNOWN, BLUR_RESIDUAL / 8),
    "upscale, reflect": (pp.models.SuperResolution(2, boundary="reflect"), BLUR_RESIDUAL),
}


def conjugate_gradients(
    model: pp.models.SuperResolution, y: NDArray[Any], v: NDArray[Any], rho: float
) -> Callable[[], NDArray[Any]]:
    """Return a function that takes the step by conjugate gradients, with the transfer function precomputed."""
    blur = model.data_term(y).blur
    n = v.size

    def normal(x: NDArray[Any]) -> NDArray[Any]:
        image = x.reshape(v.shape)
        return (blur.adjoint(blur.forward(image)) + rho * image).ravel()

    operator = LinearOperator((n, n), normal, dtype=v.dtype)
    rhs = (blur.adjoint(y) + rho * v).ravel()
    return lambda: cg(operator, rhs, x0=v.ravel(), rtol=1e-6, maxiter=5000)[0].reshape(v.shape)


def measure(size: int, factor: int, dtype: type, workers: int, rho: float, repeats: int) -> str:
    """Return one line of the table."""
    rng = np.random.default_rng(0)
    side = size // factor * factor
    model = pp.models.SuperResolution(factor, pp.kernels.gaussian(9, sigma=1.0))
    x: NDArray[Any] = rng.random((side, side)).astype(dtype)
    v: NDArray[Any] = (x + 0.1 * rng.normal(size=x.shape)).astype(dtype)
    y = model.simulate(x, noise=5 / 255, rng=rng)
    term = model.data_term(y)
    with scipy.fft.set_workers(workers):
        closed_and_ffts = {
            "closed form": lambda: term.prox(v, rho),
            "FFTs": lambda: scipy.fft.irfft2(scipy.fft.rfft2(v), s=v.shape),
        }
        fast = best_times(closed_and_ffts, repeats=repeats)
        slow = best_times({"CG": conjugate_gradients(model, y, v, rho)}, repeats=2)
    closed, over, gain = fast["closed form"], fast["closed form"] / fast["FFTs"], slow["CG"] / fast["closed form"]
    case = f"{side:>5} {factor:>2} {np.dtype(dtype).name:>8} {workers:>7}"
    return f"{case} {1e3 * closed:>9.2f} ms {over:>7.2f} {gain:>8.0f}"


def over_ffts(name: str, size: int, colour: bool, workers: int, rho: float, repeats: int) -> str:
    """Return one line of the table of steps over their FFTs."""
    rng = np.random.default_rng(0)
    model, residual = MODELS[name]
    x: NDArray[Any] = rng.random((size, size, 3) if colour else (size, size), dtype=np.float32)
    y = model.simulate(x, noise=5 / 255, rng=rng).astype(np.float32)
    term = model.data_term(y)
    v = term.start()
    moved = v + np.float32(0.01) * rng.standard_normal(v.shape, dtype=np.float32)
    steps = term.session(residual)
    targets = cycle((v, moved))
    for _ in range(12):  # the first ones have nothing to begin with, and are less exact
        steps.prox(next(targets), rho)
    with counted() as transforms:
        for _ in range(2):
            steps.prox(next(targets), rho)
    pairs = len(transforms) / 4
    with scipy.fft.set_workers(workers):
        best = best_times(
            {
                "step": lambda: steps.prox(next(targets), rho),
                "FFTs": lambda: scipy.fft.irfftn(scipy.fft.rfftn(v, axes=(0, 1)), s=v.shape[:2], axes=(0, 1)),
            },
            repeats=repeats,
        )
    ratio = best["step"] / (pairs * best["FFTs"])
    kind = "colour" if colour else "gray"
    return f"{name:18s} {size:>5} {kind:6s} {workers:>7} {1e3 * best['step']:>9.2f} ms {pairs:>6.1f} {ratio:>7.2f}"


@contextmanager
def counted() -> Iterator[list[str]]:
    """Count the transforms of images of these sizes, all channels at once, there and back, that are taken meanwhile."""
    taken: list[str] = []
    names = ("half_spectra", "hand_over", "whole_planes")
    kept = {name: getattr(polyphase, name) for name in names}

    def counting(name: str) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            taken.append(name)
            return kept[name](*arguments)

        return counted

    for name in names:
        setattr(polyphase, name, counting(name))
    try:
        yield taken
    finally:
        for name in names:
            setattr(polyphase, name, kept[name])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512, 1024])
    parser.add_argument("--factors", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--rho", type=float, default=1e-3)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--only", choices=("ffts", "cg"), help="one of the two tables")
    options = parser.parse_args()
    if options.only != "cg":
        print(f"{'step':18s} {'size':>5} {'':6s} {'threads':>7} {'time':>12} {'pairs':>6} {'/ FFTs':>7}")
        for name, size, colour, workers in product(MODELS, (512, 1024), (False, True), (1, 2)):
            print(over_ffts(name, size, colour, workers, options.rho, options.repeats), flush=True)
    if options.only == "ffts":
        return
    print("CG / is the time of conjugate gradients over that of the closed form.")
    print(f"{'size':>5} {'K':>2} {'dtype':>8} {'threads':>7} {'closed form':>12} {'/ FFTs':>7} {'CG /':>8}")
    for size, factor, dtype, workers in product(options.sizes, options.factors, (np.float32, np.float64), (1, 2)):
        print(measure(size, factor, dtype, workers, options.rho, options.repeats), flush=True)


if __name__ == "__main__":
    main()
