r"""Stein's unbiased risk estimate: which lambda restores best, from the observation alone.

For :math:`y = G x + n` and the prediction :math:`p(y) = G \hat x(y)` of the noiseless observation, the estimate of
:math:`E\|A (p(y) - G x)\|^2` is, up to a constant,

.. math:: \|A (p(y) - y)\|^2 + 2 s^2 \operatorname{tr}(A^T A\, p'(y)),

with the trace from one random direction b, :math:`Ab \cdot A(p(y + \epsilon b) - p(y)) / \epsilon`. The regularised
inverse A of G turns errors of the observation into errors of the image, as far as the noise allows. Each lambda takes
two restorations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plugplay.tuning.rules import MIN_NOISE

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugplay.arrays.checks import FloatArray

__all__ = ["FACTORS", "inverse_weight", "least_risk"]

# The factors of lambda that are tried, and the variance of images that the regularised inverse assumes.
FACTORS = (0.35, 0.6, 1.0, 1.7, 2.8)
IMAGE_VARIANCE = 0.05


def inverse_weight(noise: float) -> float:
    """Return the rho with which a proximal step from zero is the regularised inverse A."""
    return max(noise, MIN_NOISE) ** 2 / IMAGE_VARIANCE


def least_risk(
    predict: Callable[[FloatArray, float], FloatArray],
    deconvolve: Callable[[FloatArray], FloatArray],
    y: FloatArray,
    *,
    noise: float,
    lam: float,
    rng: np.random.Generator,
) -> float:
    """Return the lambda, among a few around the given one, with the least estimated risk (Monte-Carlo SURE).

    Parameters
    ----------
    predict : callable
        ``(y, lam) -> p(y)``.
    deconvolve : callable
        A.
    y : array
        The observation.
    noise : float
        s, the standard deviation of the noise.
    lam : float
        The lambda that is varied.
    rng : numpy.random.Generator
        Source of b.
    """
    direction = rng.choice(np.array([-1.0, 1.0]), size=y.shape).astype(y.dtype)
    # Small, because a denoiser that thresholds is far from linear: a quarter of the noise overestimates by half.
    step = max(noise, MIN_NOISE) / 20
    spread = deconvolve(direction)
    risks = []
    for factor in FACTORS:
        prediction = predict(y, factor * lam)
        moved = predict(y + y.dtype.type(step) * direction, factor * lam)
        trace = float(np.sum(spread * deconvolve(moved - prediction), dtype=np.float64)) / step
        misfit = float(np.sum(np.square(deconvolve(prediction - y), dtype=np.float64)))
        risks.append(misfit + 2 * noise**2 * trace)
    return FACTORS[int(np.argmin(risks))] * lam
