"""The experiments of the paper, and two more tables, in the order of the report."""

from __future__ import annotations

from plugplay_paper.experiments.base import Experiment, Scope
from plugplay_paper.experiments.colour import COLOUR_PHOTONS, COLOUR_SUPER_RESOLUTION
from plugplay_paper.experiments.denoiser_tables import DEBLURRING, INPAINTING
from plugplay_paper.experiments.expansiveness import CounterExample
from plugplay_paper.experiments.gallery import Gallery
from plugplay_paper.experiments.penalty import FirstPenalty
from plugplay_paper.experiments.single_photon import SINGLE_PHOTON
from plugplay_paper.experiments.solver_runtime import SolverRuntime
from plugplay_paper.experiments.starts import RandomStarts
from plugplay_paper.experiments.super_resolution import SUPER_RESOLUTION
from plugplay_paper.experiments.tolerance import Tolerance

__all__ = ["EXPERIMENTS", "Experiment", "Scope", "by_name"]

EXPERIMENTS: tuple[Experiment, ...] = (
    SUPER_RESOLUTION,
    SINGLE_PHOTON,
    Gallery(),
    Tolerance(),
    FirstPenalty(),
    RandomStarts(),
    SolverRuntime(),
    COLOUR_SUPER_RESOLUTION,
    COLOUR_PHOTONS,
    CounterExample(),
    DEBLURRING,
    INPAINTING,
)


def by_name(names: list[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names, in the order of the report; ``"all"`` stands for all of them.

    Examples
    --------
    >>> [experiment.name for experiment in by_name(["inpainting", "tolerance"])]
    ['tolerance', 'inpainting']
    """
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    groups = {
        "all": set(known),
        "tables": {"super-resolution", "single-photon"},
        "figures": {name for name, experiment in known.items() if experiment.title.startswith("Figure")},
    }
    wanted: set[str] = set()
    for name in names:
        if name not in known and name not in groups:
            raise ValueError(f"unknown experiment {name!r}; available: {', '.join([*groups, *known])}")
        wanted |= groups.get(name, {name})
    return tuple(experiment for name, experiment in known.items() if name in wanted)
