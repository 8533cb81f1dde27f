r"""Regularisation by denoising: the gradient of f plus the residual of the denoiser.

.. math::

    x_{k+1} = x_k - \frac{\nabla f(x_k) + \rho_k (x_k - D_{\sigma_k}(x_k))}{L + \rho_k},
    \qquad \sigma_k = \sqrt{\lambda / \rho_k},

with L the Lipschitz constant of the gradient. At a fixed point the gradient of f and the residual of the denoiser
cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.pnp.iterations import Pass, Problem, check_bounded, first_state
from plugplay.pnp.state import State

__all__ = ["RED"]


@dataclass(frozen=True)
class RED:
    """One pass of steepest descent; v is the denoised x, and u stays zero."""

    name: ClassVar[str] = "red"

    def init(self, first: FloatArray, rho: float) -> State:
        """Begin with x = v = first."""
        return first_state(first, rho)

    def step(self, problem: Problem, state: State) -> Pass:
        """Do one pass."""
        v = problem.denoise(problem.clipped(state.x), problem.sigma(state.rho))
        check_bounded(v)
        kind = state.x.dtype.type
        slope = problem.data_term.gradient(state.x) + kind(state.rho) * (state.x - v)
        x = state.x - slope / kind(problem.lipschitz + state.rho)
        check_bounded(x)
        return Pass(x, v, np.zeros_like(v))

    def image(self, state: State) -> FloatArray:
        """Return x."""
        return state.x
