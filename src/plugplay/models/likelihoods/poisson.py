r"""Photons and read-out noise behind a linear operator: noise whose variance is a line over the brightness.

With :math:`t = G x` the noise has the variance :math:`v(t) = a t + c`, gain a, :math:`c = r^2 - a\,o` with read-out
noise r and black level o. The data term is

.. math:: f(x) = s^2 \sum_i \varphi_i\bigl((G x)_i\bigr), \qquad \varphi_i'(t) = \frac{t - y_i}{v(t)},

which is the negative log-likelihood of the shifted Poisson law, :math:`(a y + c) / a^2 \sim
\mathrm{Poisson}((a t + c) / a^2)`, up to a constant and the factor s². With s² the mean of v over the image, s is the
noise level of f as it is that of :math:`\tfrac12 \|G x - y\|^2`: the same rules choose lambda, and without gain f is
just that. Below a least variance v is constant, and so f is a square there: f itself forbids nothing, as read-out
noise puts half of the dark pixels below the black level.

**The background.** Light is not negative, which is a strong constraint where most of an image is dark: ringing beside a
bright filament would be darker than the background. `darkest` is the lower limit to which the denoiser's input may be
clipped: the level at which the variance vanishes, or the background if the image has one. An image has a background if
the lowest values of :math:`G y` differ by no more than noise and are far below the brightest.

**The step.** Where the brightness is known, f is the weighted square :math:`\tfrac12 \|W^{1/2} (G x - y)\|^2` with
:math:`W = s^2 / v`. Its gradient is that of f if the brightness is G x itself: steps with W from the x before (Fisher
scoring) converge to the step of f. During a restoration, where x changes little, one is enough.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import FloatArray, check_same_shape
from plugplay.arrays.records import Fingerprinted
from plugplay.models.base import check_step
from plugplay.models.likelihoods.masked import RELATIVE_RESIDUAL, MaskedTerm
from plugplay.models.likelihoods.scoring import minimised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.noise.growing import PoissonGaussian

__all__ = ["PoissonTerm"]

# The variance is never taken for less than that of a mean of so many photons: what an image says about the dark is
# uncertain, and weights without bound would follow it.
MIN_PHOTONS = 0.25
# An image has a background if the first two of these quantiles of the smoothed observation differ by no more than so
# many standard deviations of its noise, its minimum is not further below the first than so many of their differences,
# and the first is no further above no light at all than this share of its distance to the third: dim texture is no
# background. The bound lies as far below the first quantile as the second lies above it.
BACKGROUND = (0.05, 0.2, 0.99)
MAX_UNEVENNESS = 2.5
MAX_DEPTH = 5.0
MAX_BACKGROUND = 0.5
# Below it the integrals are summed as series, which do not cancel.
_SMALL = 1e-3


@dataclass(frozen=True, eq=False)
class PoissonTerm(Fingerprinted):
    """The shifted Poisson likelihood of a blurred, perhaps sampled and masked, image.

    Attributes
    ----------
    term : MaskedTerm
        ``½ ||M (G x - y)||²`` for the same observation: G, and where it was observed.
    gain, constant : float
        The variance of the noise is ``gain * t + constant`` where the brightness is t, ...
    floor : float
        ... and at least this.
    noise : float
        s, the root of the mean variance.
    """

    term: MaskedTerm
    gain: float
    constant: float
    floor: float
    noise: float

    @classmethod
    def build(cls, term: MaskedTerm, noise: PoissonGaussian) -> PoissonTerm:
        """Find the mean variance; `noise` is complete, on the scale of the observation."""
        if noise.gain is None or noise.read is None:
            raise ValueError(f"gain and read must be known by now; got {noise!r}")
        constant = noise.read**2 - noise.gain * noise.offset
        floor = max(noise.read**2, MIN_PHOTONS * noise.gain**2)
        unscaled = cls(term, noise.gain, constant, floor, 1.0)
        variance = unscaled._variance(unscaled._seen(unscaled.guess))[term.mask]
        return cls(term, noise.gain, constant, floor, math.sqrt(float(np.mean(variance))) if variance.size else 1.0)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x, the whole domain."""
        return self.term.shape

    @property
    def darkest(self) -> float:
        """The expected minimum of all pixels of x."""
        return self._dark[0]

    @functools.cached_property
    def _dark(self) -> tuple[float, float]:
        """The expected minimum, and up to which brightness G x is background; minus infinity if there is none."""
        smooth, mass = self._seen(self.guess)[self.term.mask], float(self.term.kernel.sum())
        if smooth.size == 0 or not mass > 0:
            return -math.inf, -math.inf
        nothing = -self.constant / self.gain
        low, next_low, high = (float(value) for value in np.quantile(smooth, BACKGROUND))
        lowest, spread = float(smooth.min()), next_low - low
        noise = math.sqrt(float(self._variance(np.array(low))) * float(np.sum(np.square(self.term.kernel)))) / mass
        flat = spread <= MAX_UNEVENNESS * noise and low - lowest <= MAX_DEPTH * spread
        if flat and low - nothing <= MAX_BACKGROUND * (high - low):
            return max(nothing, low - spread) / mass, next_low
        return min(nothing, lowest - spread) / mass, -math.inf

    @property
    def guess(self) -> FloatArray:
        """A first guess of x as bright as the image; `start` follows the observation."""
        mass = float(self.term.kernel.sum())
        first = self.term.start()
        return first / first.dtype.type(mass) if mass > 0 else first

    @functools.cached_property
    def lipschitz(self) -> float:
        """An upper bound of the Lipschitz constant of the gradient."""
        steepest = max(self.gain * float(self.term.y.max()) + self.constant, self.floor)
        return self.term.lipschitz * self.noise**2 * steepest / self.floor**2

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(x) + rho/2 ||x - v||²``, by Fisher scoring until it no longer falls."""
        rho = check_step(v, rho, self.shape)
        wanted = v.astype(np.float64)
        session = self.term.session(RELATIVE_RESIDUAL)

        def objective(x: FloatArray) -> float:
            return self.value(x) + rho / 2 * float(np.sum(np.square(x - wanted)))

        x = minimised(objective, lambda x: session.prox(wanted, rho, self._relative_variance(x)), wanted)
        return x.astype(v.dtype)

    def session(self, rtol: float = RELATIVE_RESIDUAL) -> PoissonTermSession:
        """Return steps with a memory: one of Fisher scoring each, from the x of the previous one.

        Parameters
        ----------
        rtol : float
            Relative residual at which the conjugate gradients of a step stop.
        """
        return PoissonTermSession(self, rtol)

    def value(self, x: FloatArray) -> float:
        """Return f(x), which is 0 where G x = y."""
        y = self.term.y.astype(np.float64)[self.term.mask]
        return self.noise**2 * float(np.sum(self._integral(self._seen(x)[self.term.mask], y)))

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return ``Gᵀ W (G x - y)``."""
        return self.term.pulled_back(self.term.misfit(x) / self._relative_variance(x))

    def residual(self, x: FloatArray) -> FloatArray:
        """Return ``W^½ (G x - y)`` in the observed frame: about s everywhere if x is right."""
        weight = 1 / np.sqrt(self.term.in_frame(self._relative_variance(x)))
        return self.term.residual(x) * weight.astype(self.term.y.dtype)

    def misfit(self, x: FloatArray) -> FloatArray:
        """Return ``G x - y`` in the observed frame."""
        return self.term.residual(x)

    def missing(self, x: FloatArray) -> float:
        """Return what the background of an image has too little.

        As in a star field (`plugplay.models.likelihoods.stretched`), clipping at the background moves the mean of what
        the denoiser sees, and the background comes out up to a third of its noise too dark.
        """
        misfit = self.term.misfit(x).astype(np.float64)
        background = self.term.mask & (misfit + self.term.y <= self._dark[1])
        if not background.any():
            return 0.0
        return -float(np.mean(misfit[background])) / float(self.term.kernel.sum())

    def simulated(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return an observation of x in the frame, with Gaussian noise of the variance v(G x)."""
        seen = self._seen(x)
        noisy = seen + np.sqrt(self._variance(seen)) * rng.standard_normal(seen.shape)
        return self.term.in_frame(noisy.astype(self.term.y.dtype))

    def start(self) -> FloatArray:
        """Return the observation, enlarged where it is sampled and filled in where it is not."""
        return self.term.start()

    def crop(self, x: FloatArray) -> FloatArray:
        """Return the part of x that lies in the observed frame."""
        return self.term.crop(x)

    def enter(self, image: FloatArray) -> FloatArray:
        """Return the image, continued beyond the frame by reflection."""
        return self.term.enter(image)

    def _seen(self, x: FloatArray) -> NDArray[np.float64]:
        """Return G x where it was observed; elsewhere it does not matter."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        return self.term.misfit(x).astype(np.float64) + self.term.y

    def _variance(self, seen: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(self.gain * seen + self.constant, self.floor)

    def _relative_variance(self, x: FloatArray) -> NDArray[np.float64]:
        """Return 1/W, the variance of the noise relative to s², if the image were x."""
        return self._variance(self._seen(x)) / self.noise**2

    def _integral(self, t: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the integral of ``(u - y) / v(u)`` from y to t.

        It is written as differences from y, or from where v begins to grow if y is below that: the textbook form,
        the difference of two large logarithms, loses all digits where the gain is small.
        """
        bend = (self.floor - self.constant) / self.gain
        first, last = np.maximum(y, bend), np.maximum(t, bend)
        scale = self._variance(first)
        step = last - first
        grown = self.gain * step / scale  # v(last) / v(first) - 1
        small = np.abs(grown) < _SMALL
        safe = np.where(small, 1.0, grown)
        log = np.where(small, 1 - grown / 2 + grown**2 / 3 - grown**3 / 4, np.log1p(safe) / safe)
        square = np.where(small, 1 / 2 - grown / 3 + grown**2 / 4 - grown**3 / 5, (safe - np.log1p(safe)) / safe**2)
        above = step**2 / scale * square + (first - y) * step / scale * log
        # Below the bend v is constant.
        return np.asarray(above + ((first - y) ** 2 + (t - last) * (t + last - 2 * y)) / (2 * self.floor))


class PoissonTermSession:
    """A `PoissonTerm` during one restoration: the weights follow the image."""

    def __init__(self, term: PoissonTerm, rtol: float) -> None:
        self._term, self._x = term, term.guess
        self._steps = term.term.session(rtol)

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the step of f with the weights that follow from the previous step; repeated, that of f itself."""
        self._x = self._steps.prox(v, rho, self._term._relative_variance(self._x))
        return self._x

    def warnings(self) -> tuple[str, ...]:
        """Return what a user should know about the steps so far."""
        return self._steps.warnings()
