r"""Noise that grows with the signal, of photons and read-out, and the transform that makes it uniform.

A camera, microscope or telescope sees :math:`y = g\,p + n` with p Poisson of mean :math:`x / g` and n Gaussian of
standard deviation r, so that its variance is :math:`g x + r^2`. If the camera adds an offset o, its black level, x and
y are measured from there. The generalised Anscombe transform

.. math:: T(y) = \frac{2}{g} \sqrt{\max(g (y - o) + \tfrac38 g^2 + r^2,\, 0)}

makes that variance about 1 everywhere. After denoising, the exact unbiased inverse is applied: not :math:`T^{-1}`,
which is biased for few photons, but the inverse of :math:`x \mapsto E[T(y) | x]`, which is tabulated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray, check_number
from plugplay.noise.curve import estimate_curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.noise.coloured import ColouredNoise

__all__ = ["PoissonGaussian", "Stabiliser", "corrected", "estimate_poisson_gaussian", "with_correction"]

# Above this mean count, and read-out deviation, the closed form of the inverse is as good as the table.
_MANY_PHOTONS = 400.0
_QUADRATURE = 48
_MIN_GAIN = 1e-9
_CORRECTION = re.compile(r"the data contradict the assumed noise (\S+); (\S+) was used")


@dataclass(frozen=True)
class PoissonGaussian:
    """Noise whose variance is ``gain * (x - offset) + read²``, in the unit of the image.

    Parameters
    ----------
    gain : float, optional
        The value of one photon (electron). Estimated from the image if it is not given.
    read : float, optional
        Standard deviation of the read-out noise. Estimated if it is not given.
    offset : float
        The black level: what a camera shows without light. If it is 0 and neither gain nor read-out noise is given, it
        is estimated as well.

    Examples
    --------
    >>> PoissonGaussian(gain=0.01, read=0.02)
    PoissonGaussian(gain=0.01, read=0.02, offset=0.0)
    """

    gain: float | None = None
    read: float | None = None
    offset: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if self.gain is not None:
            check_number(self.gain, "gain", above=0)
        if self.read is not None:
            check_number(self.read, "read", minimum=0)
        check_number(self.offset, "offset")

    def moved(self, scale: float, shift: float = 0.0) -> PoissonGaussian:
        """Return the same noise for images whose values x have become ``scale * x + shift``."""
        gain, read = (None if value is None else scale * value for value in (self.gain, self.read))
        return PoissonGaussian(gain, read, offset=scale * self.offset + shift)

    def with_offset(self, offset: float) -> PoissonGaussian:
        """Return the same noise, described with another black level; gain and read are known.

        Examples
        --------
        >>> PoissonGaussian(1.0, 5.0, offset=116.0).with_offset(100.0)
        PoissonGaussian(gain=1.0, read=3.0, offset=100.0)
        """
        square = (self.read or 0.0) ** 2 + (self.gain or 0.0) * (offset - self.offset)
        return PoissonGaussian(self.gain, math.sqrt(max(square, 0.0)), offset=offset)

    def raised(self, factor: float) -> PoissonGaussian:
        """Return noise whose standard deviation is larger by a factor everywhere; gain and read are known."""
        gain, read = self.gain, self.read
        return PoissonGaussian(
            None if gain is None else factor**2 * gain, None if read is None else factor * read, offset=self.offset
        )

    def of_mean(self, count: int) -> PoissonGaussian:
        """Return the noise of the mean of so many values with this noise; gain and read are known.

        Examples
        --------
        >>> PoissonGaussian(0.3, 0.2, offset=0.1).of_mean(4)
        PoissonGaussian(gain=0.075, read=0.1, offset=0.1)
        """
        return PoissonGaussian((self.gain or 0.0) / count, (self.read or 0.0) / math.sqrt(count), offset=self.offset)


def corrected(
    noise: float | PoissonGaussian | ColouredNoise | None, level: float, before: float, *, given: bool
) -> tuple[float | PoissonGaussian | ColouredNoise | None, str]:
    """Return the noise with its level changed from `before` to `level`, and a warning that says so.

    A given level is only ever raised: if there is less noise in the data, only lambda changes.

    Examples
    --------
    >>> corrected(0.02, 0.01, 0.02, given=True)
    (0.02, 'the data show less noise than was given, 0.02: they were restored as with 0.01')
    """
    if given and level < before:
        less = f"{level:.3g}" if isinstance(noise, int | float) else f"{level / before:.3g} times as much"
        told = f", {noise:.3g}" if isinstance(noise, int | float) else ""
        return noise, f"the data show less noise than was given{told}: they were restored as with {less}"
    if isinstance(noise, PoissonGaussian):
        factor = level / before
        return noise.raised(factor), f"the data contradict the assumed noise; {factor:.3g} times as much was used"
    return level, f"the data contradict the assumed noise {noise:.3g}; {level:.3g} was used"


def with_correction(warnings: tuple[str, ...], reason: str) -> tuple[str, ...]:
    """Return warnings with another one about the noise; of successive corrections only the last is kept.

    Examples
    --------
    >>> with_correction((corrected(0.01, 0.02, 0.01, given=False)[1],), corrected(0.02, 0.05, 0.02, given=False)[1])
    ('the data contradict the assumed noise 0.01; 0.05 was used',)
    """
    new = _CORRECTION.fullmatch(reason)
    kept = list(warnings)
    for text in warnings if new else ():
        old = _CORRECTION.fullmatch(text)
        if new and old and old[2] == new[1]:
            kept.remove(text)
            reason = text.replace(f"; {old[2]} was used", f"; {new[2]} was used")
    return (*kept, reason)


def estimate_poisson_gaussian(
    y: FloatArray, known: PoissonGaussian, *, mask: BoolArray | None = None, spatial_ndim: int = 2
) -> PoissonGaussian:
    """Return `known` with missing values estimated from the image by `plugplay.noise.curve`."""
    if known.gain is not None and known.read is not None:
        return known
    curve = estimate_curve(y, mask=mask, spatial_ndim=spatial_ndim)
    if curve is None:
        raise ValueError(
            f"the image, of shape {y.shape}, has too few wholly observed places to estimate its noise: give gain and "
            "read-out noise, PoissonGaussian(gain=, read=)"
        )
    if known.gain is None and known.read is None:
        offset = known.offset or curve.offset
        read = math.sqrt(max(0.0, curve.constant + curve.gain * offset))
        return PoissonGaussian(max(curve.gain, _MIN_GAIN), read, offset=offset)
    # One of them is given: the other follows from the bins, with more weight on those of least excess, because texture
    # only adds.
    levels, variances = curve.levels - known.offset, curve.variances
    if known.gain is not None:
        rest = variances - known.gain * levels
        return PoissonGaussian(known.gain, math.sqrt(max(0.0, float(np.median(rest)))), offset=known.offset)
    rest = (variances - float(known.read or 0.0) ** 2) / np.maximum(levels, 1e-3 * float(np.ptp(levels)) + 1e-300)
    return PoissonGaussian(max(float(np.median(rest)), _MIN_GAIN), known.read, offset=known.offset)


@dataclass(frozen=True, eq=False)
class Stabiliser:
    """The transform for one gain, read-out noise and range of values, onto [0, 1] and back.

    Attributes
    ----------
    gain, read : float
        The noise.
    low, high : float
        The transformed values that become 0 and 1.
    levels, expected : arrays
        The table of ``(x - offset) / gain`` and of the mean of T(y) there.
    offset : float
        The black level.
    """

    gain: float
    read: float
    low: float
    high: float
    levels: NDArray[np.float64]
    expected: NDArray[np.float64]
    offset: float = 0.0

    @classmethod
    def build(cls, y: FloatArray, noise: PoissonGaussian, *, limits: tuple[float, float] | None = None) -> Stabiliser:
        """Make the transform for an observation and a complete `noise`; `limits` are the range if y is a part."""
        if noise.gain is None or noise.read is None:
            raise ValueError(f"gain and read must be known by now; got {noise!r}")
        spread = noise.read / noise.gain
        ends = np.array(limits or (float(y.min()), float(y.max())))
        transformed = _anscombe((ends - noise.offset) / noise.gain, spread)
        levels = np.concatenate([np.linspace(0, 20, 401)[:-1], np.geomspace(20, _MANY_PHOTONS, 200)])
        low, high = float(transformed[0]), float(max(transformed[1], transformed[0] + 1))
        return cls(noise.gain, noise.read, low, high, levels, _mean_of_transform(levels, spread), noise.offset)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise after the transform."""
        return 1 / (self.high - self.low)

    def forward(self, y: FloatArray) -> FloatArray:
        """Return T(y), moved to [0, 1]."""
        transformed = _anscombe((y.astype(np.float64) - self.offset) / self.gain, self.read / self.gain)
        return ((transformed - self.low) / (self.high - self.low)).astype(y.dtype)

    def inverse(self, image: FloatArray) -> FloatArray:
        """Return the x whose T(y) has this mean."""
        mean = image.astype(np.float64) * (self.high - self.low) + self.low
        few = np.interp(mean, self.expected, self.levels)
        # Here the mean of T is 2 sqrt(level + 1/8 + spread²) up to negligible terms.
        many = np.square(mean / 2) - 1 / 8 - (self.read / self.gain) ** 2
        level = np.where(mean < self.expected[-1], few, np.maximum(many, self.levels[-1]))
        return (self.gain * level + self.offset).astype(image.dtype)


def _anscombe(counts: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """Return T for a gain of 1."""
    return 2 * np.sqrt(np.maximum(counts + 3 / 8 + spread**2, 0))


def _mean_of_transform(levels: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """Return E[T(p + n)] for p Poisson of mean `levels` and n Gaussian of standard deviation `spread`."""
    from scipy.stats import poisson  # slow to import, and few runs need it

    counts = np.arange(math.ceil(levels.max() + 12 * math.sqrt(levels.max()) + 30))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE)
    given_count = np.einsum("cn,n->c", _anscombe(counts[:, None] + spread * nodes, spread), weights / weights.sum())
    chances = poisson.pmf(counts, levels[:, None])
    means: NDArray[np.float64] = np.einsum("lc,c->l", chances, given_count)
    return means
