r"""Single-photon images by one denoising: stabilise the variance, denoise, go back.

The method of Chan, Elgendy and Wang, "Images from Bits" (Sensors, 2016). Of the n jots of a pixel, S fire, and S is
binomial: n trials of chance p. The transform

.. math:: T(S) = \sqrt{n + \tfrac12}\, \arcsin\sqrt{\frac{S + 3/8}{n + 3/4}}

has a variance of about 1/4 whatever p, so that a denoiser of Gaussian noise can remove it. What the denoiser returns
estimates :math:`E[T(S) \mid p]`; the exact inverse finds the p that has this mean, and the photon law the brightness
that has this p. The algebraic inverse of T, in contrast, is biased where jots are few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from plugplay.models import SinglePhoton
from plugplay_paper.arrays import FloatArray, check_integer, finite_array, frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from plugplay.denoisers import Denoiser

__all__ = ["BinomialStabiliser", "count_ones", "images_from_bits"]

# Points of the table. The mean of T is nearly a straight line in arcsin sqrt(p), along which they are spaced.
_LEVELS = 513
# The standard deviations of S, which are at most sqrt(n)/2, that the table sums over on each side of the mean; the
# tail of rare events is longer than a Gaussian's, hence some counts more.
_REACH, _REACH_MORE = 10.0, 30


def images_from_bits(ones: ArrayLike, sensor: SinglePhoton, denoiser: Denoiser) -> FloatArray:
    """Restore an image from counts of ones by a single denoising.

    Parameters
    ----------
    ones : array, ``(H, W)``
        How many of the ``frames * K²`` jots of each pixel fired; `count_ones` counts them.
    sensor : SinglePhoton
        What made the bits.
    denoiser : callable
        ``(image, sigma) -> image`` on [0, 1]; called once.

    Returns
    -------
    array of float32, ``(H, W)``
        The image, clipped to [0, 1].

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> sensor = pp.models.SinglePhoton(4)
    >>> bits = sensor.simulate(np.full((32, 32), 0.5), rng=0)
    >>> image = images_from_bits(count_ones(bits, sensor), sensor, pp.denoisers.get("gaussian"))
    >>> image.shape, bool(abs(image.mean() - 0.5) < 0.02)
    ((32, 32), True)
    """
    _check_parts(sensor, denoiser)
    trials = sensor.frames * sensor.oversampling**2
    counts = _checked_counts(ones, trials)
    stabiliser = BinomialStabiliser.build(trials)
    noisy = stabiliser.forward(counts).astype(np.float32)
    chance = stabiliser.inverse(_denoised(noisy, stabiliser.noise, denoiser))
    # What is most likely for a share p of ones is the brightness at which a jot fires with the chance p.
    return sensor.data_term_from_counts(chance, 1).start()


def count_ones(bits: ArrayLike, sensor: SinglePhoton) -> NDArray[np.int64]:
    """Return how many jots of each pixel fired over all frames, from bits as ``sensor.simulate`` draws them.

    Examples
    --------
    >>> count_ones(np.eye(4, dtype=np.uint8), SinglePhoton(2))
    array([[2, 0],
           [0, 2]])
    """
    frames = np.asarray(bits).reshape(sensor.frames, *np.shape(bits)[-2:])
    k, (height, width) = sensor.oversampling, frames.shape[1:]
    counts: NDArray[np.int64] = frames.reshape(-1, height // k, k, width // k, k).sum(axis=(0, 2, 4), dtype=np.int64)
    return counts


@dataclass(frozen=True, eq=False)
class BinomialStabiliser:
    """The transform of counts out of `trials`, moved to [0, 1], and its exact inverse.

    Attributes
    ----------
    trials : int
        n.
    angles, expected : arrays
        The table: ``arcsin sqrt(p)`` from p = 0 to p = 1, and the mean of the transformed counts there.

    Examples
    --------
    >>> stabiliser = BinomialStabiliser.build(16)
    >>> stabiliser.forward(np.array([0.0, 8.0, 16.0]))
    array([0. , 0.5, 1. ])
    >>> stabiliser.inverse(np.array([0.0, 0.5, 1.0]))
    array([0. , 0.5, 1. ])
    """

    trials: int
    angles: NDArray[np.float64]
    expected: NDArray[np.float64]

    @classmethod
    def build(cls, trials: int) -> BinomialStabiliser:
        """Tabulate the mean of the transform of a binomial variable."""
        trials = check_integer(trials, "trials", minimum=1)
        angles = np.linspace(0, math.pi / 2, _LEVELS)
        chances = np.sin(angles) ** 2
        chances[-1] = 1.0
        reach = min(trials, math.ceil(_REACH * math.sqrt(trials) / 2) + _REACH_MORE)
        counts = np.rint(trials * chances)[:, None] + np.arange(-reach, reach + 1)
        weights = binom.pmf(counts, trials, chances[:, None])  # zero beyond 0 and n
        bare = cls(trials, angles, angles)
        means = np.sum(weights * bare.forward(np.clip(counts, 0, trials)), axis=1) / np.sum(weights, axis=1)
        return cls(trials, frozen(angles), frozen(means))

    @property
    def noise(self) -> float:
        """Standard deviation of the noise after the transform: a half, on the scale on which T spans [0, 1]."""
        ends = _arcsine(np.array([0.0, self.trials]), self.trials)
        return 0.5 / float(ends[1] - ends[0])

    def forward(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return T(S), moved to [0, 1]."""
        low, high = _arcsine(np.array([0.0, self.trials]), self.trials)
        moved: NDArray[np.float64] = (_arcsine(counts, self.trials) - low) / (high - low)
        return moved

    def inverse(self, image: FloatArray) -> NDArray[np.float64]:
        """Return the p at which the transformed counts have this mean: 0 or 1 for what lies beyond."""
        chance: NDArray[np.float64] = np.sin(np.interp(image, self.expected, self.angles)) ** 2
        return chance


def _check_parts(sensor: object, denoiser: object) -> None:
    if not isinstance(sensor, SinglePhoton):
        raise TypeError(f"sensor must be a plugplay.models.SinglePhoton; got {sensor!r}")
    if not callable(denoiser):
        hint = "; plugplay.denoisers.get makes one from a name" if isinstance(denoiser, str) else ""
        raise TypeError(f"denoiser must be a callable (image, sigma) -> image; got {denoiser!r}{hint}")


def _arcsine(counts: NDArray[np.float64], trials: int) -> NDArray[np.float64]:
    angle: NDArray[np.float64] = np.arcsin(np.sqrt((counts + 3 / 8) / (trials + 3 / 4)))
    return math.sqrt(trials + 1 / 2) * angle


def _denoised(noisy: FloatArray, sigma: float, denoiser: Denoiser) -> FloatArray:
    """Call the denoiser and check what it returns."""
    where = f"denoiser {getattr(denoiser, 'name', denoiser)!r} (sigma {sigma:.3g})"
    output = np.asarray(denoiser(noisy, sigma))
    if output.dtype.kind != "f":
        raise TypeError(f"{where} returned {output.dtype}; a float image is needed")
    if output.shape != noisy.shape:
        raise ValueError(f"{where} returned the shape {output.shape} for an image of shape {noisy.shape}")
    if not np.isfinite(output).all():
        raise ValueError(f"{where} returned NaN or infinite values for a finite image")
    return output


def _checked_counts(ones: ArrayLike, trials: int) -> NDArray[np.float64]:
    array = finite_array(ones, "ones")
    if array.ndim != 2:
        raise ValueError(f"ones must have the shape (H, W), one count for each pixel; got the shape {array.shape}")
    counts = array.astype(np.float64)
    if counts.min() < 0 or counts.max() > trials or (counts != np.rint(counts)).any():
        raise ValueError(
            f"ones must be whole numbers from 0 to {trials}, the jots of a pixel over all frames; "
            f"got values from {counts.min():g} to {counts.max():g}"
        )
    return counts
