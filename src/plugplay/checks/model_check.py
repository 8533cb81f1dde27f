"""`check_model`: tells whether a model's mathematics is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.checks import FloatArray, float_image
from plugplay.checks.report import Check, Report
from plugplay.models.description import has_adjoint, lower_bound_of, spatial_ndim_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from plugplay.models.base import DataTerm, Model

__all__ = ["check_model"]

RHOS = (1e-3, 1e-1, 1e1, 1e3)
ADJOINT_TOLERANCE = 1e-10
STATIONARITY_TOLERANCE = 1e-6
GRADIENT_TOLERANCE = 1e-6
SINGLE_TOLERANCE = 1e-4


def check_model(
    model: Model, x: ArrayLike, *, y: ArrayLike | None = None, rng: np.random.Generator | int = 0
) -> Report:
    """Check a model, a built-in or one of your own, on an image.

    Checked are: shapes, dtypes and finiteness; that nothing given is modified; that `adjoint` (where there is one)
    is the transpose of `forward`; that `gradient` agrees with differences of `value`; that `prox` is stationary
    and no worse than its neighbours for several rho, in double and in single precision; and that the same input
    gives the same bits.

    Parameters
    ----------
    model : Model
        The model.
    x : array
        An image that the model can observe, floats on [0, 1].
    y : array, optional
        An observation. Default ``model.simulate(x, rng=rng)``.
    rng : numpy.random.Generator or int
        Source of the random test vectors.

    Returns
    -------
    Report
        ``report.passed``, ``print(report)``, and ``report.raise_if_failed()`` for tests.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> image = np.random.default_rng(0).random((12, 16))
    >>> pp.check_model(pp.models.SuperResolution(2, "bicubic"), image).passed
    True
    """
    generator = np.random.default_rng(rng)
    image = float_image(x, "x", spatial_ndim=spatial_ndim_of(model, None)).astype(np.float64)
    observation = model.simulate(image, rng=generator) if y is None else np.asarray(y)  # type: ignore[attr-defined]
    inspector = _Inspector(model, image, observation, generator)
    return Report(f"check_model({type(model).__name__})", tuple(inspector.checks()))


@dataclass(frozen=True)
class _Inspector:
    model: Any
    x: FloatArray
    y: FloatArray
    rng: np.random.Generator

    def checks(self) -> Iterator[Check]:
        yield from self._forward()
        if has_adjoint(self.model):
            yield self._adjoint()
        term = self.model.data_term(self.y)
        yield self._start(term)
        yield self._gradient(term)
        for rho in RHOS:
            yield self._prox(term, rho)
        yield self._single_precision(term)
        yield self._repeatable(term)

    def _forward(self) -> Iterator[Check]:
        given = self.x.copy()
        for dtype in (np.float32, np.float64):
            seen = self.model.forward(self.x.astype(dtype))
            fine = seen.dtype == dtype and bool(np.isfinite(seen).all())
            yield Check(f"forward, {np.dtype(dtype)}", fine, f"returns {seen.dtype} of shape {seen.shape}, finite")
        self.model.forward(self.x)
        yield Check("forward leaves x alone", np.array_equal(given, self.x), "x was compared before and after")

    def _adjoint(self) -> Check:
        x = self.rng.standard_normal(self.x.shape)
        seen = self.model.forward(x)
        y = self.rng.standard_normal(seen.shape)
        back = self.model.adjoint(y)
        if back.shape != x.shape:
            return Check("adjoint", False, f"returns the shape {back.shape} instead of {x.shape}")
        left, right = _inner(seen, y), _inner(x, back)
        scale = np.sqrt(_inner(seen, seen) * _inner(y, y)) + np.sqrt(_inner(x, x) * _inner(back, back))
        error = abs(left - right) / max(scale, np.finfo(float).tiny)
        return Check("adjoint", error <= ADJOINT_TOLERANCE, f"<Gx, y> and <x, Gᵀy> differ by {error:.1e} (relative)")

    def _start(self, term: DataTerm) -> Check:
        start = term.start()
        fine = start.shape == tuple(term.shape) and start.dtype.kind == "f" and bool(np.isfinite(start).all())
        fine = fine and np.isfinite(term.value(term.prox(start, 1.0)))
        return Check("start", bool(fine), f"shape {start.shape} for an unknown of shape {tuple(term.shape)}, finite")

    def _gradient(self, term: DataTerm) -> Check:
        x = self._interior(term)
        direction = self.rng.standard_normal(x.shape)
        direction /= np.sqrt(_inner(direction, direction))
        exact = _inner(term.gradient(x), direction)
        # Differences of two steps, extrapolated: the error is of the fourth order.
        wide, narrow = ((term.value(x + h * direction) - term.value(x - h * direction)) / (2 * h) for h in (2e-3, 1e-3))
        error = abs((4 * narrow - wide) / 3 - exact)
        scale = abs(exact) + np.sqrt(_inner(term.gradient(x), term.gradient(x)) / x.size) + 1e-300
        return Check(
            "gradient",
            error <= GRADIENT_TOLERANCE * scale,
            f"differs from differences by {error / scale:.1e}",
        )

    def _prox(self, term: DataTerm, rho: float) -> Check:
        v = self._random(term)
        given = v.copy()
        x = term.prox(v, rho)
        if x.shape != v.shape or not np.isfinite(x).all():
            return Check(f"prox, rho {rho:g}", False, f"returns the shape {x.shape}, or values that are not finite")
        error, scale = self._stationarity(term, x, v, rho)
        better = sum(self._objective(term, x, v, rho) > self._objective(term, x + d, v, rho) for d in self._nudges(x))
        fine = error <= STATIONARITY_TOLERANCE * scale and better == 0 and np.array_equal(given, v)
        detail = f"|∇f(x) + rho (x - v)| is {error / scale:.1e} (relative); {better} of 6 neighbours are better"
        return Check(f"prox, rho {rho:g}", bool(fine), detail)

    def _single_precision(self, term: DataTerm) -> Check:
        v = self._random(term).astype(np.float32)
        exact = term.prox(v.astype(np.float64), 0.1)
        single = self.model.data_term(_as_single(self.y)).prox(v, 0.1)
        error = float(np.max(np.abs(single - exact)))
        fine = single.dtype == np.float32 and error <= SINGLE_TOLERANCE * max(1.0, float(np.max(np.abs(exact))))
        return Check("prox, float32", fine, f"returns {single.dtype}, {error:.1e} away from float64")

    def _repeatable(self, term: DataTerm) -> Check:
        v = self._random(term)
        other = self.model.data_term(self.y)
        same = term.prox(v, 0.1).tobytes() == term.prox(v, 0.1).tobytes() == other.prox(v, 0.1).tobytes()
        return Check("repeatable", same, "the same step three times, bit for bit")

    def _stationarity(self, term: DataTerm, x: FloatArray, v: FloatArray, rho: float) -> tuple[float, float]:
        slope = term.gradient(x) + rho * (x - v)
        # Where a constraint x >= bound holds the solution, only a slope that points outside may remain.
        held = x <= lower_bound_of(term)
        slope = np.where(held, np.minimum(slope, 0.0), slope)
        before = term.gradient(self._interior(term))
        scale = np.sqrt(_inner(before, before)) + rho * np.sqrt(_inner(v, v))
        return float(np.sqrt(_inner(slope, slope))), float(scale)

    def _objective(self, term: DataTerm, x: FloatArray, v: FloatArray, rho: float) -> float:
        return term.value(x) + 0.5 * rho * _inner(x - v, x - v)

    def _nudges(self, x: FloatArray) -> Iterator[FloatArray]:
        for size in (1e-2, 1e-1, 1.0):
            step = size * self.rng.standard_normal(x.shape)
            yield step
            yield -step

    def _random(self, term: DataTerm) -> FloatArray:
        return self.rng.standard_normal(tuple(term.shape)) * 0.5 + 0.5

    def _interior(self, term: DataTerm) -> FloatArray:
        return self.rng.uniform(0.2, 0.8, tuple(term.shape))


def _inner(a: FloatArray, b: FloatArray) -> float:
    return float(np.sum(a.astype(np.float64) * b))


def _as_single(y: Any) -> Any:
    return y.astype(np.float32) if y.dtype.kind == "f" else y
