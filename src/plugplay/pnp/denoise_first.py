r"""Denoising first: one denoising of the data, then one exact step of the model on what it left.

.. math::

    d &= D_\sigma(y), \qquad \sigma = \sqrt{\lambda / \rho} \\
    x &= \arg\min_x \tfrac12 \|G x - d\|^2 + \tfrac{\rho}{2} \|x - d\|^2

for a blur so mild that inverting it hardly amplifies the noise. The noise in the data is white, which denoisers remove
best, while the loop would have to remove noise that its own steps have coloured. `plugplay.tuning.mild_blur` says when
this is better, and derives rho.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.pnp.iterations import Pass, Problem, check_bounded, first_state
from plugplay.pnp.state import State

if TYPE_CHECKING:
    from plugplay.models.base import Model

__all__ = ["DenoiseFirst"]


@dataclass(frozen=True, eq=False)
class DenoiseFirst:
    """The one pass; v is the denoised observation, continued beyond the frame, and x the image.

    Attributes
    ----------
    model : Model
        The model; it is bound to the denoised observation.
    """

    model: Model
    name: ClassVar[str] = "denoise-first"

    def init(self, first: FloatArray, rho: float) -> State:
        """Begin with x = v = first, which has the observation in its frame."""
        return first_state(first, rho)

    def step(self, problem: Problem, state: State) -> Pass:
        """Do the pass."""
        observed = np.ascontiguousarray(problem.data_term.crop(state.v))
        denoised = problem.denoise(problem.clipped(observed), problem.sigma(state.rho))
        term = self.model.data_term(denoised)
        v = np.array(term.start())
        x = np.array(term.prox(v, state.rho))
        check_bounded(x)
        return Pass(x, v, np.zeros_like(x))

    def image(self, state: State) -> FloatArray:
        """Return x."""
        return state.x
