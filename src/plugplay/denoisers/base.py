"""The protocol of denoisers, with its optional members, and how a restoration uses them.

A denoiser is any callable ``(image, sigma) -> image``: it gets a float image in [0, 1], gray ``(H, W)`` or colour
``(H, W, C)``, and the standard deviation of the Gaussian noise on that scale. There is no base class to inherit from.
A denoiser is immutable and may be called from several threads. These members are optional:

``name : str``
    For messages and records; see `name_of`.
``prepared(traits, workers) -> Denoiser``
    Return a denoiser fitted to the problem: `traits` says what the model leaves to be removed and how many spatial
    axes the image has (`ProblemTraits`), `workers` is the number of threads. Used for objects and names alike.
``session(progress=None) -> Denoiser``
    Return a denoiser with state for the calls of one restoration. If `progress` is given, the session calls it with
    the share of the current call that is done, a number that rises to 1, and does not catch what it raises; that is how
    a call is cancelled. A ``session()`` without the argument is accepted as well.
``min_sigma : float``
    The noise level, on the scale [0, 1], below which the denoiser no longer improves an image; 0 if absent.
``efforts(sigmas, *, colour) -> list of float``
    Return the approximate durations of a session's calls with these sigmas, relative to each other, for gray or colour
    images; used to predict the time left. Without it, all calls are assumed to take equally long.
``spatial_ndims : tuple of int``
    The numbers of spatial axes it can be prepared for; ``(2,)`` if absent. A denoiser that lists 3 gets volumes
    ``(D, H, W)`` and ``(D, H, W, C)`` only after a call of `prepared`, since ``(D, H, W)`` looks like ``(H, W, C)``.
    Others get the slices of a volume; see `sliced`.
"""

from __future__ import annotations

import inspect
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import Any, ClassVar, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

from plugplay.arrays.checks import FloatArray, check_number
from plugplay.denoisers.registry import BUILT_IN, DenoiserInfo, available, get

__all__ = [
    "BUILT_IN",
    "Denoiser",
    "DenoiserInfo",
    "ProblemTraits",
    "Progress",
    "SessionDenoiser",
    "available",
    "check_picklable",
    "efforts_of",
    "get",
    "min_sigma_of",
    "name_of",
    "open_session",
    "per_channel",
    "prepare_denoiser",
    "sliced",
    "spatial_ndims_of",
]

Progress: TypeAlias = Callable[[float], object]
Cut: TypeAlias = tuple[int | slice | EllipsisType, ...]

# Slices with up to this many pixels in total keep their sessions; further ones are denoised without. BM3D stores 22 to
# 40 bytes per pixel, that is, 180 to 330 MB. A volume of 141 x 141 x 141 has as many pixels in its slices.
MAX_SESSION_PIXELS = 2**23


class Denoiser(Protocol):
    """Anything callable as ``(image, sigma) -> image``."""

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Return `image` with Gaussian noise of standard deviation `sigma` removed."""
        ...


@runtime_checkable
class SessionDenoiser(Protocol):
    """A denoiser that can keep state between the calls of one restoration."""

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise without state."""
        ...

    def session(self, progress: Progress | None = None) -> Denoiser:
        """Return a denoiser with its own state, for the calls of one restoration."""
        ...


class ProblemTraits(Protocol):
    """The traits that `prepared` gets; `plugplay.traits.Traits` has them."""

    @property
    def leaves(self) -> str:
        """What is left to be removed: ``"white"``, ``"coloured"`` or ``"shot"`` noise."""
        ...

    @property
    def spatial_ndim(self) -> int:
        """Number of spatial axes, 2 or 3."""
        ...


def prepare_denoiser(denoiser: str | Denoiser, traits: ProblemTraits, workers: int) -> Denoiser:
    """Return the denoiser of this name, or this object, fitted to a problem.

    Its ``prepared(traits, workers)`` is called if it offers one. On volumes, a denoiser that does not list 3 among its
    ``spatial_ndims`` is applied to slices.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> prepare_denoiser("gaussian", SimpleNamespace(leaves="white", spatial_ndim=3), 2)
    Gaussian(spatial_ndim=3, workers=2)
    """
    made = get(denoiser) if isinstance(denoiser, str) else denoiser
    if isinstance(made, type) or not callable(made):
        raise TypeError(f"denoiser must be a name or a callable (image, sigma) -> image; got {made!r}")
    made = _fitted(made, traits, workers)
    return made if traits.spatial_ndim in spatial_ndims_of(made) else sliced(made)


def open_session(denoiser: Denoiser, progress: Progress | None = None) -> Denoiser:
    """Return the denoiser for one restoration: its session if it has sessions, else the denoiser itself."""
    begin = getattr(denoiser, "session", None)
    if not callable(begin):
        return denoiser
    session: Denoiser = begin(progress=progress) if progress is not None and _takes_progress(begin) else begin()
    return session


def min_sigma_of(denoiser: object) -> float:
    """Return the noise level below which the denoiser no longer improves an image, 0 by default.

    Examples
    --------
    >>> min_sigma_of(min)
    0.0
    """
    level = getattr(denoiser, "min_sigma", None)
    return 0.0 if level is None else check_number(level, f"min_sigma of {name_of(denoiser)!r}", minimum=0, maximum=1)


def spatial_ndims_of(denoiser: object) -> tuple[int, ...]:
    """Return the numbers of spatial axes that the denoiser can be prepared for.

    Examples
    --------
    >>> spatial_ndims_of(min), spatial_ndims_of(get("tv"))
    ((2,), (2, 3))
    """
    return tuple(getattr(denoiser, "spatial_ndims", (2,)))


def efforts_of(denoiser: object, sigmas: Sequence[float], *, colour: bool = False) -> list[float]:
    """Return the approximate relative durations of a session's calls; equal ones by default.

    Examples
    --------
    >>> efforts_of(min, [0.2, 0.1])
    [1.0, 1.0]
    """
    own = getattr(denoiser, "efforts", None)
    return [1.0] * len(sigmas) if own is None else list(map(float, own(sigmas, colour=colour)))


def check_picklable(denoiser: object, problem: str) -> None:
    """Raise a `TypeError` that begins with `problem` and gives advice if a denoiser cannot be pickled."""
    try:
        pickle.dumps(denoiser)
    except Exception as error:  # pickling may raise anything
        raise TypeError(
            f"{problem} cannot ({error}): define it at the top of a module, or use one by its name"
        ) from None


def name_of(denoiser: object) -> str:
    """Return a name for messages and records.

    Examples
    --------
    >>> name_of(min)
    'min'
    """
    for candidate in (denoiser, getattr(denoiser, "name", None), getattr(denoiser, "__name__", None)):
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


def sliced(denoiser: Denoiser) -> Denoiser:
    r"""Make a denoiser of images work on volumes ``(D, H, W)`` or ``(D, H, W, C)``.

    The volume is cut into images along each of its three axes, and the three results are averaged:
    :math:`v = \tfrac13 \sum_{a=1}^3 D^{(a)}_\sigma(x)`, where :math:`D^{(a)}` denoises the slices across axis a one by
    one, each with its channels. If the denoiser is bounded in the sense of the paper, so is this.

    Examples
    --------
    >>> import numpy as np
    >>> halve = sliced(lambda image, sigma: image / 2)
    >>> halve(np.ones((2, 3, 4)), 0.1).shape
    (2, 3, 4)
    """
    return _Sliced(denoiser)


@dataclass(frozen=True)
class _InParts:
    """A denoiser applied to parts of an image; `cuts` says which, in one or several passes that are averaged."""

    denoiser: Denoiser

    max_session_pixels: ClassVar[float] = math.inf

    @property
    def name(self) -> str:
        return name_of(self.denoiser)

    @property
    def min_sigma(self) -> float:
        return min_sigma_of(self.denoiser)

    def efforts(self, sigmas: Sequence[float], *, colour: bool = False) -> list[float]:
        return efforts_of(self.denoiser, sigmas, colour=colour)

    def cuts(self, image: FloatArray) -> list[list[Cut]]:
        """Return the indices of the parts; those of each pass cover the image once."""
        raise NotImplementedError

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        return self._join(image, lambda _, part: self.denoiser(part, sigma))

    def session(self, progress: Progress | None = None) -> Denoiser:
        # Each part needs its own session, because sessions remember their images.
        sessions: dict[int, Denoiser] = {}
        shape: tuple[int, ...] = ()
        done, total, kept = 0, 1, 0

        def report(share: float) -> None:
            if progress is not None:
                progress((done + share) / total)

        def denoise(image: FloatArray, sigma: float, /) -> FloatArray:
            nonlocal shape, total, kept
            if image.shape != shape:
                sessions.clear()
                shape, kept = image.shape, 0
            total = sum(map(len, self.cuts(image)))

            def one(index: int, part: FloatArray) -> FloatArray:
                nonlocal done, kept
                done = index
                begun = sessions.get(index)
                if begun is None:
                    begun = open_session(self.denoiser, report if progress else None)
                    if kept + part.size <= self.max_session_pixels:
                        kept += part.size
                        sessions[index] = begun
                clean = begun(part, sigma)
                report(1.0)
                return clean

            return self._join(image, one)

        return denoise

    def _join(self, image: FloatArray, denoise: Callable[[int, FloatArray], FloatArray]) -> FloatArray:
        joined = np.empty_like(image)
        passes = self.cuts(image)
        index = 0
        for number, cuts in enumerate(passes):
            for cut in cuts:
                part = np.ascontiguousarray(image[cut])
                clean = self._checked(denoise(index, part), part)
                joined[cut] = clean if number == 0 else joined[cut] + clean
                index += 1
        return joined if len(passes) == 1 else joined / image.dtype.type(len(passes))

    def _checked(self, clean: FloatArray, part: FloatArray) -> FloatArray:
        # An assignment would silently broadcast a wrong shape and cast a wrong dtype.
        found = np.asarray(clean)
        if found.shape != part.shape or found.dtype.kind != "f":
            raise ValueError(
                f"denoiser {self.name!r} returned the shape {found.shape} and dtype {found.dtype} for an image of the "
                f"shape {part.shape} and dtype {part.dtype}; floats of the same shape are needed"
            )
        return found


@dataclass(frozen=True)
class _PerChannel(_InParts):
    spatial_ndim: int = 2

    @property
    def spatial_ndims(self) -> tuple[int, ...]:
        return spatial_ndims_of(self.denoiser)

    def prepared(self, traits: ProblemTraits, workers: int) -> Denoiser:
        inner = _fitted(self.denoiser, traits, workers)
        ndim = traits.spatial_ndim if traits.spatial_ndim in spatial_ndims_of(inner) else 2
        return replace(self, denoiser=inner, spatial_ndim=ndim)

    def efforts(self, sigmas: Sequence[float], *, colour: bool = False) -> list[float]:  # noqa: ARG002 - channels are denoised one by one
        return efforts_of(self.denoiser, sigmas)

    def cuts(self, image: FloatArray) -> list[list[Cut]]:
        return [[()] if image.ndim == self.spatial_ndim else [(..., channel) for channel in range(image.shape[-1])]]


@dataclass(frozen=True)
class _Sliced(_InParts):
    spatial_ndims: ClassVar[tuple[int, ...]] = (3,)
    max_session_pixels: ClassVar[float] = MAX_SESSION_PIXELS

    def prepared(self, traits: ProblemTraits, workers: int) -> Denoiser:
        return replace(self, denoiser=_fitted(self.denoiser, traits, workers))

    def cuts(self, image: FloatArray) -> list[list[Cut]]:
        if image.ndim not in (3, 4):
            raise ValueError(f"volumes have the shape (D, H, W) or (D, H, W, C); got the shape {image.shape}")
        return [[(*(slice(None),) * axis, index) for index in range(image.shape[axis])] for axis in range(3)]


def _fitted(denoiser: Denoiser, traits: ProblemTraits, workers: int) -> Denoiser:
    """Return ``denoiser.prepared(traits, workers)`` if it has that method, else the denoiser itself."""
    fit = getattr(denoiser, "prepared", None)
    made = fit(traits, workers) if callable(fit) else denoiser
    if not callable(made):
        raise TypeError(f"prepared() of denoiser {name_of(denoiser)!r} returned {made!r}, which is not callable")
    return cast("Denoiser", made)


def _takes_progress(begin: Callable[..., Any]) -> bool:
    """Tell whether a third party's ``session`` knows the argument `progress`."""
    try:
        parameters = inspect.signature(begin).parameters.values()
    except (TypeError, ValueError):  # functions of compiled modules may have no signature
        return False
    return any(parameter.name == "progress" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
