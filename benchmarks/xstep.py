"""The model's step of super-resolution: closed form against conjugate gradients and against its bare FFTs.

Run ``python benchmarks/xstep.py``. Everything is measured in one run, contenders taking turns. Conjugate
gradients solve the normal equations (GᵀG + rho I) x = Gᵀy + rho v to a relative residual of 1e-6, from v.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.fft
from scipy.sparse.linalg import LinearOperator, cg
from timing import best_times

import plugplay as pp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512, 1024])
    parser.add_argument("--factors", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--rho", type=float, default=1e-3)
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args()
    print("CG / is the time of conjugate gradients over that of the closed form.")
    print(f"{'size':>5} {'K':>2} {'dtype':>8} {'threads':>7} {'closed form':>12} {'/ FFTs':>7} {'CG /':>8}")
    for size, factor, dtype, workers in product(options.sizes, options.factors, (np.float32, np.float64), (1, 2)):
        print(measure(size, factor, dtype, workers, options.rho, options.repeats), flush=True)


if __name__ == "__main__":
    main()
