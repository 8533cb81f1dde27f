"""The paper's figure on rho0: how much the first penalty matters to the three rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from plugplay import Adaptive, Constant, Monotone
from plugplay_paper import paper
from plugplay_paper.cells.trials import Trial
from plugplay_paper.experiments.super_resolution import BORDER, ETA, problem
from plugplay_paper.methods import PlugAndPlay, Schedule
from plugplay_paper.report.blocks import Plot, Section, Series

if TYPE_CHECKING:
    from plugplay_paper.experiments.base import Scope
    from plugplay_paper.results import Results

__all__ = ["FirstPenalty"]

FIRST_PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
ITERATIONS = 60
CONFIGURATION = paper.CONFIGURATIONS[2]
# PSNR by iteration, for each rho0 and each rule.
Curves = Mapping[float, Mapping[str, tuple[float, ...]]]

COLOURS = {"constant": "tab:red", "monotone": "tab:blue", "adaptive": "black"}

CONVENTIONS = f"""
Configuration 3, one image, one realisation (seed 0), lambda {CONFIGURATION.lam:g}, gamma {CONFIGURATION.gamma:g},
eta {ETA:g}; the constant rule is the original Plug-and-Play ADMM. At most {ITERATIONS} iterations, or until nothing
changes by more than 0.00001. PSNR clipped to [0, 1], without a border of 4 pixels, peak 1.
"""


@dataclass(frozen=True)
class FirstPenalty:
    """Influence of rho0 on the constant, the monotone and the adaptive rule."""

    name: str = "rho0"
    title: str = "Figure: influence of rho0"

    def cells(self, scope: Scope) -> list[Trial]:
        """Return a run for each rule and each rho0."""
        return [trial for rho0 in _penalties(scope) for trial in _rules(scope, rho0).values()]

    def section(self, scope: Scope, results: Results) -> Section:
        """Draw PSNR by iteration for each rho0, and the last PSNR by rho0."""
        curves: Curves = {
            rho0: {
                rule: record.psnr_curve
                for rule, trial in _rules(scope, rho0).items()
                if (record := results.of(trial)) is not None
            }
            for rho0 in _penalties(scope)
        }
        lines = tuple(
            Series(f"{rule}, rho0 = {rho0:g}", "iteration", "PSNR (dB)", tuple(map(float, _steps(curve))), curve)
            for rho0, by_rule in curves.items()
            for rule, curve in by_rule.items()
        )
        ends = tuple(
            Series(rule, "rho0", "final PSNR (dB)", tuple(rhos), tuple(curves[rho0][rule][-1] for rho0 in rhos))
            for rule in COLOURS
            if (rhos := [rho0 for rho0, by_rule in curves.items() if by_rule.get(rule)])
        )
        plots = (
            Plot("rho0-curves", f"PSNR by iteration, {scope.example.name}", _curves(curves) if lines else None, lines),
            Plot("rho0-final", f"PSNR at the end, {scope.example.name}", _ends(ends) if ends else None, ends),
        )
        cells = self.cells(scope)
        return Section(self.name, self.title, CONVENTIONS, plots, len(cells), len(lines))


def _penalties(scope: Scope) -> tuple[float, ...]:
    return scope.amount(FIRST_PENALTIES, (1.0, 1e-2, 1e-4))


def _rules(scope: Scope, rho0: float) -> Mapping[str, Trial]:
    gamma = CONFIGURATION.gamma
    schedules: Mapping[str, Schedule] = {
        "constant": Constant(rho0),
        "monotone": Monotone(rho0=rho0, gamma=gamma),
        "adaptive": Adaptive(rho0=rho0, gamma=gamma, eta=ETA),
    }
    return {
        rule: Trial(
            image=scope.example,
            problem=problem(CONFIGURATION),
            method=PlugAndPlay(
                lam=CONFIGURATION.lam,
                schedule=schedule,
                max_sigma=math.inf,
                tol=1e-5,
                max_iter=ITERATIONS,
                sessions=False,
            ),
            seed=0,
            border=BORDER,
            curves=True,
        )
        for rule, schedule in schedules.items()
    }


def _steps(curve: Sequence[float]) -> range:
    return range(1, len(curve) + 1)


def _curves(curves: Curves) -> Figure:
    figure = Figure(figsize=(3.0 * len(curves), 3.4), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for axes, (rho0, by_rule) in zip(panels, curves.items(), strict=True):
        for rule, curve in by_rule.items():
            axes.plot(_steps(curve), curve, color=COLOURS[rule], label=rule)
        axes.set_title(f"$\\rho_0$ = {rho0:g}")
        axes.set_xlabel("iteration")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("PSNR (dB)")
    panels[0].legend(fontsize="small")
    return figure


def _ends(ends: Sequence[Series]) -> Figure:
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for line in ends:
        axes.semilogx(line.x, line.y, marker="o", color=COLOURS[line.label], label=line.label)
    axes.set_xlabel("$\\rho_0$")
    axes.set_ylabel("PSNR (dB)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
