"""Where denoisers are found by name: the built-in ones, and those of other packages.

To add a built-in: write one module in this package with a frozen dataclass that has ``__call__`` (`base` says what a
denoiser is and what else it may offer), and add one line to `BUILT_IN`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from plugplay.denoisers.base import Denoiser

__all__ = ["BUILT_IN", "DenoiserInfo", "available", "get"]

ENTRY_POINT_GROUP = "plugplay.denoisers"


@dataclass(frozen=True)
class DenoiserInfo:
    """What `available` tells about a denoiser.

    Attributes
    ----------
    name : str
        The name that `get` takes.
    summary : str
        What it is, in one line.
    factory : str
        Where it comes from, as ``module:attribute``.
    speed : {"instant", "fast", "slow"}, optional
        How long a gray image of 512 x 512 pixels takes on one core of a laptop: up to 50 ms, up to 500 ms, longer.
        None if unknown, as for plug-ins.
    colour : {"joint", "per channel"}, optional
        Whether the channels of a colour image help each other. None if unknown.
    extra : str, optional
        What has to be installed for it, as in ``pip install plugplay[extra]``. None if nothing.
    origin : str
        ``"plugplay"`` for the built-ins, else the package that registered it.
    """

    name: str
    summary: str
    factory: str
    speed: Literal["instant", "fast", "slow"] | None = None
    colour: Literal["joint", "per channel"] | None = None
    extra: str | None = None
    origin: str = "plugplay"


def _built_in(name: str, summary: str, factory: str, *details: Any) -> DenoiserInfo:
    return DenoiserInfo(name, summary, f"plugplay.denoisers.{factory}", *details)


BUILT_IN: Mapping[str, DenoiserInfo] = {
    info.name: info
    for info in (
        _built_in("bm3d", "block-matching and 3-D filtering", "bm3d:BM3D", "fast", "joint"),
        _built_in("tv", "total variation", "tv:TotalVariation", "instant", "joint"),
        _built_in("nlm", "non-local means", "nlm:NonLocalMeans", "fast", "joint"),
        _built_in(
            "dsg-nlm", "doubly stochastic non-local means", "dsg_nlm:DoublyStochasticNonLocalMeans", "slow", "joint"
        ),
        _built_in("wavelet", "Haar wavelets, BayesShrink, all shifts", "wavelet:Wavelet", "instant", "joint"),
        _built_in("recursive", "domain-transform recursive filter", "recursive:Recursive", "instant", "joint"),
        _built_in("bilateral", "bilateral filter", "bilateral:Bilateral", "instant", "joint"),
        _built_in("median", "median, with a limited move", "median:Median", "instant", "per channel"),
        _built_in("gaussian", "Gaussian smoothing", "gaussian:Gaussian", "instant", "per channel"),
        _built_in("dncnn", "DnCNN, your weights", "learned.published:dncnn", "slow", "joint", "torch"),
        _built_in("ffdnet", "FFDNet, your weights", "learned.published:ffdnet", "slow", "joint", "torch"),
        _built_in("drunet", "DRUNet, your weights", "learned.published:drunet", "slow", "joint", "torch"),
        _built_in("net", "BM3D, corrected by a small network", "net:Net", "slow", "joint", "net"),
    )
}


def available() -> dict[str, DenoiserInfo]:
    """Return every denoiser that `get` knows, by name; nothing is imported for it.

    Examples
    --------
    >>> import plugplay as pp
    >>> "tv" in pp.denoisers.available()
    True
    """
    plugins = {point.name: point for point in _entry_points() if point.name not in BUILT_IN}
    described = {
        name: DenoiserInfo(
            name, f"plug-in {point.value}", point.value, origin=point.dist.name if point.dist else "unknown"
        )
        for name, point in plugins.items()
    }
    return {**BUILT_IN, **dict(sorted(described.items()))}


def get(name: str, **options: Any) -> Denoiser:
    """Make the denoiser called `name`.

    Parameters
    ----------
    name : str
        One of the names in `available`.
    **options
        Passed to the denoiser's constructor, which refuses what it does not know.

    Returns
    -------
    Denoiser
        A callable ``(image, sigma) -> image``.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> denoise = pp.denoisers.get("tv")
    >>> denoise(np.full((8, 8), 0.5), 0.1).shape
    (8, 8)
    """
    if not isinstance(name, str):
        raise TypeError(f"a denoiser's name is a string; got {name!r}")
    factory = _factory(name)
    signature = inspect.signature(factory)
    try:
        signature.bind(**options)
    except TypeError as error:
        accepted = ", ".join(signature.parameters) or "none"
        raise TypeError(f"denoiser {name!r}: {error}; its options are: {accepted}") from None
    denoiser = factory(**options)
    if not callable(denoiser):
        raise TypeError(f"the factory of denoiser {name!r} returned {denoiser!r}, which is not callable")
    return denoiser


def comes_with_plugplay(denoiser: object) -> bool:
    """Tell whether a denoiser, or that of this name, comes with plugplay and so takes gray images as well as colour.

    Examples
    --------
    >>> comes_with_plugplay("bm3d"), comes_with_plugplay(min)
    (True, False)
    """
    if isinstance(denoiser, str):
        return denoiser in BUILT_IN
    return type(denoiser).__module__.startswith("plugplay.")


def _entry_points() -> Iterator[EntryPoint]:
    yield from entry_points(group=ENTRY_POINT_GROUP)


def _factory(name: str) -> Callable[..., Denoiser]:
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].factory.partition(":")
        factory = getattr(importlib.import_module(module), attribute)
    else:
        factory = next((point.load() for point in _entry_points() if point.name == name), None)
    if factory is None:
        raise ValueError(
            f"unknown denoiser {name!r}; available: {', '.join(available())}. Any callable (image, sigma) -> image "
            "can be given instead of a name"
        )
    if not callable(factory):
        raise TypeError(f"the entry point of denoiser {name!r} names {factory!r}, which is not callable")
    made: Callable[..., Denoiser] = factory
    return made
