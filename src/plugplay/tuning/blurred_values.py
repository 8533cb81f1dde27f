"""Whether the stored values of a photograph were blurred, as by an image editor, and not the light of its scene.

Both are restored in a window, with the same noise, and leave a residual in the same units. The right one leaves the
noise. The wrong one leaves its error as well where edges have much contrast and there is little noise, and there the
result would be spoilt. With more noise both leave about as much.

On 24 crops of photographs blurred in light, half of them with a kernel that was told a little wrong, the residual was
0.99 to 1.09 of that of the other model; on two with much contrast whose values were blurred 1.2 to 1.9. ``python
benchmarks/blurred_values.py FOLDER`` counts what is noticed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.models.description import part_of, reach_of, residual_of
from plugplay.pnp.driver import Driver
from plugplay.tuning.accuracy import step_residual
from plugplay.tuning.windows import curvature, windows_of

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.denoisers.base import Denoiser
    from plugplay.models.base import Model
    from plugplay.pnp.iterations import Iteration
    from plugplay.pnp.results import Parameters

__all__ = ["BLURRED_VALUES", "values_were_blurred"]

BLURRED_VALUES = (
    "the data fit a blur of the stored values, as by an image editor, much better than one of light: try "
    "transfer='linear', or --linear off"
)
# By what factor the residual of the other model must be smaller.
MIN_RATIO = 1.2
# Side of the window in pixels, at least, and in units of the reach of the kernel.
SIDE, SIDE_PER_REACH = 96, 6


def values_were_blurred(
    light: Model, values: Model, y: FloatArray, loop: Parameters, denoiser: Denoiser, iteration: Iteration, noise: float
) -> bool:
    """Tell whether the observation clearly fits a blur of the values better than one of light.

    Parameters
    ----------
    light, values : Model, Model
        Both models, for encoded values.
    y : array
        The observation, all of it observed.
    loop, denoiser, iteration
        How it will be restored, and with which prepared denoiser.
    noise : float
        The assumed noise.
    """
    if y.ndim == 3:
        y = y[..., y.shape[2] // 2]  # a curve acts on each channel
    side = max(SIDE, SIDE_PER_REACH * reach_of(light))
    part = np.ascontiguousarray(y[next(iter(windows_of(y, side, curvature(noise))))])
    in_light, as_stored = (
        _residual(model, part, replace(loop, prepared=denoiser), iteration) for model in (light, values)
    )
    return in_light > MIN_RATIO * as_stored


def _residual(model: Model, y: FloatArray, loop: Parameters, iteration: Iteration) -> float:
    term = part_of(model, None).data_term(y)
    driver = Driver(term, loop.prepared, iteration, loop, rtol=step_residual(plain=False))  # type: ignore[arg-type]
    driver.run()
    left = residual_of(term, iteration.image(driver.state))
    return 0.0 if left is None else math.sqrt(float(np.mean(np.square(left, dtype=np.float64))))
