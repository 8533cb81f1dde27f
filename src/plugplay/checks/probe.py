"""Calling a denoiser that nobody vouches for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.denoisers.base import SessionDenoiser, name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from plugplay.denoisers.base import Denoiser

__all__ = ["DenoiserFailedError", "Probe", "mean_square"]


class DenoiserFailedError(Exception):
    """A denoiser raised, or returned something that is not an image."""


class Probe:
    """Calls a denoiser as Algorithm 1 does, on a read-only copy, and counts the calls.

    Whatever goes wrong becomes a `DenoiserFailedError` that says what. `told` hears of each call, those of sessions
    excepted.
    """

    def __init__(self, denoiser: Denoiser, *, told: Callable[[int], object] | None = None) -> None:
        self.name = name_of(denoiser)
        self.calls = 0
        self._denoiser = denoiser
        self._told = told

    def session(self) -> Probe | None:
        """Return a probe of a session, or None if the denoiser does not offer one."""
        if not isinstance(self._denoiser, SessionDenoiser):
            return None
        try:
            return Probe(self._denoiser.session())
        except Exception as error:
            raise DenoiserFailedError(f"session() raised {type(error).__name__}: {error}") from error

    def __call__(self, image: FloatArray, sigma: float) -> FloatArray:
        """Return the denoised image in double precision."""
        return self.output(image, sigma).astype(np.float64)

    def output(self, image: FloatArray, sigma: float, *, writable: bool = False) -> FloatArray:
        """Return what the denoiser returns, if it is a finite float image of the right shape."""
        given = np.array(image)
        given.setflags(write=writable)
        if self._told is not None:
            self._told(self.calls)
        self.calls += 1
        where = f"at sigma {sigma:g} for the shape {image.shape}"
        try:
            output: NDArray[Any] = np.asarray(self._denoiser(given, sigma))
        except Exception as error:
            hint = "; it seems to write into its input: copy it first" if "read-only" in str(error) else ""
            message = " ".join(str(error).split())
            raise DenoiserFailedError(f"raised {type(error).__name__} {where}: {message}{hint}") from error
        if output.dtype.kind != "f":
            raise DenoiserFailedError(f"returned the dtype {output.dtype} {where}; floats are needed")
        if output.shape != image.shape:
            raise DenoiserFailedError(f"returned the shape {output.shape} {where}")
        if not np.isfinite(output).all():
            raise DenoiserFailedError(f"returned NaN or infinite values {where}")
        if writable and not np.array_equal(given, image):
            raise DenoiserFailedError(f"changed its input {where}")
        return output


def mean_square(array: FloatArray) -> float:
    """Return ``||array||² / n``."""
    return float(np.mean(np.square(array, dtype=np.float64)))
