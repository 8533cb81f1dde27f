"""Running a plan so that people can follow it: a bar is told what to expect, and the result can show itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.preview import Preview
from plugplay.plots.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from plugplay.plan import Plan
    from plugplay.pnp.results import Result
    from plugplay.pnp.state import State

__all__ = ["attended"]


def attended(
    plan: Plan,
    y: ArrayLike,
    callback: Callable[[State], object] | None,
    *,
    channel_axis: int | None,
    spatial_ndim: int | None,
) -> Result:
    """Run a plan, and keep a small picture of the observation with its result."""
    if isinstance(callback, ProgressBar):
        callback.begin(plan.parameters)
        try:
            result = plan.run(callback=callback, progress=callback.share)
        finally:
            callback.end()
    else:
        result = plan.run(callback=callback)
    observed = np.asarray(y)
    ndim = spatial_ndim or 2
    if channel_axis is None and ndim == 2 and observed.ndim == 3 and result.image.ndim == 3:
        channel_axis = -1
    preview = Preview.of(
        observed,
        data_range=result.parameters.data_range,
        working_range=result.parameters.working_range,
        channel_axis=channel_axis,
        spatial_ndim=ndim,
    )
    return replace(result, preview=preview)
