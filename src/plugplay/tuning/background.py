r"""Whether the darkest places of an observation are a background, or something darker that a blur has lightened.

Behind cells and stars lies a flat background, and nothing is darker: darker places in a restoration are rings around
bright objects. In a photograph the darkest places are lines and shadows, whose contrast a blur reduces: restored, they
are darker than all observed pixels.

A background is flat over more than the width of the kernel. So it shows in the observation after denoising by a mean of
3 x 3 pixels, and also after the kernel was applied once more, :math:`G^\top y`, which brightens dark places smaller
than the kernel. Let z be either of them, with noise :math:`s_z` and :math:`z_0` its darkest hundredth. A pixel belongs
to the background if

.. math:: \max_{5 \times 5} z \le z_0 + 5 s_z

for both. An image has a background if that is at least a fiftieth of it. The 5 x 5 pixels distinguish it from fine
stripes, whose dark lines are as even as a background.

Found on 17 images with values squeezed to a tenth or a fifth of their range, at several levels (camera, gravel, brick,
coins, page, nuthatch, bridge, chelsea, dragonfly, cell and hubble_deep_field of scikit-image, drawn stripes, gratings,
lines, spots, discs and the cells of ``benchmarks/cells.py``), eight kernels and noise of 0.5 to 20/255. The share is
0.03 or more where something lies on a background, and less than 0.02 where an image gains 0.2 dB or more by being
darker than what was observed. Bricks have 0 to 0.2: their faces look like a background where noise hides their grain.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft
from scipy.ndimage import maximum_filter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from plugplay.arrays.checks import BoolArray, FloatArray

__all__ = ["background_share", "has_background"]

# The share of an image that has to be background.
MIN_SHARE = 0.02
# The quantile z_0, the limit above it in units of the noise, and the side of the maximum.
DARKEST, MAX_ABOVE, NEIGHBOURS = 0.01, 5.0, 5
# The side of the mean that reduces noise.
SIDE = 3
# The least noise, as a share of the range of the image: kernels have long tails, and the given noise may be too low.
MIN_NOISE = 1.5e-3
# Large images are examined in windows of this side, in 2 and 3 dimensions, at most this many along each axis.
WINDOWS, MAX_WINDOWS = {2: 256, 3: 48}, 4
# Missing pixels get the mean of the observed ones within the kernel, if these are at least this share of it.
MIN_SEEN = 0.5


def has_background(
    y: FloatArray, noise: float, *, taps: NDArray[np.float64] | None = None, observed: BoolArray | None = None
) -> bool:
    """Tell whether an image has a dark background; parameters as in `background_share`.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.random.default_rng(0).normal(0.2, 0.01, (64, 64))
    >>> y[20:30, 20:30] += 0.5
    >>> has_background(y, 0.01), has_background(1 - y, 0.01)
    (True, False)
    """
    return background_share(y, noise, taps=taps, observed=observed) >= MIN_SHARE


def background_share(
    y: FloatArray, noise: float, *, taps: NDArray[np.float64] | None = None, observed: BoolArray | None = None
) -> float:
    """Return the share of an image that is dark background: as dark as its darkest part, and flat except for noise.

    Parameters
    ----------
    y : array
        The observation: spatial axes, then perhaps channels, whose shares are taken together.
    noise : float
        Standard deviation of its noise.
    taps : array, optional
        The kernel, with as many axes as the image has spatial ones. Without it there are two, and only the mean of y is
        examined.
    observed : array of bool, optional
        True where a pixel was observed, in the shape of y or without its channels.
    """
    ndim = 2 if taps is None else taps.ndim
    parts = list(_parts(y, observed, ndim))
    mean = np.full((SIDE,) * ndim, 1 / SIDE**ndim)
    kernels = [mean]
    if taps is not None and abs(float(taps.sum())) > 1e-3 * float(np.abs(taps).sum()):
        mirrored = taps[(slice(None, None, -1),) * ndim] / taps.sum()
        shape = [n + SIDE - 1 for n in taps.shape]
        kernels.append(scipy.fft.irfftn(scipy.fft.rfftn(mirrored, shape) * scipy.fft.rfftn(mean, shape), shape))
    flat = [seen for _, seen in parts]
    for kernel in kernels:
        smooth = [_smoothed(values, seen, kernel) for values, seen in parts]
        told = np.concatenate([values[np.isfinite(values)] for values in smooth])
        if told.size == 0:
            return 0.0
        first, darkest, last = np.quantile(told, (0.0, DARKEST, 1.0))
        spread = max(noise * math.sqrt(float(np.sum(np.square(kernel)))), MIN_NOISE * float(last - first))
        for place, values in enumerate(smooth):
            # Unknown values count as bright.
            highest = maximum_filter(np.where(np.isfinite(values), values, np.inf), NEIGHBOURS)
            flat[place] = flat[place] & (highest <= darkest + MAX_ABOVE * spread)
    total = sum(int(np.count_nonzero(seen)) for _, seen in parts)
    return sum(int(np.count_nonzero(places)) for places in flat) / max(total, 1)


def _parts(y: FloatArray, observed: BoolArray | None, ndim: int) -> Iterator[tuple[NDArray[np.float64], BoolArray]]:
    """Yield the channels of some windows, zero where nothing was observed, with masks of the observed pixels."""
    channels = y.reshape(*y.shape[:ndim], -1)
    seen = np.ones(y.shape, bool) if observed is None else observed
    seen = np.broadcast_to(seen.reshape(*y.shape[:ndim], -1), channels.shape)
    for window in itertools.product(*(_spans(length, WINDOWS[ndim]) for length in y.shape[:ndim])):
        for channel in range(channels.shape[-1]):
            values = channels[window][..., channel].astype(np.float64)
            known = seen[window][..., channel] & np.isfinite(values)
            yield np.where(known, values, 0.0), known


def _spans(length: int, side: int) -> list[slice]:
    """Return the parts of an axis to be examined: all of it, or evenly spread windows."""
    if length <= side * MAX_WINDOWS:
        return [slice(0, length)]
    return [slice(at, at + side) for at in np.linspace(0, length - side, MAX_WINDOWS).astype(int).tolist()]


def _smoothed(values: NDArray[np.float64], seen: BoolArray, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means of observed pixels over the kernel, mirrored beyond the border; NaN where there are too few."""
    margins = [(n // 2, n - 1 - n // 2) for n in kernel.shape]
    shape = [scipy.fft.next_fast_len(n + m - 1, real=True) for n, m in zip(values.shape, kernel.shape, strict=True)]
    response = scipy.fft.rfftn(kernel, shape)
    inner = tuple(slice(m - 1, m - 1 + n) for n, m in zip(values.shape, kernel.shape, strict=True))

    def convolved(array: NDArray[np.float64]) -> NDArray[np.float64]:
        padded = np.pad(array, margins, mode="symmetric")
        return np.asarray(scipy.fft.irfftn(scipy.fft.rfftn(padded, shape) * response, shape)[inner])

    if seen.all():
        return convolved(values)
    weights = convolved(seen.astype(np.float64))
    return np.where(weights >= MIN_SEEN, convolved(values) / np.maximum(weights, MIN_SEEN), np.nan)
