r"""Proximal gradient descent, plain and accelerated: the model's step is a step down the gradient.

.. math::

    x_{k+1} &= z_k - \tfrac1L \nabla f(z_k) \\
    v_{k+1} &= D_{\sigma_k}(x_{k+1}), \qquad \sigma_k = \sqrt{\lambda / \rho_k} \\
    z_{k+1} &= v_{k+1} + \beta_k (v_{k+1} - v_k)

with L the Lipschitz constant of the gradient. `PGD` has :math:`\beta = 0`; `FISTA` has :math:`\beta_k = (t_k - 1) /
t_{k+1}`, :math:`t_{k+1} = \tfrac12 (1 + \sqrt{1 + 4 t_k^2})`, which follows from k alone. They need only the gradient,
no proximal step, but more passes: detail that G attenuates strongly is recovered slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from plugplay.arrays.checks import FloatArray
from plugplay.pnp.iterations import Pass, Problem, check_bounded, first_state
from plugplay.pnp.state import State

__all__ = ["FISTA", "PGD"]


@dataclass(frozen=True)
class PGD:
    """One pass of proximal gradient descent; u is z - v, the momentum, which stays zero."""

    name: ClassVar[str] = "pgd"

    def init(self, first: FloatArray, rho: float) -> State:
        """Begin with x = v = first."""
        return first_state(first, rho)

    def step(self, problem: Problem, state: State) -> Pass:
        """Do one pass."""
        z = state.v + state.u
        x = z - problem.data_term.gradient(z) / z.dtype.type(problem.lipschitz)
        check_bounded(x)
        v = problem.denoise(problem.clipped(x), problem.sigma(state.rho))
        check_bounded(v)
        return Pass(x, v, (v - state.v) * v.dtype.type(self.momentum(state.iteration)))

    def momentum(self, iteration: int) -> float:  # noqa: ARG002
        """Return beta of a pass, counted from 0."""
        return 0.0

    def image(self, state: State) -> FloatArray:
        """Return v."""
        return state.v


@dataclass(frozen=True)
class FISTA(PGD):
    """One pass of accelerated proximal gradient descent; u is z - v, the momentum."""

    name: ClassVar[str] = "fista"

    def momentum(self, iteration: int) -> float:
        """Return beta of a pass, counted from 0.

        Examples
        --------
        >>> [round(FISTA().momentum(k), 3) for k in (0, 1, 2)]
        [0.0, 0.282, 0.434]
        """
        t = 1.0
        for _ in range(iteration):
            t = 0.5 * (1 + math.sqrt(1 + 4 * t * t))
        return (t - 1) / (0.5 * (1 + math.sqrt(1 + 4 * t * t)))
