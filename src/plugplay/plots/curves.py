"""The curves of a run, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from plugplay.pnp.results import Parameters
    from plugplay.pnp.state import History

__all__ = ["convergence_figure"]


def convergence_figure(history: History, parameters: Parameters) -> Figure:
    """Draw delta and its parts, rho and sigma, and the PSNR if there was a reference (else the fidelity)."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    changes, penalty, quality = figure.subplots(1, 3)
    k = np.arange(1, len(history) + 1)

    changes.semilogy(k, history.delta, color="black", linewidth=2, label="Δ")
    for name, label in (("dx", "x"), ("dv", "v"), ("du", "u")):
        changes.semilogy(k, getattr(history, name), linewidth=1, label=f"RMS change of {label}")
    changes.axhline(parameters.tol, color="gray", linestyle=":", label="tolerance")
    changes.set_title("Change per iteration")
    changes.legend(fontsize="small")

    penalty.semilogy(k, history.rho, label="ρ")
    penalty.semilogy(k, history.sigma, label="σ = √(λ/ρ)")
    penalty.set_title("Penalty and denoising strength")
    penalty.legend(fontsize="small")

    if np.isfinite(history.psnr).any():
        quality.plot(k, history.psnr, color="tab:green")
        quality.set_title("PSNR (dB)")
    else:
        quality.plot(k, history.fidelity, color="tab:red")
        quality.set_title("Fidelity f(x)")
    for axes in (changes, penalty, quality):
        axes.set_xlabel("iteration")
        axes.grid(alpha=0.3)
    return figure
