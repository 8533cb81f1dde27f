r"""Stamps, captions and logos that were drawn over a photograph after the blur.

Their edges are sharper than any blurred image. If they are taken for data, a restoration explains them by ringing all
over the image, or by noise so strong that it hides detail. They are found before anything is restored: the residual of
a single step,

.. math:: r = G \hat x - y, \qquad \hat x = \operatorname{argmin} \tfrac12 \|G x - y\|^2 + \tfrac\rho2 \|x - y\|^2,
   \qquad \rho = (s / 0.1)^2,

contains what the kernel cannot produce: noise, a small part of all sharp detail, and nearly all of a drawing. Its RMS
in 3 x 3 pixels is compared with the median over the image. Pixels far above it are left out and the step is repeated,
because a drawing causes echoes around it, until no further pixels are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from plugplay.models.description import open_steps, part_of, reach_of, residual_of
from plugplay.tuning.rules import MIN_NOISE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray
    from plugplay.models.base import Model

__all__ = ["overlaid"]

# The contrast that the step expects of x - y.
CONTRAST = 0.1
# The relative residual of the step. With 3e-2, errors at the borders looked like a drawing, up to 30 times the median,
# in 18 of 50 photographs without noise except that of 8 bits (camera, astronaut, coffee, chelsea and brick behind five
# kernels). With 1e-3 nothing in them exceeds 9 times, as with 3e-4.
STEP_RESIDUAL = 1e-3
# Limits in units of the median, and of the largest excess: below the latter may be echoes.
MIN_EXCESS, ECHO = 12.0, 0.4
# The limit for channels that are not clipped nearby.
MIN_KNOWN_EXCESS = 6.0
# In the first round, the residual must also be this share of the contrast around it.
MIN_SHARE = 0.15
# Pixels next to a drawing belong to it above this excess, up to this many pixels away; and the gaps in letters.
ALSO_EXCESS, REACH, GAP = 5.0, 12, 3
ROUNDS = 8
# Smaller places are no text; and what covers more of an image is not drawn over it.
MIN_PIXELS, MIN_LENGTH, MAX_SHARE = 150, 24, 0.15
SIDE, AROUND = 3, 7
# The median of the absolute value of a normal number.
NORMAL_MEDIAN = 0.6745
# Values above this are clipped; and the largest share of an image that may be near clipped pixels.
WHITE, MAX_UNKNOWN = 0.98, 0.7


def overlaid(y: FloatArray, model: Model, noise: float | None) -> BoolArray | None:
    """Return where something was drawn over an image; None if there is nothing.

    Parameters
    ----------
    y : array
        The observation, ``(H, W)`` or ``(H, W, C)``, black being 0 and white 1.
    model : Model
        The model: a convolution without missing pixels.
    noise : float, optional
        Standard deviation of the noise; by default that of the finest detail, of which a blur leaves little.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> blur = pp.models.Deblurring(pp.kernels.box(5), boundary="unknown")
    >>> y = np.full((64, 64), 0.5) + np.random.default_rng(0).normal(0, 0.005, (64, 64))
    >>> overlaid(y, blur, 0.005) is None
    True
    >>> y[40, 20:50] = y[45, 20:50] = 0.9
    >>> found = overlaid(y, blur, 0.005)
    >>> bool(found[40, 20:50].all()), round(float(found.mean()), 1)
    (True, 0.1)
    """
    # Clipped highlights have sharp edges, too. In their channel the step is wrong as far as the kernel reaches from
    # them, and its residual as far again.
    white = _near(y >= WHITE, 1)
    unknown = _near(white, 2 * reach_of(model)).reshape(*y.shape[:2], -1)
    lights = _near(np.asarray(white.reshape(unknown.shape).all(axis=-1)), 3 * reach_of(model))
    if min(y.shape[:2]) < MIN_LENGTH or unknown.mean() > MAX_UNKNOWN:
        return None
    drawn, noise = np.zeros(y.shape[:2], np.bool_), _finest(y) if noise is None else noise
    for _ in range(ROUNDS):
        left = _left(y, model, ~drawn if drawn.any() else None, noise)
        if left is None:
            return None
        excess = _excess(left, np.zeros_like(unknown))
        echo = ECHO * float(excess.max())
        if drawn.any():
            far = _near(drawn, REACH) & (excess > max(ALSO_EXCESS, echo))
        else:
            far = ~lights & (excess > max(MIN_EXCESS, echo))
            if far.any():
                sharp = _mean_square(left, AROUND) > MIN_SHARE**2 * _contrast(y)
                far &= sharp & (_excess(np.where(unknown, 0, left), unknown) > MIN_KNOWN_EXCESS)
        if not far.any():
            break
        drawn = _whole(drawn | far)
        if drawn.mean() > MAX_SHARE:
            return None
    places, _ = ndimage.label(_near(drawn, REACH))  # letters that are near to each other are one text
    for number, box in enumerate(ndimage.find_objects(places), 1):
        here = (places[box] == number) & drawn[box]
        if np.count_nonzero(here) < MIN_PIXELS or max(here.shape) < MIN_LENGTH + 2 * REACH:
            drawn[box][here] = False
    return drawn if drawn.any() else None


def _left(y: FloatArray, model: Model, observed: BoolArray | None, noise: float) -> FloatArray | None:
    """Return the residual of a step, with an axis of channels."""
    term = model.data_term(y) if observed is None else part_of(model, observed, whole=True).data_term(y)
    rho = (max(noise, MIN_NOISE) / CONTRAST) ** 2
    residual = residual_of(term, open_steps(term, STEP_RESIDUAL).prox(term.start(), rho))
    return None if residual is None else residual.reshape(*y.shape[:2], -1)


def _finest(y: FloatArray) -> float:
    """Return the standard deviation of the finest detail, of all channels, as if it were normal."""
    height, width = (side // 2 * 2 for side in y.shape[:2])
    squares = y[:height, :width].reshape(height // 2, 2, width // 2, 2, -1)
    detail = np.einsum("iajbc,a,b->ijc", squares, [0.5, -0.5], [1, -1])
    return float(np.median(np.abs(detail))) / NORMAL_MEDIAN


def _near(places: BoolArray, reach: int) -> BoolArray:
    """Return the neighbourhood of places, in each channel."""
    side = (2 * reach + 1, 2 * reach + 1) + (1,) * (places.ndim - 2)
    found: BoolArray = ndimage.maximum_filter(places, side)
    return found


def _whole(places: BoolArray) -> BoolArray:
    """Return places with the gaps in and between letters."""
    closed = ndimage.binary_closing(np.pad(places, GAP), iterations=GAP)
    filled: BoolArray = ndimage.binary_fill_holes(closed)[GAP:-GAP, GAP:-GAP]
    return filled


def _excess(left: FloatArray, unknown: BoolArray) -> NDArray[np.float64]:
    """Return the RMS of the residual in small squares, in units of its median where it is known."""
    rms = np.sqrt(_mean_square(left, SIDE))
    excess: NDArray[np.float64] = rms / max(float(np.median(rms[~unknown.all(axis=-1)])), 1e-9)
    return excess


def _contrast(y: FloatArray) -> NDArray[np.float64]:
    """Return the variance of y around each pixel."""
    image = y.reshape(*y.shape[:2], -1)
    squared_mean = np.square(ndimage.uniform_filter(image, (AROUND, AROUND, 1), np.float64)).mean(axis=-1)
    found: NDArray[np.float64] = _mean_square(image, AROUND) - squared_mean
    return found


def _mean_square(image: FloatArray, side: int) -> NDArray[np.float64]:
    """Return the mean squares over squares, and over channels."""
    squares = np.einsum("ijk,ijk->ij", image, image, dtype=np.float64) / image.shape[2]
    means: NDArray[np.float64] = np.maximum(ndimage.uniform_filter(squares, side), 0)
    return means
