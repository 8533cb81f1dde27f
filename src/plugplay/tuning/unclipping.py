r"""Noise that was clipped at black and white: what its means lost is given back before a restoration.

A denoiser, and a data term of squares, take what was observed for values with noise of mean zero. Noise that was
clipped has not (`plugplay.noise.clipped`): black becomes brighter by 0.4 standard deviations and white darker, so that
restored photographs are washed out. Let d be the denoised observation, which is close to the means m(x), and

.. math:: y' = y + m^{-1}(d) - d.

The mean of y' is x, and what d has lost of the detail in y is still in y'; so is the noise, which is a little weaker
near the ends. What follows restores y' instead of y.

This is done only where an end clearly shows it: with one in 200 pixels near it, as many at it as clipping brings there,
and as much noise as it leaves; and for noise of at least 6/255, as weaker noise moves its means by less than 2.4/255.
Local means tell first whether it is worth denoising.

The limits were found on crops of 192 pixels of motorcycle, coffee, chelsea, nuthatch, bridge, camera, coins and page:
with noise of 10 and 25/255, clipped and rounded to 8 bits, 0.94 to 1.42 times as many pixels are at an end as expected,
where at least a hundredth of all are near it. Where there is less noise in dark places (none, or noise whose variance
is proportional to the signal), local means tell 0 to 0.9 times as many; and compression, which smoothes noise, leaves
0.45 to 0.7 times as many in colour JPEG files, which are not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.ndimage import uniform_filter

from plugplay.noise.clipped import ClippedNoise, end_evidence

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.denoisers.base import Denoiser

__all__ = ["DENOISER", "told_of", "unclipped"]

MIN_NOISE = 6 / 255
# What an end has to show: pixels near it, those at it and their variance as parts of what clipping leaves. Means of a
# few pixels, SIDE x SIDE, hide edges, and are looked at with wider limits.
END_SHARE, MIN_AT_END, MAX_AT_END, MIN_VARIANCE = 0.005, 0.84, 1.6, 0.5
SIDE, ROUGHLY = 7, 0.8
# The denoiser whose results are means; a median is none.
DENOISER = "bm3d"


def unclipped(
    y: FloatArray, sigma: float, denoise: Denoiser, *, known: ClippedNoise | None = None
) -> tuple[FloatArray, ClippedNoise]:
    """Return y', whose noise has the mean zero, and at which ends it was clipped; y itself if it was at none.

    Parameters
    ----------
    y : array
        The observation, from black at 0 to white at 1.
    sigma : float
        The standard deviation of its noise before it was clipped.
    denoise : callable
        A denoiser whose results are close to means, as those of BM3D are.
    known : ClippedNoise, optional
        At which ends it was clipped, if y is a part of an image that has told it.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> dark, bm3d = np.random.default_rng(0).normal(0.05, 0.1, (64, 64)), pp.denoisers.get("bm3d")
    >>> y, clipped = unclipped(dark.clip(0, 1), 0.1, bm3d)
    >>> clipped, [round(float(abs(image.mean() - 0.05)), 2) for image in (dark.clip(0, 1), y)]
    (ClippedNoise(low=0.1, high=0.0), [0.02, 0.0])
    >>> bool(unclipped(dark, 0.1, bm3d)[1])
    False
    """
    none = ClippedNoise(0.0, 0.0)
    if known is None and (sigma < MIN_NOISE or float(y.min()) < 0 or float(y.max()) > 1):
        return y, none
    if known is None:
        roughly = uniform_filter(y, (SIDE, SIDE) + (1,) * (y.ndim - 2), mode="nearest")
        if not _ends(y, roughly, sigma, ROUGHLY):
            return y, none
    elif not known:
        return y, known
    means = denoise(y, sigma)
    clipped = _ends(y, means, sigma) if known is None else known
    if not clipped:
        return y, clipped
    moved: FloatArray = y + (clipped.behind(means) - means)
    moved.setflags(write=False)
    return moved, clipped


def told_of(clipped: ClippedNoise) -> tuple[str, ...]:
    """Return what a user should know about clipped noise.

    Examples
    --------
    >>> told_of(ClippedNoise(0.1, 0.0))
    ('the noise was clipped at black, which made what is dark brighter on average: that was undone',)
    """
    if not clipped:
        return ()
    ends = [(clipped.low, "black", "what is dark brighter"), (clipped.high, "white", "what is bright darker")]
    names, effects = zip(*[texts for level, *texts in ends if level], strict=True)
    where, what = " and ".join(names), " and ".join(effects)
    return (f"the noise was clipped at {where}, which made {what} on average: that was undone",)


def _ends(y: FloatArray, means: FloatArray, sigma: float, roughness: float = 1.0) -> ClippedNoise:
    """Return at which ends the noise shows that it was clipped; the limits are so many times as strict."""
    found = [end_evidence(y, means, sigma, white=white) for white in (False, True)]
    clipped = [
        end.share >= roughness * END_SHARE
        and roughness * MIN_AT_END <= end.at_end <= MAX_AT_END / roughness
        and end.variance >= roughness * MIN_VARIANCE
        for end in found
    ]
    return ClippedNoise(sigma * clipped[0], sigma * clipped[1])
