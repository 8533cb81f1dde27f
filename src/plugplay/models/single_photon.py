"""Single-photon imaging: every pixel is many binary jots that fire when photons arrive (QIS, SPAD)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from plugplay.arrays.checks import (
    FloatArray,
    check_finite,
    check_integer,
    check_number,
    check_rank,
    check_same_shape,
    float_image,
    frozen,
    generator,
    numeric_array,
)
from plugplay.arrays.masks import fill_from_nearest
from plugplay.arrays.records import Fingerprinted
from plugplay.models.base import check_step
from plugplay.models.likelihoods import photon_law

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CountedSinglePhoton", "PhotonTerm", "SinglePhoton"]


@dataclass(frozen=True)
class SinglePhoton(Fingerprinted):
    r"""A quanta image sensor: K x K jots a pixel, each of which says whether at least q photons arrived.

    A jot of a pixel of value x sees photons at the rate :math:`s = a x + d` in each frame, with
    :math:`a = \eta\, \alpha / K^2`, and fires with probability `P(s)`: see `plugplay.models.likelihoods.photon_law`.

    Parameters
    ----------
    oversampling : int
        K, the number of jots along each side of a pixel.
    frames : int
        Number of binary frames.
    gain : float, optional
        :math:`\alpha`, the photons that reach a pixel in one frame at x = 1. Default K², one for each jot.
    threshold : int
        q, the photons a jot needs to fire.
    dark : float
        d, the dark counts of a jot in one frame.
    efficiency : float
        :math:`\eta`, the share of photons that are detected.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> sensor = pp.models.SinglePhoton(4)
    >>> bits = sensor.simulate(np.full((8, 8), 0.5), rng=0)
    >>> bits.shape, bits.dtype
    ((32, 32), dtype('uint8'))
    >>> sensor.data_term(bits).start().shape
    (8, 8)
    """

    oversampling: int
    _: KW_ONLY
    frames: int = 1
    gain: float | None = None
    threshold: int = 1
    dark: float = 0.0
    efficiency: float = 1.0

    observes_intensity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_integer(self.oversampling, "oversampling", minimum=1)
        check_integer(self.frames, "frames", minimum=1)
        if self.gain is None:
            object.__setattr__(self, "gain", float(self.oversampling**2))
        check_number(self.gain, "gain", above=0)
        check_integer(self.threshold, "threshold", minimum=1)
        check_number(self.dark, "dark", minimum=0)
        check_number(self.efficiency, "efficiency", above=0, maximum=1)

    @property
    def observation_rank(self) -> int:
        """The rank of a gray observation: one more if there are several frames."""
        return 2 if self.frames == 1 else 3

    @property
    def photons_per_jot(self) -> float:
        """a, the photons that a jot detects in one frame at x = 1."""
        assert self.gain is not None  # __post_init__ saw to it
        return self.efficiency * self.gain / self.oversampling**2

    def forward(self, x: ArrayLike) -> FloatArray:
        """Return the probability of a one for every jot of one frame, ``(K H, K W)``."""
        image = float_image(x, "x")
        if image.min() < 0:
            raise ValueError(f"x must not be negative: its minimum is {image.min():g}")
        rate = self.photons_per_jot * image.astype(np.float64) + self.dark
        chance = photon_law.probability_of_one(rate, self.threshold).astype(image.dtype)
        k = self.oversampling
        return np.repeat(np.repeat(chance, k, axis=0), k, axis=1)

    def simulate(self, x: ArrayLike, *, rng: np.random.Generator | int | None = None) -> NDArray[np.uint8]:
        """Draw the bits: ``(K H, K W)``, or ``(T, K H, K W)`` for several frames, of dtype uint8."""
        chance = self.forward(x)
        shape = chance.shape if self.frames == 1 else (self.frames, *chance.shape)
        return (generator(rng, "photon noise").random(shape) < chance).astype(np.uint8)

    def data_term(self, y: ArrayLike) -> PhotonTerm:
        """Return the negative log-likelihood of the bits `y`, in the shape that `simulate` gives them."""
        bits = numeric_array(y, "bits")
        if bits.ndim not in (self.observation_rank, self.observation_rank + 1):
            wanted = "(K H, K W)" if self.frames == 1 else f"({self.frames}, K H, K W)"
            raise ValueError(f"bits must have the shape {wanted}, plus channels; got the shape {bits.shape}")
        if self.frames == 1:
            bits = bits[None]
        if bits.shape[0] != self.frames:
            raise ValueError(f"bits has {bits.shape[0]} frames, but the model has {self.frames}")
        if not np.isin(bits, (0, 1)).all():
            raise ValueError("bits must be 0 or 1; for counts of ones use data_term_from_counts(ones, trials)")
        k = self.oversampling
        _, height, width, *channels = bits.shape
        if height % k or width % k:
            raise ValueError(f"a frame of {height} x {width} jots is not divisible by the oversampling, {k}")
        cells = bits.reshape(self.frames, height // k, k, width // k, k, *channels)
        ones = cells.sum(axis=(0, 2, 4), dtype=np.int64)
        return self.data_term_from_counts(ones, self.frames * k * k)

    def data_term_from_counts(self, ones: ArrayLike, trials: ArrayLike) -> PhotonTerm:
        """Return the negative log-likelihood of counts.

        Parameters
        ----------
        ones : array, ``(H, W)`` or ``(H, W, C)``
            How many jots of each pixel fired, over all frames.
        trials : int or array
            How many there were; 0 where a pixel is to be ignored.
        """
        fired = numeric_array(ones, "ones").astype(np.float64)
        check_rank(fired, "ones")
        tried = numeric_array(trials, "trials").astype(np.float64)
        check_finite(fired, "ones")
        check_finite(tried, "trials")
        if tried.ndim:
            check_same_shape(tried, fired.shape, "trials", "ones")
        tried = np.broadcast_to(tried, fired.shape)
        if (fired < 0).any() or (fired > tried).any():
            raise ValueError("every count of ones must lie between 0 and its number of trials")
        if not tried.any():
            raise ValueError("trials is zero everywhere: nothing was observed")
        return PhotonTerm(
            frozen(fired),
            frozen(tried - fired),
            float(self.photons_per_jot),
            float(self.dark),
            self.threshold,
        )


@dataclass(frozen=True)
class CountedSinglePhoton(SinglePhoton):
    """The same sensor, observed as counts: an observation is ``(2, H, W)``, the ones and the trials.

    It is what is left of photon cubes that are too large for memory; see `plugplay.io.photons.count_ones`.

    Examples
    --------
    >>> import numpy as np
    >>> ones, trials = np.array([[3, 0]]), np.array([[10, 10]])
    >>> CountedSinglePhoton(1, frames=10).data_term(np.stack([ones, trials])).shape
    (1, 2)
    """

    @property
    def observation_rank(self) -> int:
        """The rank of a gray observation."""
        return 3

    def data_term(self, y: ArrayLike) -> PhotonTerm:
        """Return the negative log-likelihood of the counts `y`."""
        counts = numeric_array(y, "counts")
        if counts.ndim not in (3, 4) or counts.shape[0] != 2:
            raise ValueError(f"counts must have the shape (2, H, W), ones and trials; got {counts.shape}")
        return self.data_term_from_counts(counts[0], counts[1])


@dataclass(frozen=True, eq=False)
class PhotonTerm(Fingerprinted):
    r"""``f(x) = Σ -K1 log P(a x + d) - K0 log Q(a x + d)``, subject to ``x >= 0``.

    K1 and K0 are the jots of a pixel that fired and that did not. The rest happens pixel by pixel in double
    precision, whatever the precision of x.
    """

    ones: NDArray[np.float64]
    zeros: NDArray[np.float64]
    photons_per_jot: float
    dark: float
    threshold: int

    #: x is constrained from below.
    lower_bound: ClassVar[float] = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""
        return self.ones.shape

    def prox(self, v: FloatArray, rho: float) -> FloatArray:
        """Return the root of ``a (K0 p/Q - K1 p/P) + rho (x - v)`` for every pixel, or 0 if there is none above."""
        check_step(v, rho, self.shape)
        a = self.photons_per_jot
        rate = photon_law.solve_rate(
            self.ones.ravel(),
            self.zeros.ravel(),
            weight=rho / a**2,
            target=(a * v.astype(np.float64) + self.dark).ravel(),
            floor=self.dark,
            q=self.threshold,
        )
        return ((rate - self.dark) / a).reshape(self.shape).astype(v.dtype)

    def value(self, x: FloatArray) -> float:
        """Return f(x): infinite where x is negative, or where it is 0 and jots fired without dark counts."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        if (x < 0).any():
            return float("inf")
        rate = self._rate(x)
        with np.errstate(invalid="ignore"):  # 0 * inf, where no jot fired
            fired = np.where(self.ones > 0, self.ones * photon_law.minus_log_one(rate, self.threshold), 0.0)
        return float(np.sum(fired + self.zeros * photon_law.minus_log_zero(rate, self.threshold)))

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient for ``x >= 0``; minus infinity at 0 where jots fired without dark counts."""
        check_same_shape(x, self.shape, "x", "the unknown image")
        rate = self._rate(x)
        with np.errstate(invalid="ignore"):
            fired = np.where(self.ones > 0, self.ones * photon_law.slope_one(rate, self.threshold), 0.0)
        slope = self.zeros * photon_law.slope_zero(rate, self.threshold) - fired
        return (self.photons_per_jot * slope).astype(x.dtype)

    def start(self) -> FloatArray:
        """Return the maximum-likelihood estimate, clipped to [0, 1]."""
        trials = self.ones + self.zeros
        rate = photon_law.most_likely_rate(self.ones, trials, self.threshold)
        estimate = np.clip((rate - self.dark) / self.photons_per_jot, 0.0, 1.0)
        return fill_from_nearest(estimate, trials > 0).astype(np.float32)

    def crop(self, x: FloatArray) -> FloatArray:
        """Return x: everything was observed."""
        return x

    def _rate(self, x: FloatArray) -> NDArray[np.float64]:
        return self.photons_per_jot * np.maximum(x.astype(np.float64), 0.0) + self.dark
