r"""Rehearsals: which lambda would be best if a first result were the truth.

How much of an image is detail that a denoiser can keep, and so how much lambda it needs, does not follow from its
spectrum: bricks, which repeat, and skies need four times what trees do. But it shows in a restoration of a part of
the image. The result :math:`x_0` has edges, texture and smoothness like the image, and it is known. So it is blurred
again, given fresh noise, and restored with several lambda, whose errors can be measured:

.. math:: y' = H x_0 + s n, \qquad L(f) = \| \hat x(y';\, f \lambda) - x_0 \|^2, \qquad f = 1, 2, 4.

**More.** :math:`x_0` lacks the finest detail, which the first restoration could not tell from noise, so the f with the
least loss is a little too large. Lambda is therefore multiplied by it only if the loss falls by about an eighth with f
= 2, and by a twentieth with f = 4, compared with f = 1: where 4 is worse than 1, the best is not 2. If the loss with 4
is up to 15 % larger, lambda is multiplied by 1.4.

The runs with f = 1 and 2 are done side by side, from the fifth iteration on compared, and given up as soon as 2 gains
too little: what a larger lambda has lost before the end, it does not regain.

**Less.** Fine lines that repeat, such as cables and print, are lost in the first denoisings if lambda is too large: f =
2 is then worse in the fifth iteration already, when elsewhere it is better by a third. If it still is in the eighth,
lambda is multiplied by 0.8.

**Where.** A window is chosen where errors are (`plugplay.tuning.windows`). If it asks for another lambda, two other
windows, with less and with more detail, are restored as well, all must agree on more or less, and the smallest factor
counts. An image that is hardly larger than a window needs only one. Colours are rehearsed by their mean, which takes
half of the time.

**Photons.** Noise that grows with the signal is drawn with the variance of :math:`x_0` at each pixel. On eight images
with 100, 1000 and 20,000 photons at white (Gaussian 1.8) the factor differs from 1 in four of 24 cases, all with 20,000
photons, and each gains: brick and camera 0.1 to 0.2 dB, moon 0.7 dB and cell 5.4 dB.

**Where not.** With hardly any noise a rehearsal only finds the lambda that its truth was made with. Behind a mild blur
(`plugplay.tuning.mild_blur`) weak detail counts, and rehearsals ask for too much lambda.

On 77 cases of ten images that were not used to find these rules the result is 0.09 dB below the best lambda on average
instead of 0.21 without a rehearsal, and 0.56 dB at worst instead of 1.44. "Rehearsals" in
``docs/automatic-experiments.md`` has what decided each threshold, and what was tried instead.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.models.description import part_of, poisson_term_of, reach_of, residual_of, simulated
from plugplay.pnp.driver import Driver
from plugplay.tuning.accuracy import step_residual
from plugplay.tuning.mild_blur import leaves_nearly_white_noise
from plugplay.tuning.rules import choose
from plugplay.tuning.windows import curvature, windows_of

if TYPE_CHECKING:
    from plugplay.models.base import DataTerm, Model
    from plugplay.noise.growing import PoissonGaussian
    from plugplay.pnp.iterations import Iteration
    from plugplay.pnp.results import Parameters
    from plugplay.tuning.case import Case

__all__ = ["REHEARSED", "Rehearsal"]

# The denoiser that the thresholds were found with.
REHEARSED = "bm3d"
# By what share of L(1) the loss must fall with f = 2 and with f = 4; and by what share of L(2) from 2 to 4.
MIN_GAIN, MIN_GAIN_BEYOND, MIN_STEP = 0.12, 0.05, 0.02
# If f = 4 does not gain that much, but loses no more than this, lambda is multiplied by the second number.
MAX_LOSS_BEYOND, SLIGHTLY_MORE = 0.15, 1.4
# Runs are compared from this iteration on: earlier ones say little about the last.
MIN_ITERATIONS = 5
# If f = 2 is worse from then until this iteration, lambda is multiplied by the second number.
LESS_ITERATIONS, LESS = 8, 0.8
# Side of a window in pixels, at least, and in units of the reach of the kernel; the least side of an image.
SIDE, SIDE_PER_REACH, MIN_SIDE = 96, 6, 64
# With less noise than this, on the working scale, there is no rehearsal.
MIN_NOISE = 0.3 / 255
SEED = 0


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Restorations of a part of an image.

    Attributes
    ----------
    model : Model
        What happened to the image.
    case : Case
        What the automatic lambda depends on.
    parameters : Parameters
        Parameters of the run that is rehearsed.
    iteration : Iteration
        The iteration of that run.
    photons : PoissonGaussian, optional
        The noise on the working scale if it grows with the signal; its gain, read-out noise and offset are known.
    """

    model: Model
    case: Case
    parameters: Parameters
    iteration: Iteration
    photons: PoissonGaussian | None = None

    def factor(self, y: FloatArray) -> float:
        """Return the factor for the automatic lambda, given the observation on the working scale."""
        if y.ndim == 3:  # the mean of n channels has noise that is lower by the root of n
            gray = replace(self.case, noise=self.case.noise / math.sqrt(y.shape[2]))
            photons = None if self.photons is None else self.photons.of_mean(y.shape[2])
            return replace(self, case=gray, photons=photons).factor(_mean_channel(y))
        noise = self.case.noise
        if min(y.shape[:2]) < MIN_SIDE or noise < MIN_NOISE or leaves_nearly_white_noise(self.case.traits, noise):
            return 1.0
        side = max(SIDE, SIDE_PER_REACH * reach_of(self.model))
        agreed = None
        # Other parts of the image may have texture where the first has none, so all windows must agree.
        for window in windows_of(y, side, curvature(noise)):
            wanted = self._factor_of(y, window)
            if wanted == 1.0 or (agreed is not None and (wanted > 1) != (agreed > 1)):
                return 1.0
            agreed = wanted if agreed is None else min(agreed, wanted)  # there is but one factor below 1
        return 1.0 if agreed is None else agreed

    def _factor_of(self, y: FloatArray, window: tuple[slice, slice]) -> float:
        """Return the factor that is best for a window."""
        part = np.ascontiguousarray(y[window])
        model = part_of(self.model, None, whole=part.shape == y.shape)
        if self.photons is not None:
            # A part has a mean variance of its own, and its data term is scaled with it, so lambda must be as well.
            photons = poisson_term_of(model, part, self.photons)
            local = replace(self, case=replace(self.case, noise=photons.noise))
            first = local._restored(photons, 1.0)
            noisy = simulated(photons, first, np.random.default_rng(SEED))
            if noisy is None:
                return 1.0
            again = poisson_term_of(model, noisy, self.photons)
            return local._compared(again, photons.crop(first))
        term = model.data_term(part)
        first = self._restored(term, 1.0)
        residual = residual_of(term, first)
        if residual is None:
            return 1.0
        noisy = part + residual + self.case.noise * np.random.default_rng(SEED).standard_normal(part.shape)
        return self._compared(model.data_term(noisy.astype(part.dtype)), term.crop(first))

    def _compared(self, again: DataTerm, truth: FloatArray) -> float:
        """Return the factor with which a known truth is restored best."""
        number, usual, twice = self._side_by_side(again, truth)
        if twice > (1 - MIN_GAIN) * usual:
            return LESS if number == LESS_ITERATIONS and twice > usual else 1.0
        most = _loss(again.crop(self._restored(again, 4.0)), truth)
        if most >= (1 - MIN_GAIN_BEYOND) * usual:
            return SLIGHTLY_MORE if most < (1 + MAX_LOSS_BEYOND) * usual else 1.0
        return 4.0 if most < (1 - MIN_STEP) * twice else 2.0

    def _side_by_side(self, term: DataTerm, truth: FloatArray) -> tuple[int, float, float]:
        """Return the losses with the usual lambda and with twice as much, and after how many iterations.

        Both runs have the same sigma at the same time, and the advantage of more lambda shrinks as they go on: once it
        gains too little, both are given up. If it is worse from the beginning they go on for a few iterations, because
        that may be chance.
        """
        number, drivers = 0, [self._driver(term, factor) for factor in (1.0, 2.0)]
        for number, states in enumerate(itertools.zip_longest(*(driver.states() for driver in drivers)), 1):
            if number >= MIN_ITERATIONS and None not in states:
                usual, twice = (_loss(term.crop(self.iteration.image(state)), truth) for state in states)
                if twice > (1 - MIN_GAIN) * usual and (number >= LESS_ITERATIONS or twice <= usual):
                    return number, usual, twice
        usual, twice = (_loss(term.crop(self.iteration.image(driver.state)), truth) for driver in drivers)
        return number, usual, twice

    def _restored(self, term: DataTerm, factor: float) -> FloatArray:
        """Return the result of a whole run with a multiple of lambda."""
        driver = self._driver(term, factor)
        driver.run()
        return self.iteration.image(driver.state)

    def _driver(self, term: DataTerm, factor: float) -> Driver:
        choice = choose(replace(self.case, strength=factor))
        own = replace(self.parameters, lam=choice.lam, schedule=choice.schedule)
        return Driver(term, own.prepared, self.iteration, own, rtol=step_residual(plain=False))  # type: ignore[arg-type]


def _loss(image: FloatArray, truth: FloatArray) -> float:
    return float(np.mean(np.square(image - truth, dtype=np.float64)))


def _mean_channel(y: FloatArray) -> FloatArray:
    """Return the mean of all channels, summed in their order."""
    return sum((y[..., c] for c in range(1, y.shape[2])), start=y[..., 0]) / y.dtype.type(y.shape[2])
