"""Single-photon imaging: every pixel is many binary jots that fire when photons arrive (QIS, SPAD)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

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
from plugplay.arrays.records import Fingerprinted
from plugplay.models.likelihoods import photon_law
from plugplay.models.likelihoods.photon import PhotonTerm
from plugplay.traits import Traits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CountedSinglePhoton", "SinglePhoton"]

# More photons than any sensor gets, and few enough that their squares do not overflow.
MAX_GAIN = 1e15
# The limit of the threshold, which is the number of terms in the law of a jot.
MAX_THRESHOLD = 1000
# A jot that fires this often by itself cannot be used.
MAX_DARK = 1e4
MAX_OVERSAMPLING = 1000


@dataclass(frozen=True)
class SinglePhoton(Fingerprinted):
    r"""A quanta image sensor: K x K jots per pixel, each of which records whether at least q photons arrived.

    A jot of a pixel of value x receives photons at the rate :math:`s = a x + d` in each frame, with
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

    def __post_init__(self) -> None:
        _check_limit(check_integer(self.oversampling, "oversampling", minimum=1), "oversampling", MAX_OVERSAMPLING)
        check_integer(self.frames, "frames", minimum=1)
        if self.gain is None:
            object.__setattr__(self, "gain", float(self.oversampling**2))
        check_number(self.gain, "gain", above=0, maximum=MAX_GAIN)
        _check_limit(check_integer(self.threshold, "threshold", minimum=1), "threshold", MAX_THRESHOLD)
        if self.gain is not None and self.gain < 1 / MAX_GAIN:
            raise ValueError(f"gain must be at least {1 / MAX_GAIN:g} photons; got {self.gain!r}")
        check_number(self.dark, "dark", minimum=0, maximum=MAX_DARK)
        check_number(self.efficiency, "efficiency", above=0, maximum=1)
        if self.efficiency < 1 / MAX_GAIN:
            raise ValueError(f"efficiency must be at least {1 / MAX_GAIN:g}; got {self.efficiency!r}")

    spatial_ndim: ClassVar[int] = 2

    @property
    def leading_axes(self) -> int:
        """Axes of an observation before the spatial ones: that of the frames, if there are several."""
        return 0 if self.frames == 1 else 1

    def traits(self, y: NDArray[Any]) -> Traits:  # noqa: ARG002
        """Return what this model says about itself."""
        return Traits(
            observes="counts",
            unknowns_per_sample=1 / (self.frames * self.oversampling**2),
            pointwise=True,
            leaves="shot",
            weight=1.0,
        )

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

    def simulate(self, x: ArrayLike, *, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Draw the bits: ``(K H, K W)``, or ``(T, K H, K W)`` for several frames, of dtype uint8."""
        chance = self.forward(x)
        shape = chance.shape if self.frames == 1 else (self.frames, *chance.shape)
        return (generator(rng, "photon noise").random(shape) < chance).astype(np.uint8)

    def data_term(self, y: ArrayLike) -> PhotonTerm:
        """Return the negative log-likelihood of the bits `y`, in the shape that `simulate` gives them."""
        bits = numeric_array(y, "bits")
        if bits.ndim - self.leading_axes not in (2, 3):
            wanted = "(K H, K W)" if self.frames == 1 else f"({self.frames}, K H, K W)"
            raise ValueError(f"bits must have the shape {wanted}, plus channels; got the shape {bits.shape}")
        if self.frames == 1:
            bits = bits[None]
        if bits.shape[0] != self.frames:
            raise ValueError(f"bits has {bits.shape[0]} frames, but the model has {self.frames}")
        if not np.isin(bits, (0, 1)).all():
            raise ValueError("bits must be 0 or 1; for counts of ones use data_term_from_counts(ones, trials)")
        k = self.oversampling
        height, width = bits.shape[1:3]
        if height % k or width % k:
            raise ValueError(f"a frame of {height} x {width} jots is not divisible by the oversampling, {k}")
        return self.data_term_from_counts(self._ones(bits), self.frames * k * k)

    def _ones(self, bits: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many jots of each pixel fired in frames ``(T, K H, K W)``."""
        k = self.oversampling
        frames, height, width, *channels = bits.shape
        cells = bits.reshape(frames, height // k, k, width // k, k, *channels)
        ones: NDArray[np.int64] = cells.sum(axis=(0, 2, 4), dtype=np.int64)
        return ones

    def counts(self, y: ArrayLike) -> NDArray[np.int64]:
        """Return an observation as counts ``(2, H, W)``, the ones and the trials."""
        term = self.data_term(y)
        return np.stack([term.ones, term.ones + term.zeros]).astype(np.int64)

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

    For photon cubes that are too large for memory; see `plugplay.io.photons.count_ones`.

    Examples
    --------
    >>> import numpy as np
    >>> ones, trials = np.array([[3, 0]]), np.array([[10, 10]])
    >>> CountedSinglePhoton(1, frames=10).data_term(np.stack([ones, trials])).shape
    (1, 2)
    """

    @property
    def leading_axes(self) -> int:
        """Axes of an observation before the spatial ones: ones and trials."""
        return 1

    def simulate(self, x: ArrayLike, *, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Draw the bits and count them: ``(2, H, W)``, the ones and the trials."""
        bits = SinglePhoton.simulate(self, x, rng=rng)
        ones = self._ones(bits if self.frames > 1 else bits[None])
        return np.stack([ones, np.full_like(ones, self.frames * self.oversampling**2)])

    def data_term(self, y: ArrayLike) -> PhotonTerm:
        """Return the negative log-likelihood of the counts `y`."""
        counts = numeric_array(y, "counts")
        if counts.ndim not in (3, 4) or counts.shape[0] != 2:
            raise ValueError(f"counts must have the shape (2, H, W), ones and trials; got {counts.shape}")
        return self.data_term_from_counts(counts[0], counts[1])


def _check_limit(value: int, name: str, limit: int) -> None:
    if value > limit:
        raise ValueError(f"{name} must be at most {limit}; got {value}")
