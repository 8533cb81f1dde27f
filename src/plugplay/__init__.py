"""plugplay: Plug-and-Play image restoration. Any denoiser as a prior.

The whole idea on one screen::

    x = argmin f(x) + rho/2 ||x - (v - u)||²       the model's step    (knows the physics)
    v = D_sigma(x + u),  sigma = sqrt(lambda/rho)  the denoiser's step (knows images)
    u = u + x - v                                  the bookkeeping
    rho = schedule(rho, delta, previous delta)     constant, monotone or adaptive

Public names are imported when they are first used, so that ``import plugplay`` stays fast; ``__init__.pyi`` lists
them.
"""

from __future__ import annotations

import importlib
from typing import Any

import lazy_loader

__version__ = "0.2.0"

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# Names of version 0.1; both go with 0.3.
_DEPRECATED = ("imageio", "photon_cubes")


def __getattr__(name: str) -> Any:
    if name in _DEPRECATED:
        return importlib.import_module(f"plugplay.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'plugplay' has no attribute {name!r}")
    return _public(name)
