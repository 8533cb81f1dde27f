"""Any linear operator: a matrix, or a `scipy.sparse.linalg.LinearOperator`."""

from __future__ import annotations

import functools
import math
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from plugplay.arrays.checks import (
    FloatArray,
    check_finite,
    check_integer,
    check_same_shape,
    check_spatial_ndim,
    float_image,
    frozen,
    numeric_array,
)
from plugplay.models.base import LinearGaussianModel, check_step
from plugplay.models.description import constant_gain_of
from plugplay.models.likelihoods.gaussian import LeastSquares
from plugplay.models.solvers import (
    POWER_MARGIN,
    Solution,
    Start,
    StepLog,
    conjugate_gradients,
    largest_eigenvalue,
    measured,
)
from plugplay.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Linear"]

# Where the conjugate gradients of a proximal step stop, relative to their right-hand side.
RELATIVE_RESIDUAL = 1e-7
SESSION_RESIDUAL = 1e-4


@dataclass(frozen=True, eq=False, init=False)
class Linear(LinearGaussianModel):
    r"""``y = G x`` with noise, for any matrix G; the proximal step is solved by conjugate gradients.

    Images are flattened in C order before G is applied, and each channel is processed separately. For convolutions and
    masks `Deblurring`, `SuperResolution` and `Inpainting` are faster and get better automatic parameters.

    Parameters
    ----------
    operator : array, sparse matrix or scipy.sparse.linalg.LinearOperator
        G, real, of shape ``(m, n)``. A `LinearOperator` needs ``matvec`` and ``rmatvec``.
    shape : tuple of int
        Shape of the image without channels, ``(H, W)`` or ``(D, H, W)``, with n pixels.
    observation_shape : tuple of int, optional
        Shape of an observation without channels, with m samples. Default: `shape` if m = n, else ``(m,)``.

    Notes
    -----
    If G maps a constant image to a constant and an observation has the shape of the image, as with a blur that varies
    in space, noise and range are estimated as for any image. Otherwise (compressive sensing, tomography) an observation
    is not an image: ``noise`` has to be given, in the units of ``G x`` with x on [0, 1].

    Products are computed in double precision. Products with a dense matrix are NumPy's, whose last bits may depend on
    the number of threads of its BLAS; those with a sparse matrix do not.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> mixing = np.random.default_rng(0).normal(0, 1 / 16, (128, 256))
    >>> model = pp.models.Linear(mixing, shape=(16, 16))
    >>> y = model.simulate(np.eye(16), noise=0.01, rng=0)
    >>> y.shape, pp.restore(y, model, noise=0.01, denoiser="tv").image.shape
    ((128,), (16, 16))
    """

    operator: Any = field(metadata={"fingerprinted": False})
    _: KW_ONLY
    shape: tuple[int, ...]
    observation_shape: tuple[int, ...]
    spatial_ndim: int
    #: What G makes of a fixed random image: tells one operator from another in fingerprints.
    probe: NDArray[np.float64]

    def __init__(self, operator: Any, *, shape: Sequence[int], observation_shape: Sequence[int] | None = None) -> None:
        matrix = _checked_operator(operator)
        samples, pixels = (int(n) for n in matrix.shape)
        image = _checked_shape(shape, "shape", pixels, "columns")
        check_spatial_ndim(len(image))
        if observation_shape is None:
            observation_shape = image if samples == pixels else (samples,)
        observation = _checked_shape(observation_shape, "observation_shape", samples, "rows")
        object.__setattr__(self, "operator", matrix)
        object.__setattr__(self, "shape", image)
        object.__setattr__(self, "observation_shape", observation)
        object.__setattr__(self, "spatial_ndim", len(image))
        object.__setattr__(self, "probe", frozen(self._probed(np.random.default_rng(0).standard_normal(image))))

    @property
    def leading_axes(self) -> int:  # type: ignore[override]
        """How many axes an observation has more than the image; negative if it has fewer."""
        return len(self.observation_shape) - len(self.shape)

    @functools.cached_property
    def norm(self) -> float:
        """The largest singular value of G, measured by power iteration and rounded up by a twentieth."""
        first = np.random.default_rng(0).standard_normal(self.shape)
        return POWER_MARGIN * math.sqrt(largest_eigenvalue(lambda x: self.adjoint(self.forward(x)), first))

    @functools.cached_property
    def constant_gain(self) -> float | None:
        """What G makes of a constant image of 1, if that is constant too; else None."""
        return constant_gain_of(self.forward(np.ones(self.shape)))

    @property
    def observes_images(self) -> bool:
        """Whether an observation is an image, on the scale of the restored one."""
        return self.observation_shape == self.shape and bool(self.constant_gain)

    def traits(self, y: FloatArray) -> Traits:  # noqa: ARG002 - the same for all observations
        """Return what this model says about itself, which was measured."""
        return Traits(
            observes="intensities" if self.observes_images else "projections",
            spatial_ndim=self.spatial_ndim,
            unknowns_per_sample=math.prod(self.shape) / math.prod(self.observation_shape),
            norm=self.norm,
            constant_gain=self.constant_gain,
            leaves="coloured",
        )

    def forward(self, x: ArrayLike) -> FloatArray:
        """Return G x."""
        image = float_image(x, "x", spatial_ndim=self.spatial_ndim)
        check_same_shape(image, self.shape + image.shape[self.spatial_ndim :], "x", "the model's image")
        return _applied(self.operator, image, self.shape, self.observation_shape)

    def adjoint(self, y: ArrayLike) -> FloatArray:
        """Return Gᵀ y."""
        return _applied(self.operator.T, self._samples(y), self.observation_shape, self.shape)

    def data_term(self, y: ArrayLike) -> LinearTerm:
        """Return ``f(x) = ½ ||G x - y||²``."""
        samples = self._samples(y)
        check_finite(samples, "y")
        return LinearTerm(self, frozen(samples))

    def _samples(self, y: ArrayLike) -> FloatArray:
        samples = numeric_array(y, "y")
        if samples.dtype.kind != "f":
            raise TypeError(f"y has dtype {samples.dtype}, but floats in the units of G x are needed here")
        rank = len(self.observation_shape)
        channels = samples.shape[rank : rank + 1]
        check_same_shape(samples, self.observation_shape + channels, "y", "the model's observation")
        return samples if samples.dtype == np.float32 else samples.astype(np.float64, copy=False)

    def _probed(self, image: FloatArray) -> FloatArray:
        """Return G of an image, after a look at whether G and Gᵀ can be applied."""
        try:
            seen = self.forward(image)
            back = self.adjoint(seen)
        except NotImplementedError:
            raise TypeError(
                f"operator must have matvec and rmatvec, the products with G and with its transpose; {self.operator!r} "
                "lacks one of them"
            ) from None
        if not (np.isfinite(seen).all() and np.isfinite(back).all()):
            raise ValueError("operator maps a finite image to NaN or infinite values")
        return seen


@dataclass(frozen=True, eq=False)
class LinearTerm(LeastSquares):
    r"""``f(x) = ½ ||G x - y||²`` for a `Linear` model.

    The proximal step is :math:`x = v + d` with :math:`(G^T G + \rho I)\, d = G^T (y - G v)`, which loses nothing where
    rho is large.
    """

    model: Linear
    y: FloatArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""
        return self.model.shape + self.y.shape[len(self.model.observation_shape) :]

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the gradient, the largest eigenvalue of GᵀG."""
        return self.model.norm**2

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return ``(GᵀG + rho I)⁻¹ (Gᵀy + rho v)`` to a relative residual of 1e-7."""
        return self.step(v, rho, np.zeros(self.shape), RELATIVE_RESIDUAL)[0]

    def session(self, rtol: float = RELATIVE_RESIDUAL) -> LinearTermSession:
        """Return this data term with a memory, so that each step starts from the previous one's solution.

        The normal equations square the condition of G, so that a residual is asked for that is as much smaller.
        """
        return LinearTermSession(self, min(rtol, SESSION_RESIDUAL))

    def step(self, v: FloatArray, rho: float, guess: FloatArray, rtol: float) -> tuple[FloatArray, Solution]:
        """Return the proximal step, starting from a guess of x - v, and how it was found."""
        rho = check_step(v, rho, self.shape)
        target = v.astype(np.float64)
        model = self.model
        solution = conjugate_gradients(
            measured(lambda d: model.adjoint(model.forward(d)) + rho * d),
            model.adjoint(self.y.astype(np.float64) - model.forward(target)),
            start=Start(guess),
            rtol=rtol,
        )
        return (target + solution.w).astype(v.dtype), solution

    def start(self) -> FloatArray:
        """Return y if it is an image, else the best multiple of Gᵀy."""
        if self.model.observes_images:
            assert self.model.constant_gain is not None  # of images there is one
            return self.y / self.y.dtype.type(self.model.constant_gain)
        back = self.model.adjoint(self.y)
        seen = self.model.forward(back)
        power = float(np.sum(np.square(seen, dtype=np.float64)))
        # The step along the gradient, from zero, that leaves the least.
        length = float(np.sum(np.square(back, dtype=np.float64))) / power if power > 0 else 0.0
        return back * back.dtype.type(length)

    def _misfit(self, x: FloatArray) -> FloatArray:
        return self.model.forward(x) - self.y

    def _adjoint(self, residual: FloatArray) -> FloatArray:
        return self.model.adjoint(residual)


class LinearTermSession:
    """A `LinearTerm` during one restoration; it remembers the solution of the last step."""

    def __init__(self, term: LinearTerm, rtol: float) -> None:
        self._term, self._rtol = term, rtol
        self._last: FloatArray | None = None
        self._log = StepLog(rtol)

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²`` to the residual of the session."""
        guess = np.zeros(self._term.shape) if self._last is None else self._last - v.astype(np.float64)
        x, solution = self._term.step(v, rho, guess, self._rtol)
        self._last = x
        self._log.record(solution)
        return x

    def warnings(self) -> tuple[str, ...]:
        """Return what a user should know about the steps so far."""
        return self._log.warnings("the operator is badly conditioned, its adjoint is not its transpose, or rho is tiny")


def _checked_operator(operator: Any) -> Any:
    """Return a dense matrix as a read-only array, a sparse one by rows, and a linear operator as it is."""
    if scipy.sparse.issparse(operator):
        matrix: Any = scipy.sparse.csr_array(operator, copy=True)
    elif hasattr(operator, "matvec") and hasattr(operator, "shape"):
        matrix = operator
    else:
        matrix = frozen(numeric_array(operator, "operator"))
    if len(matrix.shape) != 2:
        raise ValueError(f"operator must be a matrix, of shape (samples, pixels); got the shape {tuple(matrix.shape)}")
    if np.dtype(matrix.dtype).kind not in "biuf":
        raise TypeError(f"operator must be real; got dtype {matrix.dtype}: stack its real and imaginary parts")
    return matrix


def _checked_shape(shape: Sequence[int], name: str, size: int, what: str) -> tuple[int, ...]:
    checked = tuple(check_integer(n, name, minimum=1) for n in shape)
    if math.prod(checked) != size:
        raise ValueError(f"{name} {checked} has {math.prod(checked)} elements, but operator has {size} {what}")
    return checked


def _applied(matrix: Any, array: FloatArray, before: tuple[int, ...], after: tuple[int, ...]) -> FloatArray:
    """Return the product with the flattened array, channel by channel, in the array's own precision."""
    channels = array.shape[len(before) :]
    flat = array.astype(np.float64).reshape(math.prod(before), *channels)
    product: FloatArray = np.asarray(matrix @ flat).reshape(*after, *channels).astype(array.dtype)
    return product
