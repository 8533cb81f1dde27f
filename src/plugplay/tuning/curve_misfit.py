r"""The effect of a transfer curve on a blur, as a level of noise.

A blur acts on light. If values are stored with a transfer curve, :math:`y = c(H l)` with light l, and are deblurred as
they are, the image is :math:`x = c(l)`, but its observation is not :math:`H x`. They differ by

.. math:: e = c(H\, c^{-1}(x)) - H x,

which is zero where the image is flat, and large at edges, where the mean of light is brighter than the mean of the
values. The loop assumes a linear blur and explains e by ringing; neither the residual nor its spectrum shows it, and it
is kept out of the image only if it counts as noise. Its size follows from a first result, which has the edges of the
image, and the curve :math:`c(l) = l^{1/2.2}`, which is close to that of photographs.

Coins, dragonfly and coffee, with missing pixels and stored with that curve, 112 x 112 pixels: the RMS of e is 8 to
21/255 behind boxes, disks and motion, where noise of 4 to 20/255 has to be assumed and 0.5 to 3 is estimated, and 0.1
to 0.5/255 on a retina, whose contrast is low, where more noise would cost 2 dB.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from plugplay.arrays.transfer import encode, gamma, linearise
from plugplay.models.description import residual_of

if TYPE_CHECKING:
    from plugplay.arrays.checks import BoolArray, FloatArray
    from plugplay.models.base import DataTerm

__all__ = ["CURVED", "curve_misfit"]

CURVE = gamma(2.2)
# The warning if values seem to have a transfer curve that was not undone.
CURVED = (
    "there is more noise in dark than in bright places, as if the values were gamma-encoded; transfer='srgb', or "
    "--linear on, restores linear light"
)


def curve_misfit(data_term: DataTerm, x: FloatArray, observed: BoolArray | None = None) -> float:
    """Return the RMS of e; NaN if the data term has no residual.

    Parameters
    ----------
    data_term : DataTerm
        The data term of a convolution.
    x : array
        The restored image on the whole domain, black being 0 and white 1.
    observed : array of bool, optional
        True where a pixel was observed.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> blur = pp.models.Deblurring(pp.kernels.box(5))
    >>> edge, flat = np.repeat([[0.1, 0.9]], 16, axis=1) * np.ones((32, 1)), np.full((32, 32), 0.5)
    >>> curve_misfit(blur.data_term(edge), edge) > 0.02, curve_misfit(blur.data_term(flat), flat) < 1e-6
    (True, True)
    """
    image = np.clip(x, 0, 1)
    # G x - y, G l - y and -y.
    left = [residual_of(data_term, part) for part in (image, linearise(image, CURVE), np.zeros_like(image))]
    numbers, light, nothing = left
    if numbers is None or light is None or nothing is None:
        return math.nan
    misfit = encode(np.maximum(light - nothing, 0), CURVE) - (numbers - nothing)
    seen = 1.0 if observed is None else float(np.mean(observed))
    return math.sqrt(float(np.mean(np.square(misfit, dtype=np.float64))) / max(seen, 1e-9))
