"""The loop watches itself: what a run says about the noise that was assumed.

Five signs that lambda was too small, that is, that there is more noise (or a worse model) than was assumed:

* **The residual** ``G x - y`` is larger than the noise. With the right noise it is a little smaller, 0.8 to 1.0 of
  it; a wrong kernel or underestimated noise leaves more.
* **The clip works too hard.** In a sound run the multiplier u is what the denoiser removed. Noise that winds up in u
  drives x + u out of the range of images, the clip cuts it off, and u becomes much larger than what the denoiser did:
  up to 1.8 times in sound runs, 2 to 4 times in runs that end in noise.
* **The restored image is noisier than the observation.** Texture, too, looks like noise; whether it was noise is
  seen by restoring again with a stronger prior, which takes noise away and leaves texture.
* **The restored image rings**: `plugplay.tuning.ringing`.
* **The restored image has structure where the observation is flat**: `plugplay.tuning.flatness`.

The figures come from runs with BM3D on crops of scikit-image's camera, motorcycle and gravel with ten kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.models.description import residual_of
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.flatness import structure_in_flat_places
from plugplay.tuning.ringing import ringing
from plugplay.tuning.rules import MIN_NOISE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray
    from plugplay.models.base import DataTerm
    from plugplay.pnp.state import History, State
    from plugplay.tuning.doubts import Seen

__all__ = ["MAX_RERUNS", "Raise", "Watch", "was_noise"]

MAX_RERUNS = 3
MAX_RESIDUAL = 1.25
# By how much the noise is raised where the run only tells that it was too low; more, if it was raised before.
RAISE = 1.6
# Sound runs of six images (128 x 128 pixels, noise 0.5 to 10/255) rang by 0.02 at most, true images by 0.13; two masked
# ones with a kernel a tenth too wide, which nothing else shows, by 0.3 and 1.0. Less is enough for a run that something
# else has spoken against already.
MAX_RINGING, MAX_SUSPECTED_RINGING = 0.2, 0.04
# A prior this strong lets nothing ring, and images whose spectrum knows the kernel by chance must not be smoothed away.
MAX_RINGING_NOISE = 5 / 255
# In units of the noise that was assumed first, and of the one assumed now: 4.7 and 1.4 or more in spoilt results, 0.4
# and 0.3 or less in sound ones. True images have up to 0.6 of the first.
MAX_FLAT_STRUCTURE, MAX_FLAT_STRUCTURE_NOW = 1.5, 0.5
MAX_DUAL_PER_MOVE = 2.0
# Where the multiplier tells most: between these shares of the first sigma. Later, saturated places raise it in sound
# runs too.
TELLING = (0.21, 0.58)
MIN_NOISINESS = 3.0
MIN_CLEANING = 2.0


@dataclass(frozen=True)
class Raise:
    """More noise than was assumed.

    Attributes
    ----------
    noise : float
        What to assume instead.
    certain : bool
        False if it may be texture: the run with more noise then has to show it.
    """

    noise: float
    certain: bool


@dataclass(frozen=True, eq=False)
class Watch:
    """What a run is held against.

    Attributes
    ----------
    data_term : DataTerm
        f.
    observed : array of bool, optional
        Where the observation counts.
    noise : float
        The noise that was assumed, on the scale of the data term.
    seen : Seen
        What there was to see in the observation.
    first_noise : float
        The noise that was assumed at first, before a run suggested more.
    bounded : bool
        Whether the range of the image is known, so that what is clipped tells something.
    convolution : bool
        Whether the model is one. For others a residual above the noise may be detail that the denoiser cannot hold.
    taps : array, optional
        The kernel, if the image is 2-D and not decimated.
    observation : array, optional
        What was observed, if its noise is uniform and no pixel is missing.
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

    def winds_up(self, history: History) -> bool:
        """Tell, also in the middle of a run, whether noise winds up in the multiplier."""
        if not self.bounded:
            return False
        full = history.at_level(0)
        share = full.sigma / full.sigma[:1]
        telling = (share >= TELLING[0]) & (share <= TELLING[1])
        return bool(np.any((full.dual > MAX_DUAL_PER_MOVE * full.denoiser_move)[telling]))

    def suggests(self, state: State, x: FloatArray) -> Raise | None:
        """Return the noise that a run suggests, if it is more than was assumed; x is its image on the whole domain."""
        assumed = max(self.noise, MIN_NOISE)
        if self.winds_up(state.history):  # such a run is given up, and the residual of half a run tells nothing
            return Raise(self._more() * assumed, certain=True)
        left = self._residual(x)
        if left > MAX_RESIDUAL * assumed:
            return Raise(left, certain=True)
        limit = MAX_RINGING if self.noise <= self.first_noise else MAX_SUSPECTED_RINGING
        if self.taps is not None and assumed < MAX_RINGING_NOISE and ringing(state.image, self.taps) > limit:
            return Raise(self._more() * assumed, certain=True)
        if self.invents(state.image):  # by small steps at first: some of it may be detail that the noise hides
            return Raise(self._more() * assumed, certain=True)
        if noisiness(state.image) > MIN_NOISINESS * assumed:
            return Raise(RAISE * assumed, certain=False)
        return None

    def invents(self, image: FloatArray) -> bool:
        """Tell whether an image has structure where the observation is flat."""
        if self.taps is None or self.observation is None:
            return False
        first = max(self.first_noise, MIN_NOISE)
        structure = structure_in_flat_places(self.observation, image, max(self.taps.shape), first)
        return structure > max(MAX_FLAT_STRUCTURE * first, MAX_FLAT_STRUCTURE_NOW * self.noise)

    def _more(self) -> float:
        """Return by how much to raise the noise: the more, the more it was raised before."""
        return min(RAISE * math.sqrt(max(self.noise, MIN_NOISE) / max(self.first_noise, MIN_NOISE)), RAISE**2)

    def _residual(self, x: FloatArray) -> float:
        """Return the RMS of G x - y where something was observed; NaN if the data term cannot tell."""
        residual = residual_of(self.data_term, x)
        if residual is None:
            return math.nan
        seen = residual.size if self.observed is None else int(np.count_nonzero(self.observed))
        return math.sqrt(float(np.sum(np.square(residual, dtype=np.float64))) / max(seen, 1))


def noisiness(image: FloatArray) -> float:
    """Return how much noise seems to be in a restored image."""
    return estimate_noise(image).sigma


def was_noise(noisy: FloatArray, cleaner: FloatArray) -> bool:
    """Tell whether what looked like noise went away when more was assumed; texture stays."""
    return noisiness(cleaner) < noisiness(noisy) / MIN_CLEANING
