"""Estimate the exposure of a photon cube from its counts: the photons at white, and the dark counts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from plugplay.models.likelihoods import photon_law
from plugplay.models.single_photon import SinglePhoton

__all__ = ["dark_counts", "exposed", "overexposed", "per_exposure", "white_level"]

Sensor = TypeVar("Sensor", bound=SinglePhoton)

# White is this quantile of the brightness plus a margin: brighter pixels are clipped, which is worse than a little less
# contrast.
WHITE = 0.9995
MARGIN = 1.1
# Pixels are averaged until so many jots have fired in the mean one: a relative error of 7 %.
MIN_ONES = 200
MAX_WINDOW = 15
# Single jots count as at most this multiple of that quantile of all jots, so that a few hot ones that stand together,
# and pass for a part of the scene, do not set the exposure: three of them had made an image three times too dark.
MAX_JOT = 2.0
# A place is saturated if each of so many jots fired. Of an image at most this share may be: 0.07 of sound ones is,
# while 0.3 to 0.5 of those that lose 5 dB are (four images at 3 to 40 photons, 1 to 1000 frames).
MIN_TRIALS, MAX_SATURATED = 200, 0.3
# A jot that fires in the dark so much more often than others, beyond chance, is hot.
HOT, CHANCE = 5.0, 1e-7
ROUNDS = 3


def white_level(ones: NDArray[np.int64], trials: NDArray[np.int64], *, threshold: int = 1, dark: float = 0.0) -> float:
    """Return the photons that a jot detects in a frame where the image is white.

    Parameters
    ----------
    ones, trials : arrays ``(H, W)``
        How many jots of each pixel fired, and how many could have.
    threshold : int
        Photons that a jot needs to fire.
    dark : float
        Dark counts per jot and frame.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> ramp = np.tile(np.linspace(0, 1, 64), (64, 1))
    >>> counts = pp.models.single_photon.CountedSinglePhoton(1, frames=400, gain=0.7).simulate(ramp, rng=0)
    >>> 0.7 < white_level(*counts) < 0.9
    True
    """
    fired, tried = ones.astype(np.float64), trials.astype(np.float64)
    mean = float(fired.sum()) / max(int(np.count_nonzero(tried)), 1)
    window = int(np.clip(math.ceil(math.sqrt(MIN_ONES / max(mean, 1e-9))), 1, MAX_WINDOW))
    window = min(window, max(1, min(ones.shape[:2]) // 4))
    if window > 1:
        usual = float(np.quantile(fired[tried > 0] / tried[tried > 0], WHITE)) if tried.any() else 1.0
        fired = np.minimum(fired, np.maximum(MAX_JOT * usual * tried, 1.0))
        size = (window, window) + (1,) * (ones.ndim - 2)
        fired, tried = (ndimage.uniform_filter(each, size) for each in (fired, tried))
    seen = tried > 0
    if not seen.any():
        return 1.0
    # A pixel in which everything fired has seen no more photons than half a zero would tell.
    share = np.minimum(fired[seen] / tried[seen], 1 - 0.5 / (tried[seen] * window**2 + 1))
    rates = photon_law.most_likely_rate(share, np.ones_like(share), threshold)
    white = MARGIN * (float(np.quantile(rates, WHITE)) - dark)
    least = photon_law.most_likely_rate(np.array([1 / max(float(tried.sum()), 2.0)]), np.ones(1), threshold)
    return max(white, float(least[0]))


def overexposed(ones: NDArray[np.int64], trials: NDArray[np.int64]) -> tuple[str, ...]:
    """Return a warning if so much of an image is saturated that it is white and nothing else, else nothing.

    Parameters
    ----------
    ones, trials : arrays ``(H, W)``
        How many jots of each pixel fired, and how many could have.

    Examples
    --------
    >>> ones = np.full((20, 20), 500)
    >>> ones[:8] = 300
    >>> overexposed(ones, np.full((20, 20), 500))[0].partition(":")[0]
    'every jot fired in 60 % of the image, which is white there'
    """
    tried = trials > 0
    if not tried.any():
        return ()
    window = min(math.ceil(math.sqrt(MIN_TRIALS / float(np.median(trials[tried])))), MAX_WINDOW)
    dark = (trials - ones).astype(np.float64)
    if window > 1:
        dark = ndimage.uniform_filter(dark, (window, window) + (1,) * (ones.ndim - 2))
    share = float(np.mean(dark[tried] < 0.5 / window**2))
    if share <= MAX_SATURATED:
        return ()
    return (
        f"every jot fired in {100 * share:.0f} % of the image, which is white there: there was too much light for so "
        "few frames; take more, or shorter ones",
    )


def per_exposure(gain: float | None, oversampling: int, exposures: int) -> float | None:
    """Return the photons per pixel in each of the binary exposures that a frame of counts stands for."""
    if gain is None and exposures == 1:
        return None
    return (oversampling**2 if gain is None else gain) / exposures


def exposed(model: Sensor, counts: NDArray[np.int64]) -> Sensor:
    """Return the sensor with the gain with which its image fills [0, 1], from counts ``(2, H, W)``."""
    white = white_level(counts[0], counts[1], threshold=model.threshold, dark=model.dark)
    return replace(model, gain=white * model.oversampling**2 / model.efficiency)


def dark_counts(
    ones: NDArray[np.int64], trials: NDArray[np.int64], *, threshold: int = 1
) -> tuple[float, NDArray[np.bool_]]:
    """Return the dark counts per jot and frame from a cube without light, and which jots are hot.

    Parameters
    ----------
    ones, trials : arrays ``(H, W)``
        How often each jot fired, and in how many frames.
    threshold : int
        Photons that a jot needs to fire.

    Examples
    --------
    >>> import numpy as np
    >>> ones = np.random.default_rng(0).binomial(1000, 0.01, (32, 32))
    >>> ones[3, 4] = 400
    >>> rate, hot = dark_counts(ones, np.full_like(ones, 1000))
    >>> 0.009 < rate < 0.011, np.argwhere(hot).tolist()
    (True, [[3, 4]])
    """
    from scipy.stats import binom  # slow to import, and few runs need it

    hot = trials == 0
    rate = 0.0
    for _ in range(ROUNDS):
        tried = int(trials[~hot].sum())
        share = int(ones[~hot].sum()) / max(tried, 1)
        rate = float(photon_law.most_likely_rate(np.array([share]), np.ones(1), threshold)[0])
        chance = binom.sf(ones - 1, np.maximum(trials, 1), max(share, 0.5 / max(tried, 1)))
        found = (trials == 0) | ((chance < CHANCE) & (ones > HOT * share * trials))
        if np.array_equal(found, hot):
            break
        hot = found
    return rate, hot & (trials > 0)
