"""Checks of a result: signs that something is wrong with it, as warnings.

A result is doubtful if one of these applies:

* **nearly constant**: the standard deviation of the result is below 3 % of that of the observation, which is more than
  noise;
* **nothing but noise**: the observation, including its coarse structure, varies no more than its noise;
* **saturated**: clearly more of the result than of the observation is black or white, and does not explain the data;
* **unexplained**: the residual of a convolution is far above the noise, the assumed one or that assumed at first;
* **noise raised**: the data are explained only with far more noise than they show;
* **invented**: the restored image has structure where the observation is flat (`plugplay.tuning.flatness`);
* **flux lost**: the result, seen through the model, is on average brighter or darker than the observation;
* **worse than the start**: the first guess, the observation itself, explains the data better than the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.models.description import evened, misfit_of, missing_of, residual_of
from plugplay.noise.estimation import estimate_noise
from plugplay.tuning.rules import MIN_NOISE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray
    from plugplay.tuning.watch import Watch

__all__ = ["Seen", "doubts"]

MIN_CONTRAST = 0.03
# Limits in units of the noise: noise estimates are accurate to some per cent, and the variance of a hundred means to a
# tenth.
NOTHING_BUT_NOISE = 1.05
NO_STRUCTURE = 1.25
SIDE = 8
# A pixel counts as black or white within this distance; and the limit by which the share of such pixels may grow.
NEAR = 0.01
MAX_SATURATED = 0.3
# A residual this far above the assumed noise means that the model does not explain the data.
UNEXPLAINED = 2.0
MAX_RAISE = 4.0
# Limits of a noise level that runs have raised, in units of the noise in the data and as a level. Compression, palettes
# and transfer curves raise small levels in sound runs, by up to 14 times and then to at most 0.034
# (eleven images behind six kernels). Of kernels of another kind or far too wide most raise them above both limits.
MAX_RAISED, MIN_RAISED_LEVEL = 4.0, 0.04
# Limits of the lost light: as a share of the mean brightness above the darkest, and in standard errors of the mean.
MAX_FLUX_LOST = 0.03
MAX_ERRORS = 6.0
# A residual below this multiple of the noise is normal.
MIN_RESIDUAL = 1.25


@dataclass(frozen=True)
class Seen:
    """Statistics of an observation, on the working scale.

    Attributes
    ----------
    contrast : float
        Its standard deviation; 0 if the observation is not an image.
    flux : float
        Its mean above its darkest thousandth.
    saturated : float
        The share of it that is black or white.
    count : int
        Number of samples.
    coarse : float
        The standard deviation of the means of 8x8 samples, times 8, which is that of white noise; infinite if some
        samples are missing.

    Examples
    --------
    >>> Seen.of(np.array([[0.0, 1.0]]), None).contrast
    0.5
    """

    contrast: float
    flux: float
    saturated: float
    count: int
    coarse: float = math.inf

    @classmethod
    def of(cls, y: NDArray[Any], observed: BoolArray | None) -> Seen:
        """Measure an observation."""
        values = (y.ravel() if observed is None else y[np.broadcast_to(observed, y.shape)]).astype(np.float64)
        flux = float(values.mean()) - float(np.quantile(values, 0.001))
        coarse = _coarse(y) if observed is None or observed.all() else math.inf
        return cls(float(values.std()), flux, _saturated(values), values.size, coarse)


def doubts(watch: Watch, image: FloatArray, x: FloatArray) -> tuple[str, ...]:
    """Return warnings about a result; none if it looks right.

    Parameters
    ----------
    watch : Watch
        What the run is checked against.
    image, x : array
        The result, and the same on the whole domain of the data term.
    """
    seen, found = watch.seen, list(watch.doubted)
    image = evened(watch.data_term, image)
    assumed, first = max(watch.noise, MIN_NOISE), max(watch.first_noise, MIN_NOISE)
    if seen.contrast > 2 * watch.first_noise and float(np.std(image)) < MIN_CONTRAST * seen.contrast:
        found.append("the restored image is nearly constant; give a smaller noise, or data_range=(black, white)")
    if 0 < seen.contrast < NOTHING_BUT_NOISE * watch.first_noise and seen.coarse < NO_STRUCTURE * watch.first_noise:
        found.append(
            "the observation varies no more than its noise, so that what the restored image shows is hardly more than "
            "noise; take a larger part of the image, or more light"
        )
    residual = _unexplained(watch, x)
    if residual is None:
        return tuple(found)
    left = _rms(residual, seen.count)
    saturated = _saturated(image)
    if watch.bounded and left > MIN_RESIDUAL * first and saturated > seen.saturated + MAX_SATURATED:
        found.append(
            f"{100 * saturated:.0f} % of the restored image is black or white; check the kernel, or give a larger noise"
        )
    if not watch.convolution:
        return tuple(found)
    raised = _raised(watch)
    if raised > MAX_RAISED and watch.noise > MIN_RAISED_LEVEL:
        found.append(
            f"the data fit the restored image only with {raised:.0f} times the noise that they show; the kernel may be "
            "wrong: check its kind, size and angle, and the transfer curve"
        )
    if watch.invents(image):
        found.append(
            "the restored image has structure where the observation is flat; check the kernel, or give a larger noise"
        )
    if left > UNEXPLAINED * assumed or left > MAX_RAISE * first:
        found.append(
            f"the restored image does not explain the data: they differ by {left / first:.1f} "
            "times the noise; the kernel or the boundary may be wrong"
        )
    elif left > MIN_RESIDUAL * assumed:
        start = _unexplained(watch, watch.data_term.start())
        if start is not None and left > _rms(start, seen.count):
            found.append(
                "the observation explains the data better than the restored image does; check the kernel, or give a "
                "larger noise"
            )
    lost = -float(np.sum(residual, dtype=np.float64)) / max(seen.count, 1)
    if not watch.uniform and not watch.stars:
        lost -= missing_of(watch.data_term, x)
    if abs(lost) > MAX_FLUX_LOST * seen.flux + MAX_ERRORS * assumed / math.sqrt(max(seen.count, 1)):
        found.append(
            f"{100 * abs(lost) / max(seen.flux, 1e-12):.0f} % of the light was {'lost' if lost > 0 else 'added'}; "
            + _where_light_goes(watch)
        )
    return tuple(found)


def _where_light_goes(watch: Watch) -> str:
    """Return advice: black and white of a file that is encoded for the eye are known, so another range is none.

    Clipping at black in each iteration moves the mean of dark places.
    """
    scale = watch.scale
    if scale is not None and (watch.in_light or scale.transfer != "linear") and scale.is_nominal:
        return "give a larger noise, or clip=None"
    return "give clip=None, or data_range=(black, white)"


def _raised(watch: Watch) -> float:
    """Return by how much the noise was raised above that of the data; 0 if the model is no 2-D convolution.

    A level that was given too low does not count, where the data show the noise.
    """
    if watch.taps is None or watch.noise <= watch.first_noise:
        return 0.0
    shown = 0.0
    if watch.observation is not None:
        scale = watch.scale
        light = scale is not None and scale.transfer != "linear"
        numbers = scale.to_nominal(watch.observation) if scale is not None and light else watch.observation
        shown = estimate_noise(numbers, mask=watch.observed).sigma * (scale.slope if scale is not None else 1.0)
    return watch.noise / max(watch.first_noise, shown, MIN_NOISE)


def _unexplained(watch: Watch, x: FloatArray) -> FloatArray | None:
    """Return G x - y without weights, which would let the darkest places decide; None if the data term cannot tell."""
    plain = misfit_of(watch.data_term, x)
    return residual_of(watch.data_term, x) if plain is None else plain


def _coarse(y: NDArray[Any]) -> float:
    rows, columns = (min(SIDE, n) for n in y.shape[:2])
    whole = y[: y.shape[0] // rows * rows, : y.shape[1] // columns * columns]
    blocks = whole.reshape(whole.shape[0] // rows, rows, whole.shape[1] // columns, columns, *y.shape[2:])
    return float(blocks.mean(axis=(1, 3), dtype=np.float64).std()) * math.sqrt(rows * columns)


def _saturated(values: NDArray[Any]) -> float:
    return float(np.mean((values < NEAR) | (values > 1 - NEAR)))


def _rms(residual: FloatArray, count: int) -> float:
    return math.sqrt(float(np.sum(np.square(residual, dtype=np.float64))) / max(count, 1))
