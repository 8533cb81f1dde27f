r"""A rehearsal: which lambda would be best if a first result were the truth.

How much of an image is detail that a denoiser can keep, and how much lambda it needs, no spectrum tells: bricks, which
repeat, and skies ask for four times what trees do. A restoration of a part of the image does. Its result :math:`x_0`
has edges, texture and smoothness of the kind that the image has, and it is known. So it is blurred again, given fresh
noise, and restored once more with several lambda, and the error of each can be measured:

.. math:: y' = H x_0 + s n, \qquad L(f) = \| \hat x(y';\, f \lambda) - x_0 \|^2, \qquad f = 1, 2, 4.

As :math:`x_0` lacks the finest detail, which the first restoration could not tell from noise, L speaks for a little
more than the best lambda, and in the end never for less. Lambda is therefore multiplied by the best f only if the loss
falls by an eighth or so, and with f = 4 as well, by a twentieth: where 4 is worse than 1, the best is not twice the
usual. Where the loss with 4 is up to 15 % larger it is multiplied by 1.4, which two cases of chelsea are indifferent to
(-0.02 and -0.01 dB); one of brick, as lambda was then, wanted it (0.3 dB). Of the images that only check, three cases
of wine and retina gain 0.1 to 0.4 dB. To ask for a gain of a twelfth only would be wrong for motorcycle (box of 5
pixels, noise 20/255) and brick (Gaussian of 0.5 pixels, noise 10/255), which lose 0.2 dB each.

The runs with f = 1 and 2 are done side by side, and given up as soon as 2 gains too little: in 99 cases of
``benchmarks/automatic.py``, from the fifth iteration on, none did so that gained enough in the end, and a quarter of
the iterations is saved. A first restoration in half as many iterations would save more, but then 10 of the 13 that
speak for more no longer do.

*Less.* Fine lines that repeat, as cables and print, are lost by the first denoisings if lambda is too large: there
f = 2 is worse in the fifth iteration already, when elsewhere it is better by a third. If it is, and still is in the
eighth, lambda is multiplied by 0.8. Of 137 cases of nine images (bridge, page, camera, grass, gravel, brick,
motorcycle, chelsea and nuthatch, half of them chosen for this) 15 are of that kind, ten of bridge and five of page,
and gain 0.25 dB on average, from -0.15 to +0.72; with 0.7 they would gain 0.21 dB, from -0.67. Two cases of bridge that
are better again before that would gain 0.2 and lose 0.3 dB. Where f = 2 is better by up to a sixth in the fifth, most
of page gain as well, but brick with much noise loses up to 0.8 dB.

*Where.* The windows are where errors are (`plugplay.tuning.windows`). Most windows of the photograph Dragonfly (3
megapixels, motion of 15 pixels, noise 3/255) are out of focus and gain by twice lambda, but hold a quarter of all
errors: three windows chosen by slopes agreed on it, and 0.36 dB were lost. Curvature was chosen on Dragonfly and
Kleiber. By it, these two and twelve other photographs of 1.5 to 3 megapixels are within 0.15 dB of the better of once
and twice lambda; umang, with four times as much, keeps 0.73 dB. On 50 crops of 208 pixels (moon, astronaut, retina,
rocket, wine, seeding) the mean changes by 0.00 dB, single ones by -0.16 to +0.15 dB; 40 of other images are the same.

Where the window speaks for more, two others are asked, with less and with more detail, and the least counts: a
photograph with stripes in places (barbara, 512 x 512 pixels, the fourth of the scenarios in ``docs/automatic.md``) had
lost 0.7 dB by one window that has none. The moon and retina keep what they gained (320 x 320 pixels, +0.3 to +1.0 dB).
In an image that is hardly larger than a window all windows show much the same, and one is enough: of 99 crops of 128 x
128 pixels, where three overlap, they disagreed in two, of which one lost 0.3 and the other 0.5 dB by that.

What is compared is small, so steps of the model are not as rough as deblurring has them: with those, retina behind a
Gaussian of half a pixel (noise 20/255) kept a lambda that costs 0.56 dB instead of 0.05.

Colours are rehearsed by their mean, which takes half of the time: on 42 cases (seven colour images, three kernels, two
levels of noise) it decides as all three do except on retina, where it lost 0.07 dB on average in four of six.

*What it cannot tell.* With hardly any noise, 0.5/255, a rehearsal finds the lambda that its truth was made with. Bridge
wants four times the usual one behind a Gaussian of 1.6 pixels and half of it behind one of a pixel, camera the usual
one; made with the usual one, the truth of all three speaks for that, and made with four times as much, for two to four
times.

Behind a mild blur (`plugplay.tuning.mild_blur`) detail that is weak is seen, too, and little of it should be lost.
There is no rehearsal, which spoke for twice the best lambda on gravel (Gaussian of 0.5 pixels, noise 0.5/255) and cost
1 dB.

Found on eight crops of 128 x 128 pixels (camera, chelsea, brick, nuthatch, cell, and parts of the photographs free,
aitzgorri and sunset) with eight kernels and noise of 0.5 to 20/255, 64 cases: 0.09 dB below the best of eight lambda on
average instead of 0.38 with the line of `plugplay.tuning.rules` alone, 0.63 dB at worst instead of 2.15. Ten others
(moon, retina, seeding, rocket, wine, astronaut, text, and parts of the photographs greentock, Picture_0B and
picosdeeuropa; 77 cases) checked it: 0.09 dB instead of 0.21, 0.56 dB at worst instead of 1.44.

On the same 64 cases, with lambda as it was before (0.26 dB below the best, 1.65 at worst), other ways to tell: Stein's
estimate with seven weights of the frequencies, 0.18 to 0.51 dB, up to 5 dB lost; errors against an independent part of
the noise, 0.09 to 0.45 dB, 0.8 to 4.5 dB lost; this way without a limit for the gain, 0.13 dB, 0.3 dB lost at most, and
from a first result with twice or half of lambda 0.26 and 0.15 dB. Rehearsals that branch off late in a run, or in which
rho grows faster, or that end sooner, do not tell: bricks need their lambda from the first iteration on. Those figures
are of whole crops. In windows of 96 pixels the gap is as large (0.07 instead of 0.08 dB on half of the cases where it
was found, 0.12 instead of 0.11 where it was checked); in windows of 64 pixels one case lost 2.1 dB. On 40 crops of 208
pixels (camera, brick, chelsea, nuthatch, astronaut, rocket, retina and wine with five kernels) such windows speak for a
lambda that is 0.18 dB above the line on average, from -0.10 to +2.37 dB. Without the limit for f = 4, which was found
there, the least was -0.26 dB.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import FloatArray
from plugplay.models.description import part_of, reach_of, residual_of
from plugplay.pnp.driver import Driver
from plugplay.tuning.accuracy import step_residual
from plugplay.tuning.mild_blur import leaves_nearly_white_noise
from plugplay.tuning.rules import choose
from plugplay.tuning.windows import curvature, windows_of

if TYPE_CHECKING:
    from plugplay.models.base import DataTerm, Model
    from plugplay.pnp.iterations import Iteration
    from plugplay.pnp.results import Parameters
    from plugplay.tuning.rules import Case

__all__ = ["REHEARSED", "Rehearsal"]

# The denoiser that this was found with.
REHEARSED = "bm3d"
# Of the loss with the usual lambda, what it must fall by with twice as much and with the largest; and from 2 to 4.
MIN_GAIN, MIN_GAIN_BEYOND, MIN_STEP = 0.12, 0.05, 0.02
# Where four times as much does not gain that, but loses no more than this: a lambda between the usual and twice of it.
MAX_LOSS_BEYOND, A_LITTLE_MORE = 0.15, 1.4
# Before that, runs are not compared: the first iterations have little to do with the last.
MIN_ITERATIONS = 5
# Where twice lambda is worse from then until this iteration, less is better.
LESS_ITERATIONS, LESS = 8, 0.8
# The part that is restored, in pixels along an axis, and as a multiple of how far the kernel reaches.
SIDE, SIDE_PER_REACH, MIN_SIDE = 96, 6, 64
# Less noise than this, on the working scale, decides nothing.
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
        Of the run that is rehearsed.
    iteration : Iteration
        Its iteration.
    """

    model: Model
    case: Case
    parameters: Parameters
    iteration: Iteration

    def factor(self, y: FloatArray) -> float:
        """Return what to multiply the automatic lambda by, given the observation on the working scale."""
        if y.ndim == 3:  # colours are denoised with the groups of their mean, which has so much less noise
            gray = replace(self.case, noise=self.case.noise / math.sqrt(y.shape[2]))
            return replace(self, case=gray).factor(_mean_channel(y))
        noise = self.case.noise
        if min(y.shape[:2]) < MIN_SIDE or noise < MIN_NOISE or leaves_nearly_white_noise(self.case.traits, noise):
            return 1.0
        side = max(SIDE, SIDE_PER_REACH * reach_of(self.model))
        agreed = None
        # What one part speaks for must not spoil others, which may have texture where it has none: all must agree.
        for window in windows_of(y, side, curvature(noise)):
            spoken = self._factor_of(y, window)
            if spoken == 1.0 or (agreed is not None and (spoken > 1) != (agreed > 1)):
                return 1.0
            agreed = spoken if agreed is None else min(agreed, spoken)  # there is but one factor below 1
        return 1.0 if agreed is None else agreed

    def _factor_of(self, y: FloatArray, window: tuple[slice, slice]) -> float:
        """Return what a window speaks for."""
        noise, part = self.case.noise, np.ascontiguousarray(y[window])
        model = part_of(self.model, None, whole=part.shape == y.shape)
        term = model.data_term(part)
        first = self._restored(term, 1.0)
        residual = residual_of(term, first)
        if residual is None:
            return 1.0
        noisy = part + residual + noise * np.random.default_rng(SEED).standard_normal(part.shape)
        again, truth = model.data_term(noisy.astype(part.dtype)), term.crop(first)
        number, usual, twice = self._side_by_side(again, truth)
        if twice > (1 - MIN_GAIN) * usual:
            return LESS if number == LESS_ITERATIONS and twice > usual else 1.0
        most = _loss(again.crop(self._restored(again, 4.0)), truth)
        if most >= (1 - MIN_GAIN_BEYOND) * usual:
            return A_LITTLE_MORE if most < (1 + MAX_LOSS_BEYOND) * usual else 1.0
        return 4.0 if most < (1 - MIN_STEP) * twice else 2.0

    def _side_by_side(self, term: DataTerm, truth: FloatArray) -> tuple[int, float, float]:
        """Return the losses with the usual lambda and with twice as much, and after how many iterations.

        Both runs have the same sigma at the same time, and the longer they run, the less of an advantage has more
        lambda: what it has lost before the end, it does not win back, and both runs are given up. If it is worse at
        once they go on for a little while, as that may be chance.
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
        """Return what a whole run with a multiple of lambda makes of a part."""
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
    """Return the mean of all channels, added up in their order."""
    return sum((y[..., c] for c in range(1, y.shape[2])), start=y[..., 0]) / y.dtype.type(y.shape[2])
