"""What a denoiser is, and where denoisers are found by name.

A denoiser is any callable ``(image, sigma) -> image``: a float image in [0, 1], gray ``(H, W)`` or colour
``(H, W, C)``, and the standard deviation of the Gaussian noise to remove on that scale. Nothing has to be
inherited. A denoiser that profits from memory inside one restoration offers ``session()`` as well.

To add a built-in: write one module in this package with a frozen dataclass that has ``__call__``, and add one
line to `BUILT_IN`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from plugplay.arrays.checks import FloatArray

__all__ = [
    "BUILT_IN",
    "Denoiser",
    "DenoiserInfo",
    "SessionDenoiser",
    "available",
    "get",
    "name_of",
    "open_session",
    "per_channel",
]

ENTRY_POINT_GROUP = "plugplay.denoisers"


class Denoiser(Protocol):
    """Anything callable as ``(image, sigma) -> image``."""

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Return `image` with Gaussian noise of standard deviation `sigma` removed."""
        ...


@runtime_checkable
class SessionDenoiser(Protocol):
    """A denoiser that can remember things between the calls of one restoration."""

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise without memory."""
        ...

    def session(self) -> Denoiser:
        """Return a denoiser with a memory of its own, for the calls of one restoration."""
        ...


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


BUILT_IN: Mapping[str, DenoiserInfo] = {
    info.name: info
    for info in (
        DenoiserInfo("bm3d", "block-matching and 3-D filtering", "plugplay.denoisers.bm3d:BM3D", "fast", "joint"),
        DenoiserInfo("tv", "total variation", "plugplay.denoisers.tv:TotalVariation", "instant", "joint"),
        DenoiserInfo("nlm", "non-local means", "plugplay.denoisers.nlm:NonLocalMeans", "fast", "joint"),
        DenoiserInfo(
            "dsg-nlm",
            "non-local means with a doubly stochastic matrix",
            "plugplay.denoisers.dsg_nlm:DoublyStochasticNonLocalMeans",
            "slow",
            "joint",
        ),
        DenoiserInfo(
            "wavelet",
            "Haar wavelets, BayesShrink, all shifts",
            "plugplay.denoisers.wavelet:Wavelet",
            "instant",
            "joint",
        ),
        DenoiserInfo(
            "recursive",
            "domain-transform recursive filter",
            "plugplay.denoisers.recursive:Recursive",
            "instant",
            "joint",
        ),
        DenoiserInfo("bilateral", "bilateral filter", "plugplay.denoisers.bilateral:Bilateral", "instant", "joint"),
        DenoiserInfo(
            "median", "median, with a limited move", "plugplay.denoisers.median:Median", "instant", "per channel"
        ),
        DenoiserInfo(
            "gaussian", "Gaussian smoothing", "plugplay.denoisers.gaussian:Gaussian", "instant", "per channel"
        ),
        DenoiserInfo("net", "a small network, experimental", "plugplay.denoisers.net:Net", "slow", "joint", "net"),
        DenoiserInfo(
            "dncnn", "DnCNN, your weights", "plugplay.denoisers.learned.published:dncnn", "slow", "joint", "torch"
        ),
        DenoiserInfo(
            "ffdnet", "FFDNet, your weights", "plugplay.denoisers.learned.published:ffdnet", "slow", "joint", "torch"
        ),
        DenoiserInfo(
            "drunet", "DRUNet, your weights", "plugplay.denoisers.learned.published:drunet", "slow", "joint", "torch"
        ),
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


def accepts_option(name: str, option: str) -> bool:
    """Tell whether the denoiser called `name` has an option called `option`."""
    return option in inspect.signature(_factory(name)).parameters


def open_session(denoiser: Denoiser) -> Denoiser:
    """Return what one restoration should call: the denoiser's session if it offers one, else itself."""
    return denoiser.session() if isinstance(denoiser, SessionDenoiser) else denoiser


def name_of(denoiser: object) -> str:
    """Return a name for messages and records.

    Examples
    --------
    >>> name_of(min)
    'min'
    """
    for candidate in (getattr(denoiser, "name", None), getattr(denoiser, "__name__", None)):
        if isinstance(candidate, str):
            return candidate
    return type(denoiser).__name__


def per_channel(denoiser: Denoiser) -> Denoiser:
    """Make a gray-only denoiser work on ``(H, W, C)``, one channel at a time.

    Examples
    --------
    >>> import numpy as np
    >>> halve = per_channel(lambda image, sigma: image / 2)
    >>> halve(np.ones((2, 3, 4)), 0.1).shape
    (2, 3, 4)
    """
    return _PerChannel(denoiser)


@dataclass(frozen=True)
class _PerChannel:
    denoiser: Denoiser

    @property
    def name(self) -> str:
        return name_of(self.denoiser)

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        if image.ndim == 2:
            return self.denoiser(image, sigma)
        return _by_channel([self.denoiser] * image.shape[2], image, sigma)

    def session(self) -> Denoiser:
        # Channels must not share a memory: what one remembers is not true of another.
        sessions: dict[int, Denoiser] = {}

        def denoise(image: FloatArray, sigma: float, /) -> FloatArray:
            channels = 1 if image.ndim == 2 else image.shape[2]
            for index in range(channels):
                if index not in sessions:
                    sessions[index] = open_session(self.denoiser)
            if image.ndim == 2:
                return sessions[0](image, sigma)
            return _by_channel([sessions[index] for index in range(channels)], image, sigma)

        return denoise


def _by_channel(denoisers: list[Denoiser], image: FloatArray, sigma: float) -> FloatArray:
    channels = [denoise(np.ascontiguousarray(image[..., index]), sigma) for index, denoise in enumerate(denoisers)]
    return np.stack(channels, axis=-1)


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
            f"there is no denoiser called {name!r}; known are {', '.join(available())}. Any callable "
            "(image, sigma) -> image can be given instead of a name"
        )
    if not callable(factory):
        raise TypeError(f"the entry point of denoiser {name!r} names {factory!r}, which is not callable")
    made: Callable[..., Denoiser] = factory
    return made
