"""Monitoring of a run: whether it contradicts the noise level that was assumed.

Six signs show that lambda was too small, that is, that there is more noise (or a worse model) than was assumed:

* **The residual** ``G x - y`` is larger than the noise. With the right noise it is a little smaller, 0.8 to 1.0 of it;
  a wrong kernel or underestimated noise leaves more. At the frequencies where the blur leaves least of the image, the
  residual is the noise itself, which must not exceed the assumed level in dark or in bright places
  (`plugplay.tuning.weakest`).
* **There is more noise in dark than in bright places**, as if the values were gamma-encoded. The effect of such a curve
  on the blur is then assumed as noise (`plugplay.tuning.curve_misfit`).
* **The multiplier grows.** In a sound run u is what the denoiser removed. Noise that accumulates in u drives x + u out
  of the range of images, where it is clipped, and u becomes much larger than what the denoiser removed: up to 1.8 times
  in sound runs, 2 to 4 times in runs that end in noise. Where a quarter of an image is white, it is 2.8 times in sound
  runs and 3.6 to 8 times in others.
* **The restored image is noisier than the observation.** Texture looks like noise, too. A second run with a stronger
  prior decides: it removes noise and keeps texture. If the residual also indicates more noise, a lower limit applies:
  gravel, Gaussian 0.5, noise 5, told 3, had been below its input.
* **The restored image rings**: `plugplay.tuning.ringing`. Images of parallel lines look similar, but a stronger prior
  removes ringing and keeps lines.
* **The restored image has structure where the observation is flat**: `plugplay.tuning.flatness`. If it does not fade
  with a stronger prior, it is real: bricks of low contrast had lost 8 dB by being restored with an ever higher noise
  level.

One sign shows that lambda was too large:

* **The residual is far smaller than the noise**, also where the blur leaves least of an image, so that it should
  contain nearly all of the noise. A denoiser that keeps texture together with its noise leaves a small residual as
  well. A second run, with the level of that residual, decides: with texture it leaves hardly any. JPEG files and
  demosaicked photographs have less noise at these frequencies, which noise estimates take into account, so for those
  only given levels are lowered.

If the second run does not tell noise from texture, the result is a weighted mean of both runs: their errors differ, and
the mean is nearly as good as the better one and far better than the worse (`Watch.share`).

The figures come from runs with BM3D on crops of scikit-image's camera, motorcycle and gravel with ten kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.models.description import misfit_of, residual_of
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.curve_misfit import CURVED, curve_misfit
from plugplay.tuning.flatness import structure_in_flat_places
from plugplay.tuning.ringing import ringing
from plugplay.tuning.rules import MIN_NOISE
from plugplay.tuning.signs import Sign, Suggestion
from plugplay.tuning.weakest import WeakNoise, weak_noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray
    from plugplay.arrays.scale import Scale
    from plugplay.models.base import DataTerm
    from plugplay.pnp.state import History, State
    from plugplay.tuning.doubts import Seen

__all__ = ["MAX_RERUNS", "Sign", "Suggestion", "Watch"]

MAX_RERUNS = 3
# Limits of the residual in units of the assumed noise: of its RMS, or that in a quarter of the pixels where the image
# is weakest; if the noise there is uneven, before and after the level was raised. No single level fits uneven noise:
# once it was raised, some noise in dark places costs less than detail elsewhere.
MAX_RESIDUAL, MAX_UNEVEN_RESIDUAL, MAX_UNEVEN_RESIDUAL_AGAIN = 1.25, 1.1, 1.5
# In units of the noise that was assumed first: below this, a residual that falls with the brightness may be a rest of
# detail.
MIN_CURVED_RESIDUAL = 0.8
# The residual in units of the assumed noise, of all frequencies and of those where the image is weakest: 0.5 to 0.62
# and 0.5 to 0.57 if the given level was twice too high, 0.74 to 0.78 in both where an estimate was 1.3 and 1.5 times
# too high (grass, coins), and 0.68 and 0.9 or more in sound runs with texture.
MAX_EXCESS_RESIDUAL = 0.8
# The residual of the second run where the image is weakest, as a share of that of the first: 0.95 or more if there was
# so much noise. With texture behind a mild blur it is 0.2 to 0.7 whether the first level had been right or not; with
# other blurs 0.45 to 0.75 occurred only where it had been wrong.
MIN_RESIDUAL_AGAIN, MIN_RESIDUAL_LEFT = 0.75, 0.3
# The weight of the second run in the result if nothing tells which one is right.
NOISE_OR_TEXTURE, EXCESS_OR_TEXTURE = 1 / 3, 1 / 2
# The share of the residual that is taken for noise at least.
NOISE_IN_RESIDUAL = 0.7
# JPEG of quality 92 and 95 left 13 to 14/255 there of 20/255 (motorcycle, chelsea).
TAKEN_BY_JPEG = 1.5
# The least share of a given level that is assumed. Where compression smoothed an image, hardly any residual is left,
# and what a run assumed was far too little: smooth photographs, as JPEG files of quality 77 to 85, lost 2 to 7 dB with
# 4 to 16/255 told.
MIN_OF_GIVEN = 0.5
# The factor by which the noise is raised if a run only shows that it was too low. It grows if the noise was raised
# before, except behind a mild blur, where too high a level costs most (chelsea, Gaussian 0.5, stored with gamma: 1.4 dB
# below its input with 9/255, 2.8 dB above with 3/255).
RAISE = 1.6
# Sound runs of six images (128 x 128 pixels, noise 0.5 to 10/255) rang by 0.02 at most, true images by 0.13; two masked
# ones with a kernel a tenth too wide, which no other sign shows, by 0.3 and 1.0. The lower limit applies once the noise
# was raised.
MAX_RINGING, MAX_SUSPECTED_RINGING = 0.2, 0.04
# The share of the ringing that is left with a higher noise level: 0.08 to 0.74 where a kernel or a curve was wrong,
# 0.92 to 1.4 for the lines of a bridge, which are lost if they are taken for ringing (5 to 7 dB).
MAX_RINGING_LEFT = 0.85
# From this noise on the prior prevents ringing, and images whose spectrum resembles the kernel's by chance must not be
# smoothed.
MAX_RINGING_NOISE = 5 / 255
# Structure in flat places, in units of the noise that was assumed first, and of the one assumed now: 4.7 and 1.4 or
# more in spoilt results, 0.4 and 0.3 or less in sound ones. True images have up to 0.6 of the first. With noise of
# rounding only, sound runs have up to 1.6 of the first (moon, camera shake) and 2.0 (camera, disk of 4 pixels).
MAX_FLAT_STRUCTURE, MAX_FLAT_STRUCTURE_NOW = 2.2, 0.5
MAX_DUAL_PER_MOVE, DUAL_PER_SATURATED = 2.0, 4.0
# The multiplier is examined between these shares of the first sigma. Later, saturated places raise it in sound runs as
# well.
TELLING = (0.21, 0.58)
# The noise of a restored image, in units of the assumed noise, alone and if the residual indicates more noise as well;
# and in absolute units, because photographs have grain (a page 2.6/255, fur 5).
MIN_NOISINESS, MIN_SUSPECTED_NOISINESS, MIN_NOISE_LEFT = 3.0, 1.5, 4 / 255
MIN_CLEANING = 2.0


@dataclass(frozen=True, eq=False)
class Watch:
    """What a run is checked against.

    Attributes
    ----------
    data_term : DataTerm
        The data term.
    observed : array of bool, optional
        True where a pixel was observed.
    noise : float
        The noise that was assumed, on the scale of the data term.
    seen : Seen
        Statistics of the observation.
    first_noise : float
        The noise that was assumed at first, before a run suggested more.
    bounded : bool
        Whether the range of the image is known, so that clipping is a sign of something wrong.
    convolution : bool
        Whether the model is a convolution. For others a residual above the noise may be detail that the denoiser
        removes.
    taps : array, optional
        The kernel, if the image is 2-D and not decimated.
    observation : array, optional
        The observation, if its noise is uniform; missing pixels may be NaN.
    scale : Scale, optional
        Nominal and working range.
    estimated : bool
        Whether the noise was estimated, not given.
    mild : bool
        Whether the blur is so mild that the observation decides nearly all of the image.
    uniform : bool
        Whether the noise is assumed to be the same at every brightness.
    extreme : float
        The share of the observation that is so near to black or white that overshoot is clipped.
    stars : bool
        Whether stars are restored on a nonlinear stretch. Nearly all of their residual is that of the sky, which tells
        nothing about too high a level in the stars, so the level is not lowered.
    told_from_texture : bool
        Whether the noise was told from texture (`plugplay.tuning.beside_texture`). A small residual then only means
        that the denoiser keeps texture together with its noise.
    in_light : bool
        Whether the blur is known to have acted on light, and the data term knows the curve of the values.
    doubted : tuple of str
        What makes the result doubtful whatever the run shows.
    """

    data_term: DataTerm
    observed: BoolArray | None
    noise: float
    seen: Seen
    first_noise: float
    bounded: bool
    convolution: bool
    taps: NDArray[np.float64] | None = None
    observation: FloatArray | None = None
    scale: Scale | None = None
    estimated: bool = False
    mild: bool = False
    uniform: bool = True
    extreme: float = 0.0
    stars: bool = False
    told_from_texture: bool = False
    in_light: bool = False
    doubted: tuple[str, ...] = ()

    def winds_up(self, history: History) -> bool:
        """Tell whether noise accumulates in the multiplier; also works in the middle of a run."""
        if not self.bounded:
            return False
        full = history.at_level(0)
        share = full.sigma / full.sigma[:1]
        telling = (share >= TELLING[0]) & (share <= TELLING[1])
        limit = MAX_DUAL_PER_MOVE + DUAL_PER_SATURATED * max(self.seen.saturated, self.extreme)
        return bool(np.any((full.dual > limit * full.denoiser_move)[telling]))

    def suggests(self, state: State, x: FloatArray, *, refuted: frozenset[Sign] = frozenset()) -> Suggestion | None:
        """Return the noise that a run suggests, if it clearly differs from the assumed one.

        Parameters
        ----------
        state, x : State, array
            The end of the run, and its image on the whole domain.
        refuted : set of str
            Signs to be ignored, because an earlier run has refuted them.
        """
        assumed = max(self.noise, MIN_NOISE)
        left, there = self._residual(x), self._weak_noise(state.image, x)
        may_be_curved = self._is_linear and not self.in_light
        curved = there.falls and may_be_curved and there.worst > MIN_CURVED_RESIDUAL * self.first_noise
        misfit = curve_misfit(self.data_term, x, self.observed) if curved else 0.0
        reason = CURVED if curved else ""
        if self.winds_up(state.history):  # such a run is given up, so its residual tells nothing else
            return Suggestion(max(self._more() * assumed, misfit), "winding", reason=reason)
        if max(left, misfit) > MAX_RESIDUAL * assumed or there.worst > self._limit(there) * assumed:
            return Suggestion(max(left, misfit, there.worst), "residual", reason=reason)
        limit = MAX_RINGING if self.noise <= self.first_noise else MAX_SUSPECTED_RINGING
        if "ringing" not in refuted and assumed < MAX_RINGING_NOISE and self._ringing(state.image) > limit:
            return Suggestion(self._more() * assumed, "ringing")
        if "structure" not in refuted and self.invents(
            state.image
        ):  # by small steps at first: some of it may be detail that the noise hides
            return Suggestion(self._more() * assumed, "structure")
        more = there.worst > MAX_UNEVEN_RESIDUAL * assumed
        least = max((MIN_SUSPECTED_NOISINESS if more else MIN_NOISINESS) * assumed, MIN_NOISE_LEFT)
        if "noise" not in refuted and noisiness(state.image) > least:
            return Suggestion(min(max(RAISE * assumed, self._measured()), RAISE**2 * assumed), "noise")
        may_fall = "excess" not in refuted and self.noise == self.first_noise
        may_fall = may_fall and not (self.stars or self.told_from_texture)
        most = left if self.uniform else max(self._residuals(x))
        if may_fall and most < MAX_EXCESS_RESIDUAL * assumed:
            noise = max(there.level, NOISE_IN_RESIDUAL * most, MIN_NOISE)
            if noise < MAX_EXCESS_RESIDUAL * assumed and self._has_smoothed_noise():
                noise = math.inf if self.estimated else TAKEN_BY_JPEG * noise
            if not self.estimated and self.uniform:
                noise = max(noise, MIN_OF_GIVEN * assumed)
            if noise < MAX_EXCESS_RESIDUAL * assumed:
                return Suggestion(noise, "excess", there.level)
        return None

    def share(
        self,
        suggested: Suggestion,
        before: State,
        after: State,
        x: FloatArray,
        *,
        refuted: frozenset[Sign] = frozenset(),
    ) -> float:
        """Return the weight of the run with the suggested noise in the result: 1 if that noise was right.

        Parameters
        ----------
        suggested : Suggestion
            What led to the run.
        before, after : State
            The end of the first run, and of the run with the suggested noise.
        x : array
            The image of the latter on the whole domain.
        refuted : set of str
            Signs to be ignored.
        """
        match suggested.sign:
            case "ringing":
                return float(self._ringing(after.image) < MAX_RINGING_LEFT * self._ringing(before.image))
            case "structure":  # with a stronger prior invented structure fades, and real structure spreads
                return float(self._structure(after.image) < self._structure(before.image))
            case "noise":
                if noisiness(after.image) >= noisiness(before.image) / MIN_CLEANING:
                    return 0.0
                if not self._weak_noise(after.image, x).level < MIN_RESIDUAL_AGAIN * suggested.noise:
                    return 1.0
                # Fine texture is removed as well, but does not appear in the residual; neither do effects of a wrong
                # kernel.
                return 1.0 if self._has_smoothed_noise() else 0.0 if self.mild else NOISE_OR_TEXTURE
            case "excess":
                kept = self._weak_noise(after.image, x).level / suggested.weak
                if kept < MIN_RESIDUAL_LEFT or self.suggests(after, x, refuted=refuted | {"excess"}) is not None:
                    return 0.0
                if kept > MIN_RESIDUAL_AGAIN:
                    return 1.0
                if not self.estimated:  # a given level is right unless the data clearly contradict it
                    return 0.0
                return EXCESS_OR_TEXTURE if self.mild or self.observed is not None else 1.0
            case _:
                return 1.0

    def invents(self, image: FloatArray) -> bool:
        """Tell whether an image has structure where the observation is flat."""
        first = max(self.first_noise, MIN_NOISE)
        return self._structure(image) > max(MAX_FLAT_STRUCTURE * first, MAX_FLAT_STRUCTURE_NOW * self.noise)

    def _structure(self, image: FloatArray) -> float:
        """Return how much structure an image has where the observation is flat; minus infinity if unknown."""
        if self.taps is None or self.observation is None or self.observed is not None:
            return -math.inf
        first = max(self.first_noise, MIN_NOISE)
        return structure_in_flat_places(self.observation, image, max(self.taps.shape), first)

    def _measured(self) -> float:
        """Return the noise measured in the observation, if it may have been too uncertain to be assumed; else 0.

        Where everything is texture an estimate may be far too high, so a lower level is assumed. If the restored image
        turns out to be noisy, the measured level is needed after all: a JPEG file of gravel ended 4.0 dB below its
        input with 2/255 assumed instead of 5.
        """
        if not self.estimated or self.observation is None or self.observed is not None or not self._is_linear:
            return 0.0
        return estimate_noise(self.observation).sigma

    def _has_smoothed_noise(self) -> bool:
        """Tell whether the observation was compressed or demosaicked and has less noise where an image is weakest."""
        if self.observation is None or self.scale is None:
            return False
        stored = self.observation if self._is_linear else self.scale.to_nominal(self.observation)
        estimate = estimate_noise(stored, mask=self.observed)
        return estimate.compressed or estimate.strongest > 0

    def _ringing(self, image: FloatArray) -> float:
        return -math.inf if self.taps is None else ringing(image, self.taps)

    def _more(self) -> float:
        """Return the factor by which to raise the noise: larger if it was raised before."""
        if self.mild:
            return RAISE
        return min(RAISE * math.sqrt(max(self.noise, MIN_NOISE) / max(self.first_noise, MIN_NOISE)), RAISE**2)

    def _residual(self, x: FloatArray) -> float:
        """Return the RMS of G x - y where something was observed; NaN if the data term cannot tell.

        Noise that grows with the signal has two measures, both about as large as the assumed level if that is right,
        and the smaller one counts: `_residuals`.
        """
        return min(self._residuals(x))

    def _residuals(self, x: FloatArray) -> list[float]:
        """Return the RMS of G x - y, weighted as the data term does and, if that differs, without weights.

        In units of its own deviation, noise that grows with the signal is mostly that of dark places, where the error
        of the image, much the same everywhere, may be many times the noise: weighted, the residual of a photograph with
        20,000 photons at white and black shadows is 2 to 6 times the noise. Without weights it is mostly that of bright
        places.
        """
        found = []
        for left in (residual_of(self.data_term, x), misfit_of(self.data_term, x)):
            if left is not None:
                seen = left.size if self.observed is None else int(np.count_nonzero(self.observed))
                found.append(math.sqrt(float(np.sum(np.square(left, dtype=np.float64))) / max(seen, 1)))
        return found or [math.nan]

    def _weak_noise(self, image: FloatArray, x: FloatArray) -> WeakNoise:
        """Return the noise in the residual where the image is weakest.

        If uneven noise is expected, that at the brightness where there is most of it, in units of what is expected
        there: with a wrong black level there may be far less noise than assumed in dark places only.
        """
        found = weak_noise(residual_of(self.data_term, x), image, self.taps, self.observed)
        return found if self.uniform else WeakNoise(max([found.level, *found.parts]))

    def _limit(self, there: WeakNoise) -> float:
        """Return the limit of the residual in the worst quarter where the image is weakest, in units of the noise."""
        if not there.is_uneven:
            return MAX_RESIDUAL
        return MAX_UNEVEN_RESIDUAL if self.noise <= self.first_noise else MAX_UNEVEN_RESIDUAL_AGAIN

    @property
    def _is_linear(self) -> bool:
        """Whether no transfer curve was undone."""
        return self.scale is None or self.scale.transfer == "linear"


def noisiness(image: FloatArray) -> float:
    """Return the apparent noise level of a restored image."""
    return estimate_noise(image).sigma
