"""plugplay: Plug-and-Play image restoration. Any denoiser as a prior.

The whole idea on one screen::

    x = argmin f(x) + rho/2 ||x - (v - u)||²       the model's step    (knows the physics)
    v = D_sigma(x + u),  sigma = sqrt(lambda/rho)  the denoiser's step (knows images)
    u = u + x - v                                  the bookkeeping
    rho = schedule(rho, delta, previous delta)     constant, monotone or adaptive

Public names are imported when they are first used, so that ``import plugplay`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plugplay import denoisers, imageio, kernels, models, photon_cubes
    from plugplay.admm import pnp_admm
    from plugplay.analysis.certification import certify
    from plugplay.analysis.denoiser_check import check_denoiser
    from plugplay.analysis.model_check import check_model
    from plugplay.metrics import psnr
    from plugplay.restoration import deblur, denoise, inpaint, restore, single_photon, super_resolve
    from plugplay.results import History, Parameters, Result, State, Status
    from plugplay.schedules import Adaptive, Constant, Monotone
    from plugplay.stabilisation import PoissonGaussian

__version__ = "0.1.0"

__all__ = [
    "Adaptive",
    "Constant",
    "History",
    "Monotone",
    "Parameters",
    "PoissonGaussian",
    "Result",
    "State",
    "Status",
    "__version__",
    "certify",
    "check_denoiser",
    "check_model",
    "deblur",
    "denoise",
    "denoisers",
    "imageio",
    "inpaint",
    "kernels",
    "models",
    "photon_cubes",
    "pnp_admm",
    "psnr",
    "restore",
    "single_photon",
    "super_resolve",
]

_HOME = {
    "Adaptive": "plugplay.schedules",
    "Constant": "plugplay.schedules",
    "History": "plugplay.results",
    "Monotone": "plugplay.schedules",
    "Parameters": "plugplay.results",
    "PoissonGaussian": "plugplay.stabilisation",
    "Result": "plugplay.results",
    "State": "plugplay.results",
    "Status": "plugplay.results",
    "certify": "plugplay.analysis.certification",
    "check_denoiser": "plugplay.analysis.denoiser_check",
    "check_model": "plugplay.analysis.model_check",
    "pnp_admm": "plugplay.admm",
    "psnr": "plugplay.metrics",
    "restore": "plugplay.restoration",
    "super_resolve": "plugplay.restoration",
    "single_photon": "plugplay.restoration",
    "inpaint": "plugplay.restoration",
    "denoise": "plugplay.restoration",
    "deblur": "plugplay.restoration",
}
_SUBPACKAGES = {"denoisers", "imageio", "kernels", "models", "photon_cubes"}


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"plugplay.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'plugplay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
