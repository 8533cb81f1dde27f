r"""Half-quadratic splitting: ADMM without the multiplier.

.. math::

    x_{k+1} &= \arg\min_x f(x) + \tfrac{\rho_k}{2} \|x - v_k\|^2 \\
    v_{k+1} &= D_{\sigma_k}(x_{k+1}), \qquad \sigma_k = \sqrt{\lambda / \rho_k}

Without a multiplier nothing brings back detail that the denoiser removed by mistake, so the result depends on the
schedule: sigma falls evenly on a logarithmic scale to the level of the noise, in a dozen passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.pnp.iterations import Pass, Problem, check_bounded, first_state
from plugplay.pnp.state import State

__all__ = ["HQS"]


@dataclass(frozen=True)
class HQS:
    """One pass of half-quadratic splitting; u stays zero."""

    name: ClassVar[str] = "hqs"

    def init(self, first: FloatArray, rho: float) -> State:
        """Begin with x = v = first."""
        return first_state(first, rho)

    def step(self, problem: Problem, state: State) -> Pass:
        """Do one pass."""
        x = problem.prox(state.v, state.rho)
        check_bounded(x)
        v = problem.denoise(problem.clipped(x), problem.sigma(state.rho))
        check_bounded(v)
        return Pass(x, v, np.zeros_like(v), fidelity=problem.known_fidelity())

    def image(self, state: State) -> FloatArray:
        """Return v."""
        return state.v
