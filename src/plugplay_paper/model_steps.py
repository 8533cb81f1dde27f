r"""How the model's step is taken: the paper's closed form, and two ways of related work for super-resolution.

Brifman, Romano and Elad (2016) solve the step by conjugate gradients. Run to the end, they give the same iterates, and
only the time differs. Almeida and Figueiredo (2013) split once more, :math:`z = H x` with a penalty :math:`\mu`, so
that blur and sampling part:

.. math::

    x &= \arg\min_x \tfrac{\mu}{2} \|H x - (z - d)\|^2 + \tfrac{\rho}{2} \|x - (v - u)\|^2
      && \text{(a division of Fourier transforms)} \\
    z &= \arg\min_z \tfrac12 \|S z - y\|^2 + \tfrac{\mu}{2} \|z - (H x + d)\|^2 && \text{(pixel by pixel)} \\
    d &\leftarrow d + H x - z.

Every part is exact and cheap, but x is no longer the minimiser that the denoiser's step expects, only on its way there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import fft

from plugplay.models import SuperResolution
from plugplay_paper.conjugate_gradients import NormalEquations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.models import DataTerm, Model
    from plugplay_paper.arrays import FloatArray

__all__ = ["ClosedForm", "ConjugateGradients", "ModelStep", "TwoSplits"]

# Far above what the accuracy needs; reached only if something is wrong.
MAX_ITER = 3000


class ModelStep(Protocol):
    """A frozen dataclass that says how the step is taken."""

    def data_term(self, model: Model, y: FloatArray) -> DataTerm:
        """Bind a model to an observation."""
        ...


@dataclass(frozen=True)
class ClosedForm:
    """The model's own step."""

    def data_term(self, model: Model, y: FloatArray) -> DataTerm:
        """Bind a model to an observation."""
        return model.data_term(y)


@dataclass(frozen=True)
class ConjugateGradients:
    """Conjugate gradients in double precision, which begin at v.

    Attributes
    ----------
    accuracy : float
        They stop where the error is at most about this much of the image. An error e leaves a residual of at least
        rho e, so that the residual has to fall below rho times the accuracy.
    """

    accuracy: float = 1e-4

    def data_term(self, model: Model, y: FloatArray) -> DataTerm:
        """Bind a model to an observation."""
        exact = model.data_term(y.astype(np.float64))
        return _ConjugateGradientTerm(model.data_term(y), NormalEquations.of(exact), self.accuracy)


@dataclass(frozen=True)
class TwoSplits:
    r"""One pass of the split into blur and sampling for each iteration.

    Attributes
    ----------
    penalty : float
        :math:`\mu`.
    """

    penalty: float

    def data_term(self, model: Model, y: FloatArray) -> DataTerm:
        """Bind a model to an observation."""
        if not isinstance(model, SuperResolution) or model.boundary != "circular" or model.mask is not None:
            raise TypeError(f"two splits are for super-resolution on a circular domain; got {model!r}")
        return _TwoSplitTerm(model.data_term(y), model, y, self.penalty)


@dataclass(frozen=True, eq=False)
class _OtherStep:
    """A data term on a circular domain that leaves all but its step to another one."""

    term: DataTerm

    @property
    def shape(self) -> tuple[int, ...]:
        return self.term.shape

    def value(self, x: FloatArray) -> float:
        return self.term.value(x)

    def gradient(self, x: FloatArray) -> FloatArray:
        return self.term.gradient(x)

    def start(self) -> FloatArray:
        return self.term.start()

    def crop(self, x: FloatArray) -> FloatArray:
        return x  # a circular domain is the frame

    def enter(self, x: FloatArray) -> FloatArray:
        return x


@dataclass(frozen=True, eq=False)
class _ConjugateGradientTerm(_OtherStep):
    equations: NormalEquations
    accuracy: float

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        exact = v.astype(np.float64)
        rtol = self.accuracy * min(rho, 1.0)
        return self.equations.solve(exact, rho, start=exact, rtol=rtol, max_iter=MAX_ITER).astype(v.dtype)


@dataclass(frozen=True, eq=False)
class _TwoSplitTerm(_OtherStep):
    model: SuperResolution
    y: FloatArray
    penalty: float

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser, to which the passes of a session lead while v and rho stay."""
        return self.term.prox(v, rho)

    def session(self, rtol: float | None = None) -> _TwoSplitSession:  # noqa: ARG002
        """Return the passes of one run; they know no tolerance."""
        return _TwoSplitSession(self)


class _TwoSplitSession:
    """The variables z and d of one run."""

    def __init__(self, term: _TwoSplitTerm) -> None:
        first = term.start()
        self._y, self._penalty = term.y, term.penalty
        blur = _transfer_function(term.model.kernel, first.shape[:2])
        self._blur = blur.reshape(*blur.shape, *(1,) * (first.ndim - 2))  # one for all channels
        every = slice(term.model.offset, None, term.model.factor)
        self._sampled = (every, every)
        self._z = _inverse(self._blur * _transform(first), first)
        self._d = np.zeros_like(first)

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Pass once over x, z and d."""
        mu = self._penalty
        right = mu * self._blur.conj() * _transform(self._z - self._d) + rho * _transform(v)
        spectrum = right / (mu * np.abs(self._blur) ** 2 + rho)
        blurred = _inverse(self._blur * spectrum, v)
        z = blurred + self._d
        z[self._sampled] = (self._y + mu * z[self._sampled]) / (1 + mu)
        self._d = self._d + blurred - z
        self._z = z
        return _inverse(spectrum, v)


def _transfer_function(kernel: FloatArray, shape: tuple[int, ...]) -> NDArray[np.complex128]:
    """Return the Fourier transform of a kernel whose centre is at index ``n // 2``."""
    padded = np.zeros(shape)
    padded[: kernel.shape[0], : kernel.shape[1]] = kernel
    return _transform(np.roll(padded, (-(kernel.shape[0] // 2), -(kernel.shape[1] // 2)), axis=(0, 1)))


def _transform(image: FloatArray) -> NDArray[Any]:
    spectrum: NDArray[Any] = fft.rfft2(image, axes=(0, 1))
    return spectrum


def _inverse(spectrum: NDArray[Any], like: FloatArray) -> FloatArray:
    image: FloatArray = fft.irfft2(spectrum, s=like.shape[:2], axes=(0, 1)).astype(like.dtype)
    return image
