"""Single photons by one denoising: counts are stabilised, denoised, and transformed back."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

from plugplay.arrays.checks import FloatArray, frozen
from plugplay.arrays.records import Fingerprinted
from plugplay.models.likelihoods import photon_law
from plugplay.models.likelihoods.binomial import BinomialStabiliser
from plugplay.models.likelihoods.gaussian import PointwiseTerm
from plugplay.models.likelihoods.stabilised import StabilisedTerm
from plugplay.models.single_photon import CountedSinglePhoton, SinglePhoton

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from plugplay.traits import Traits

__all__ = ["StabilisedPhotons", "are_stable"]

# Trials that differ by more than this share of their median have noise that differs too much, ...
MAX_SPREAD = 0.2
# ... unless so few pixels are concerned.
MAX_FEW = 0.05


@dataclass(frozen=True)
class StabilisedPhotons(CountedSinglePhoton):
    """The sensor of `SinglePhoton`, observed as counts ``(2, H, W)`` through a variance-stabilising transform.

    After the transform the noise is uniform and known, so that one denoising is enough. It is better than the paper's
    loop where many jots observe a pixel, because repeated denoising wears texture off.

    Examples
    --------
    >>> import numpy as np
    >>> sensor = StabilisedPhotons(4)
    >>> counts = sensor.simulate(np.full((8, 8), 0.5), rng=0)
    >>> term = sensor.data_term(counts)
    >>> bool(abs(term.crop(term.start()).mean() - 0.5) < 0.05)
    True
    """

    @classmethod
    def of(cls, sensor: SinglePhoton) -> StabilisedPhotons:
        """Return the same sensor, seen through the transform."""
        return cls(**{field.name: getattr(sensor, field.name) for field in fields(SinglePhoton)})

    def traits(self, y: NDArray[Any]) -> Traits:
        """Return what this model says about itself."""
        told = super().traits(y)
        noise = BinomialStabiliser.build(_usual(np.asarray(y)[1])).noise
        return replace(told, unknowns_per_sample=1.0, leaves="white", weight=None, noise=noise, natural=False)

    def data_term(self, y: ArrayLike) -> StabilisedTerm:  # type: ignore[override]  # another domain
        """Return ``f(x) = ½ ||x - T(counts)||²`` in the transformed domain."""
        exact = super().data_term(y)  # refuses what are no counts
        trials = exact.ones + exact.zeros
        table = BinomialStabiliser.build(_usual(trials))
        share = _filled(exact.ones, trials)
        noisy = table.forward(share * table.trials).astype(np.float32)
        return StabilisedTerm(PointwiseTerm(frozen(noisy)), _Brightness(table, self))


@dataclass(frozen=True, eq=False)
class _Brightness(Fingerprinted):
    """From brightness to the mean of transformed counts, and back."""

    table: BinomialStabiliser
    sensor: StabilisedPhotons

    def forward(self, image: FloatArray) -> FloatArray:
        rate = self.sensor.photons_per_jot * np.maximum(image.astype(np.float64), 0) + self.sensor.dark
        return self.table.expect(photon_law.probability_of_one(rate, self.sensor.threshold)).astype(image.dtype)

    def inverse(self, image: FloatArray) -> FloatArray:
        chance = self.table.inverse(image)
        rate = photon_law.most_likely_rate(chance, np.ones_like(chance), self.sensor.threshold)
        brightness = (rate - self.sensor.dark) / self.sensor.photons_per_jot
        return np.clip(brightness, 0.0, 1.0).astype(image.dtype)


def are_stable(trials: NDArray[Any]) -> bool:
    """Tell whether equally many jots observe every pixel, so that there is a single noise level.

    A few pixels may have fewer, or none if they are not adjacent, as with hot and dead jots; they are filled in from
    their neighbours.
    """
    usual = _usual(trials)
    few = trials < (1 - MAX_SPREAD) * usual
    if trials.max() > (1 + MAX_SPREAD) * usual or np.count_nonzero(few) > MAX_FEW * trials.size:
        return False
    if not few.any():
        return True
    small = trials.shape[0] < 3 or trials.shape[1] < 3
    square = np.ones((3, 3) + (1,) * (trials.ndim - 2), np.bool_)
    return not small and not ndimage.binary_erosion(trials == 0, square).any()


def _usual(trials: NDArray[Any]) -> int:
    return max(1, round(float(np.median(trials))))


def _filled(ones: NDArray[Any], trials: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of ones; where there were no trials, that of the neighbours."""
    share: NDArray[np.float64] = np.divide(ones, trials, out=np.zeros_like(ones), where=trials > 0)
    empty = trials == 0
    if not empty.any():
        return share
    reach = (1.0, 1.0) + (0.0,) * (ones.ndim - 2)
    near = ndimage.gaussian_filter(ones, reach), ndimage.gaussian_filter(trials, reach)
    share[empty] = (near[0] / np.maximum(near[1], 1e-300))[empty]
    return share
