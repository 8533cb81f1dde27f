r"""Star fields: an exact likelihood for an image that the denoiser sees on a stretch.

The brightest star of an exposure is thousands of times the noise of its sky. No denoiser does well by both at once:
told the noise of the sky, it takes the photon noise and the sidelobes of a star for detail; told that of the star, it
wipes out the sky. Astronomers look at such images through a stretch, and so does the denoiser here. With the sky b,
which may be uneven (`plugplay.noise.sky`), and its noise s, the image is :math:`x = b + s\,g(z)`,

.. math:: g(z) = z \;\text{ for } z \le 0, \qquad g(z) = z + \frac{z^2}{4 \tau} \;\text{ for } z > 0,

so that :math:`g'(z) = \sqrt{1 + g(z) / \tau}` above the sky: if a pixel of brightness t (in units of s, above the sky)
has noise of variance :math:`1 + t / \tau`, as photons have with :math:`\tau = s / \text{gain}`, z has that of 1
everywhere. The loop runs on z, and only the prior is stretched: the data term is the likelihood of photons behind the
blur, that of `plugplay.models.likelihoods.poisson`, at x.

**The step.** Around the z of the step before, g is a line with the slope D, and

.. math:: z = w + D H^T \eta, \qquad (M H D^2 H^T M + \rho\,\mathrm{diag}(d))\, \eta
          = M \bigl(t - H (g(z_0) + D (w - z_0))\bigr)

with the variances :math:`d = 1 + \max(H g(z_0), 0) / \tau` and the observation t is the minimiser of f plus
:math:`\tfrac\rho2 \|z - w\|^2` (Gauss and Newton); repeated, that of f itself. D² and d
belong together, so that the equations divided by the root of d are nearly those of uniform noise, which precondition
them.

**What is possible.** Nothing is darker than the sky of its place but by noise, and nothing is too bright. Pixels that
have saturated only tell that they are: what lies around a star decides about its core
(`plugplay.models.likelihoods.saturation`), and what is no star is left out.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from plugplay.arrays.checks import FloatArray, check_same_shape, frozen
from plugplay.arrays.records import Fingerprinted
from plugplay.models.base import check_step
from plugplay.models.likelihoods.masked import MaskedTerm
from plugplay.models.likelihoods.masked_system import MaskedSystem
from plugplay.models.likelihoods.poisson import PoissonTerm
from plugplay.models.likelihoods.saturation import completed
from plugplay.models.likelihoods.scoring import minimised
from plugplay.models.operators.interpolation import Enlarged
from plugplay.models.solvers import Start, StepLog, conjugate_gradients, measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray
    from plugplay.noise.sky import Sky

__all__ = ["Stretch", "StretchedTerm", "saturated_pixels"]

# What the noise of the sky is on the scale of the denoiser.
LEVEL = 0.02
# How far below the sky the denoiser's input may be, in units of the sky's noise.
DEPTH = 0.7
# Where an image is so close to the sky, and explains the observation so well, it is sky, in units of its noise.
FAINT, EXPLAINED = 1.0, 4.0
# Relative residual of the steps: a star's is thousands of times that of the sky.
STEP_RESIDUAL = 1e-3
# A residual beyond so many standard deviations counts as so many: where a star lies between pixels, no image on the
# grid explains its core, which says nothing about the noise.
MAX_RESIDUAL = 4.0
# The highest value is where pixels saturate if at least so many have it, and no fewer than are less than a standard
# deviation below: the brightest of a few counts are alike by chance.
MIN_SATURATED = 4
# A step on its own ends when f falls by less than this share.
_EXACT = 1e-12


@dataclass(frozen=True)
class Stretch:
    """The stretch g for one tau, in units of the sky's noise.

    Attributes
    ----------
    tau : float
        The brightness at which the photons of a star add as much noise as the sky has.

    Examples
    --------
    >>> import numpy as np
    >>> stretch = Stretch(10.0)
    >>> stretch.inverse(np.array([-1.0, 0.0, 20.0])), stretch.forward(np.array([-1.0, 0.0, 30.0]))
    (array([-1.,  0., 30.]), array([-1.,  0., 20.]))
    """

    tau: float

    def forward(self, t: FloatArray) -> FloatArray:
        """Return the z for a brightness."""
        # Written so that nothing cancels where t is small.
        root = np.sqrt(1 + np.maximum(t, 0) / t.dtype.type(self.tau))
        return np.where(t > 0, 2 * t / (1 + root), t)

    def inverse(self, z: FloatArray) -> FloatArray:
        """Return g(z)."""
        return z + np.square(np.maximum(z, 0)) / z.dtype.type(4 * self.tau)

    def slope(self, z: FloatArray) -> FloatArray:
        """Return g'(z)."""
        return 1 + np.maximum(z, 0) / z.dtype.type(2 * self.tau)


@dataclass(frozen=True, eq=False)
class StretchedTerm(Fingerprinted):
    """The likelihood of a blurred star field, for z times `LEVEL`.

    Attributes
    ----------
    term : MaskedTerm
        ``½ ||M (H t - y)||²`` for the observation in units of the sky's noise, above the sky.
    stretch : Stretch
        g.
    sky : array
        b on the whole domain, on the scale of the observation.
    spread, dip : float
        s, and how far the darkest part of the sky is below b, in units of s.
    saturated, completed : int
        How many pixels were left out because they have saturated, or follow from the surroundings of their star.
    """

    term: MaskedTerm
    stretch: Stretch
    sky: FloatArray
    spread: float
    dip: float = 0.0
    saturated: int = 0
    completed: int = 0

    @classmethod
    def build(cls, term: MaskedTerm, base: NDArray[np.float64], *, sky: Sky, tau: float) -> StretchedTerm:
        """Find saturated pixels, and change to units of the sky's noise.

        Parameters
        ----------
        term : MaskedTerm
            The observation as it is.
        base : array
            The brightness of its sky on the whole domain.
        sky, tau : Sky, float
            The noise of the sky, and where photons double its variance.
        """
        spread, mass, dtype = sky.noise, float(term.kernel.sum()), term.y.dtype
        uneven = ((base - sky.level) / mass).reshape(base.shape + (1,) * (term.y.ndim - base.ndim))
        uneven = np.broadcast_to(uneven, term.shape).astype(dtype)
        full = saturated_pixels(term.y, term.mask, sky=sky, spatial_ndim=term.kernel.ndim)
        above = (-term.misfit(uneven).astype(np.float64) - sky.level) / spread
        y, stars = completed(np.where(term.mask, above, 0.0).astype(dtype), term.mask, full, term.kernel / mass, tau)
        darkness = uneven.astype(np.float64) + sky.level / mass
        first = ((term.start().astype(np.float64) / mass - darkness) / spread).astype(dtype)
        first = np.where(stars, y / dtype.type(mass), first)
        guess = Enlarged.exactly(first, spatial_ndim=term.kernel.ndim)
        inner = replace(term, y=y, mask=term.mask & ~(full & ~stars), first=guess)
        known = int(np.count_nonzero(stars))
        left_out = int(np.count_nonzero(full)) - known
        return cls(
            inner, Stretch(tau), frozen(darkness.astype(dtype)), spread, sky.dip / (spread * mass), left_out, known
        )

    @property
    def noise(self) -> float:
        """The noise of the sky on the scale of z."""
        return LEVEL

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of z, the whole domain."""
        return self.term.shape

    @property
    def possible(self) -> tuple[float, float]:
        """The range in which the denoiser's input is expected."""
        return -(self.dip + DEPTH) * LEVEL, math.inf

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the minimiser of ``f(z) + rho/2 ||z - v||²`` near v."""
        rho = check_step(v, rho, self.shape)
        wanted = v.astype(np.float64) / LEVEL
        steps = StretchedSession(self, 1e-10, exact=True)

        def objective(z: FloatArray) -> float:
            return self._value(z.astype(np.float64, copy=False)) + rho / 2 * float(np.sum(np.square(z - wanted)))

        z = minimised(objective, lambda z: steps.towards(wanted, rho, z), wanted, min_decrease=_EXACT)
        return (LEVEL * z).astype(v.dtype)

    def session(self, rtol: float = STEP_RESIDUAL) -> StretchedSession:
        """Return steps with a memory, one of Gauss and Newton each."""
        return StretchedSession(self, min(rtol, STEP_RESIDUAL))

    def value(self, x: FloatArray) -> float:
        """Return f, which is 0 where the observation is explained."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        return LEVEL**2 * self._value(x.astype(np.float64) / LEVEL)

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of f."""
        z = x / x.dtype.type(LEVEL)
        return self.stretch.slope(z) * self._photons.gradient(self.stretch.inverse(z)) * x.dtype.type(LEVEL)

    def residual(self, x: FloatArray) -> FloatArray:
        """Return what is not explained in the observed frame, in units of its noise (times `LEVEL`)."""
        misfit, variance = self._misfit(x / x.dtype.type(LEVEL))
        relative = np.clip(misfit / np.sqrt(variance), -MAX_RESIDUAL, MAX_RESIDUAL)
        return self.term.in_frame(relative * x.dtype.type(LEVEL))

    def missing(self, x: FloatArray) -> float:
        """Return what the sky of an image has too little, on the scale of the observation.

        Clipping moves the mean of what the denoiser sees, first of noise and then of less and less of it, and a run
        ends before that is made up for: a sky comes out a hundredth of its noise too dark.
        """
        misfit = self.term.misfit(self.stretch.inverse(x / x.dtype.type(LEVEL)))
        sky = self.term.mask & (np.abs(misfit) < EXPLAINED) & (np.abs(misfit + self.term.y) < FAINT)
        if not sky.any():
            return 0.0
        return -self.spread * float(np.mean(misfit[sky], dtype=np.float64)) / float(self.term.kernel.sum())

    def start(self) -> FloatArray:
        """Return the observation on the stretch."""
        first = self.term.start()
        return self.stretch.forward(first) * first.dtype.type(LEVEL)

    def crop(self, x: FloatArray) -> FloatArray:
        """Return the image in the observed frame, on the scale of the observation."""
        t = self.stretch.inverse(self.term.crop(x).astype(np.float64) / LEVEL)
        return (t * self.spread + self.term.crop(self.sky)).astype(x.dtype)

    def enter(self, image: FloatArray) -> FloatArray:
        """Return the image on the stretch, continued beyond the frame by reflection."""
        t = (image.astype(np.float64) - self.term.crop(self.sky)) / self.spread
        return self.term.enter((LEVEL * self.stretch.forward(t)).astype(image.dtype))

    def _misfit(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return M (H g(z) - y) and the variance d that belongs to it."""
        misfit = self.term.misfit(self.stretch.inverse(z))
        return misfit, self._variance(misfit + self.term.y)

    def _variance(self, seen: FloatArray) -> FloatArray:
        return 1 + np.maximum(seen, 0) / seen.dtype.type(self.stretch.tau)

    def _value(self, z: NDArray[np.float64]) -> float:
        return self._photons.value(self.stretch.inverse(z))

    @functools.cached_property
    def _photons(self) -> PoissonTerm:
        """The likelihood of t, in units of the sky's noise."""
        return PoissonTerm(self.term, 1 / self.stretch.tau, 1.0, 1.0, 1.0)


class StretchedSession:
    """A `StretchedTerm` during one restoration; it remembers the last step."""

    def __init__(self, term: StretchedTerm, rtol: float, *, exact: bool = False) -> None:
        self._term, self._rtol = term, rtol
        self._system = MaskedSystem.build(term.term, np.float64 if exact else term.term.first.dtype.type)
        self._last = term.stretch.forward(term.term.start().astype(self._system.y.dtype))
        self._scaled: FloatArray | None = None
        self._log = StepLog(rtol)

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the step with slopes and weights that follow from the previous one."""
        rho = check_step(v, rho, self._term.shape)
        level = v.dtype.type(LEVEL)
        self._last = self.towards(v / level, rho, self._last)
        return np.asarray(self._last * level)

    def towards(self, wanted: FloatArray, rho: float, z: FloatArray) -> FloatArray:
        """Return the minimiser of f plus ``rho/2 ||z - wanted||²`` with f linearised around z."""
        system, stretch = self._system, self._term.stretch
        dtype = system.y.dtype
        wanted, z = wanted.astype(dtype, copy=False), z.astype(dtype, copy=False)
        slope = stretch.slope(z)
        t = stretch.inverse(z)
        root = np.sqrt(self._term._variance(system.misfit(t) + system.y))
        rhs = -system.misfit(t + slope * (wanted - z)) / root
        weight = dtype.type(rho)
        inverse = 1 / (system.blur.gram + weight)
        nothing = dtype.type(0)

        def applied(eta: FloatArray) -> FloatArray:
            seen = system.seen(np.square(slope) * system.adjoint(np.where(system.mask, eta / root, nothing)))
            return np.where(system.mask, seen / root, nothing) + weight * eta

        def preconditioned(eta: FloatArray) -> FloatArray:
            return np.where(system.mask, system.filtered(eta, inverse), nothing)

        solution = conjugate_gradients(
            measured(applied),
            rhs,
            start=Start(None if self._scaled is None else self._scaled / weight),
            preconditioner=measured(preconditioned),
            rtol=self._rtol,
        )
        self._scaled = weight * solution.w
        self._log.record(solution)
        return wanted + slope * system.adjoint(np.where(system.mask, solution.w / root, nothing))

    def warnings(self) -> tuple[str, ...]:
        """Return what a user should know about the steps so far."""
        left_out, known = self._term.saturated, self._term.completed
        told = [f"{known} saturated pixels were reconstructed from the surroundings of their stars"] * (known > 0)
        told += [f"{left_out} saturated pixels were left out"] * (left_out > 0)
        return (*told, *self._log.warnings("the mask leaves too few pixels, or rho is tiny"))


def saturated_pixels(y: FloatArray, mask: BoolArray, *, sky: Sky, spatial_ndim: int = 2) -> BoolArray:
    """Return where pixels have saturated, and their neighbours: charge flows over.

    Parameters
    ----------
    y, mask : arrays
        The observation, and which of it counts.
    sky : Sky
        Its sky.
    spatial_ndim : int
        Number of spatial axes.

    Examples
    --------
    >>> import numpy as np
    >>> from plugplay.noise.sky import find_sky
    >>> y = np.random.default_rng(0).normal(size=(32, 32))
    >>> y[10:12, 10:13] = 900.0
    >>> int(saturated_pixels(y, np.ones(y.shape, bool), sky=find_sky(y, 1.0)).sum())
    20
    """
    none = np.zeros(y.shape, np.bool_)
    if not mask.any():
        return none
    highest = float(y[mask].max())
    full = mask & (y >= highest - 1e-6 * abs(highest))
    count = int(np.count_nonzero(full))
    below = int(np.count_nonzero(mask & (y >= highest - sky.noise))) - count
    if count < max(MIN_SATURATED, below) or highest < sky.level + 10 * sky.noise:
        return none
    whole = np.ones((3,) * spatial_ndim + (1,) * (y.ndim - spatial_ndim), np.bool_)
    grown: BoolArray = ndimage.binary_dilation(full, whole) & mask
    return grown
