r"""The evidence of the data for the given kernel, compared with slightly wider, narrower or turned ones.

A restoration can explain the effect of a wrong kernel by ringing in the image, so that the residual of a run does not
reveal it, neither by its size nor by its whiteness. But the power spectrum of the observation does, because natural
images have smooth spectra (`plugplay.tuning.spectra`) and kernels do not. Stretching a kernel by t and turning it by R
moves its spectrum, :math:`\hat h(t R f)`, and so its zeros, which the data either have or do not have. The evidence for
a kernel is the likelihood of the best smooth spectrum multiplied by its power. If some t and R beat the given kernel by
more than `MIN_EVIDENCE`, it is wrong.

``python benchmarks/kernels.py`` tests this on crops of 144 x 144 pixels of twelve images, all of which were used to set
the limits. Of 120 right kernels (motion, disks, boxes; JPEG of quality 92, or noise of 0.5 and 2/255) none was
replaced; of 180 that were wrong by a tenth 123 were, all by a better one. Gaussian blur has no zeros and cannot be
judged.

**Consequences.** If the evidence comes from frequencies at which the image stands out of the noise, and t and R differ
from the identity by more than their accuracy, the other kernel is used (`Mismatch.is_clear`). Otherwise the given
kernel is kept, but its misfit, :math:`\operatorname{mean}_f (|\hat h(t R f)| - |\hat h(f)|)^2 S`, counts as noise. It
is not white, but strong where images are, so that `HARM` times its standard deviation has to be assumed as white noise
to keep it out of the image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plugplay.models.operators.reshaping import Reshaping
from plugplay.tuning.rules import MIN_NOISE
from plugplay.tuning.spectra import Fitted, SmoothSpectra, periodogram, taps_of, window_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.traits import Traits

__all__ = ["Mismatch", "kernel_mismatch"]

# How much better than the given kernel another must fit, as a difference of log-likelihoods on one window.
MIN_EVIDENCE = 30.0
HARM = 2.5
MIN_EXCESS = 1.25
# A kernel whose spectrum is itself smooth cannot be judged; below the floor its power does not count.
MIN_STRUCTURE, FLOOR = 0.35, 1e-3
# A kernel is replaced if this much of the evidence comes from frequencies with a signal, and if it is wrong by more
# than this share of its width or degrees, but not if the search ends near its limits.
MIN_SUPPORT = 30.0
MIN_CHANGE = (0.04, 2.5)
MAX_STRETCH = 0.155
# The first steps of the search: the logarithm of the stretch, and degrees.
STEPS = (0.06, 4.0)
LIMITS = (0.17, 12.0)
ROUNDS = 4
# A kernel whose spectrum changes less than this when it is turned is round.
ROUND = 0.1


@dataclass(frozen=True)
class Mismatch:
    """A kernel that fits the data better than the given one.

    Attributes
    ----------
    reshaping : Reshaping
        The change of the given kernel.
    noise : float
        The noise that a restoration with the given kernel should assume.
    evidence : float
        The difference of log-likelihoods, divided by the dispersion.
    support : float
        The part of the evidence that comes from frequencies at which the image stands out of the noise.
    """

    reshaping: Reshaping
    noise: float
    evidence: float
    support: float

    @property
    def is_clear(self) -> bool:
        """Whether the other kernel should be used."""
        width, turn = abs(math.log(self.reshaping.stretch)), abs(self.reshaping.turn)
        return (
            self.support > MIN_SUPPORT
            and (width > MIN_CHANGE[0] or turn > MIN_CHANGE[1])
            and width < MAX_STRETCH
            and turn < LIMITS[1]
        )

    def __str__(self) -> str:
        return f"the data fit a kernel that is {self.reshaping} better than the given one"


def kernel_mismatch(y: FloatArray, traits: Traits, noise: float, *, hidden: float = 0.0) -> Mismatch | None:
    """Return what is wrong with a kernel, if the data say so clearly and it matters; else None.

    Parameters
    ----------
    y : array
        The observation.
    traits : Traits
        Of the model; only convolutions of 2-D images that keep and observe every pixel can be judged.
    noise : float
        What is known of the noise.
    hidden : float
        The standard deviation of what compression may have made zero.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> x = np.random.default_rng(0).random((128, 128))
    >>> y = pp.models.Deblurring(pp.kernels.box(9)).simulate(x, noise=0.002, rng=0)
    >>> told = pp.models.Deblurring(pp.kernels.box(10))
    >>> str(kernel_mismatch(y, told.traits(y), 0.002))
    'the data fit a kernel that is 10 % narrower better than the given one'
    """
    if traits.spectrum is None or traits.spectrum.ndim != 2 or traits.decimation > 1 or traits.observed is not None:
        return None
    taps = taps_of(traits.spectrum)
    side = window_for(y.shape, taps)
    if side is None:
        return None
    # With as much white noise as may be hidden, zeros of the compression no longer look like those of a kernel.
    power, level = periodogram(y, side) + hidden**2, math.hypot(max(noise, MIN_NOISE), hidden)
    spectra = SmoothSpectra(power, level)
    transfer = np.abs(spectra.transfer(taps))
    if float(np.std(spectra.beyond(np.log(np.square(transfer) + FLOOR)))) < MIN_STRUCTURE:
        return None
    given = _Kernel(0.0, 0.0, spectra.fit(np.square(transfer)))
    best = _climbed(spectra, taps, given)
    # Once more, from there: a climb that ended too early must not pass for evidence.
    again = spectra.fit(np.square(transfer), like=best.fitted)
    fitted = max(given.fitted, again, key=lambda one: one.likelihood)
    dispersion = max(1.0, best.fitted.dispersion)
    gained = (best.fitted.likelihood - fitted.likelihood) / dispersion
    if gained < MIN_EVIDENCE:
        return None
    preferred = np.abs(best.transfer(spectra, taps))
    support = spectra.support((np.square(preferred), best.fitted), (np.square(transfer), fitted)) / dispersion
    # Of the moduli: a difference of phases only moves the image.
    difference = preferred - transfer
    unexplained = math.sqrt(spectra.mean(np.square(difference), best.fitted))
    assumed = math.hypot(noise, HARM * unexplained)
    if assumed < MIN_EXCESS * max(noise, MIN_NOISE):
        return None
    return Mismatch(Reshaping(math.exp(best.stretch), best.turn), assumed, gained, support)


@dataclass(frozen=True, eq=False)
class _Kernel:
    """A kernel that was tried: the logarithm of its stretch, its turn in degrees, and the spectrum behind it."""

    stretch: float
    turn: float
    fitted: Fitted

    def transfer(self, spectra: SmoothSpectra, taps: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Return its spectrum."""
        return spectra.transfer(taps, math.exp(self.stretch), self.turn)


def _climbed(spectra: SmoothSpectra, taps: NDArray[np.float64], given: _Kernel) -> _Kernel:
    """Return the best kernel that small steps from the given one lead to."""

    def tried(stretch: float, turn: float) -> _Kernel:
        passed = np.square(np.abs(spectra.transfer(taps, math.exp(stretch), turn)))
        return _Kernel(stretch, turn, spectra.fit(passed, like=best.fitted))

    best, steps = given, STEPS
    turned = np.abs(spectra.transfer(taps, 1.0, 2 * STEPS[1])) - np.abs(spectra.transfer(taps))
    directions = ((-1, 0), (1, 0), (0, -1), (0, 1)) if np.abs(turned).max() > ROUND else ((-1, 0), (1, 0))
    seen = {(given.stretch, given.turn)}
    for _ in range(ROUNDS):
        while True:
            around = [(best.stretch + a * steps[0], best.turn + b * steps[1]) for a, b in directions]
            if best is given:  # there may be a valley beside it
                around += [(best.stretch + 2 * a * steps[0], best.turn + 2 * b * steps[1]) for a, b in directions]
            new = [at for at in around if at not in seen and abs(at[0]) <= LIMITS[0] and abs(at[1]) <= LIMITS[1]]
            seen.update(new)
            found = max((tried(*at) for at in new), key=lambda one: one.fitted.likelihood, default=best)
            if found.fitted.likelihood <= best.fitted.likelihood:
                break
            best = found
        if best.fitted.likelihood < given.fitted.likelihood + MIN_EVIDENCE / 4:
            break  # nothing to be seen from nearby
        steps = (steps[0] / 2, steps[1] / 2)
    return best
