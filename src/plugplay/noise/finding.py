"""The noise that a restoration assumes if none is given: a level that is rarely too low, and its spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.noise.coloured import ColouredNoise, estimate_spectrum
from plugplay.noise.estimation import NoiseEstimate, estimate_noise

__all__ = ["FoundNoise", "assumed_noise", "find_coloured_noise", "find_noise"]

# What is assumed where too little was observed to tell: told too much, a restoration is only a little less sharp.
# A file that was compressed lost some of it.
UNKNOWN_NOISE, UNKNOWN_COMPRESSED = 3 / 255, 2 / 255
# What JPEG of quality 92 and 95 took from blurred crops with hardly any noise, in steps of the pixels' values: 0.7 and
# 0.8 of a gray one, 1.1 to 2.1 of five in colour, whose chroma it halves. Estimates, with their error, saw about half
# of it: flat places, which are measured, lose least. Told 2.5 instead of 1.3, deblurring gained 0.6 and 3.4 dB on a
# cat. What the quality of the file may have made zero counts as well: of 46 random files of quality 75 to 97, like
# those of ``benchmarks/random_files.py``, three gained 0.4 to 9 dB by it and none lost more than 0.2 dB; of 44 others
# two gained 0.2 and 5.7 dB and none lost more than 0.25 dB.
COMPRESSED_GRAY, COMPRESSED_COLOUR = 0.8, 2.5
# Where texture is everywhere in a file whose steps show, the estimate is a bound. Denoising assumes little, or else it
# loses texture; where a blur is inverted too little is the cliff, and the bound is assumed up to this level. Of 31
# crops of gravel, grass, page, bridge, motorcycle, chelsea and nuthatch (JPEG 92, four kernels, noise 0.5, 2 and
# 5/255), whose bounds were 1.0 to 8.7 times the noise, four gained 0.5 to 3.0 dB by it, and none lost more than 0.45
# dB.
MAX_BOUND = 6 / 255
# An estimate whose error is this share of it says little more than that there may be noise.
MEANINGLESS = 0.9
# Coloured noise is taken for so many standard errors more than the estimate, but not for more than this factor: told
# too little, a denoiser leaves its strong frequencies. On 43 photographs at high sensitivity (`benchmarks/high_iso.py
# --images fit`) BM3D then ends 0.24 dB below what it does with the true spectrum at its best level, 0.33 without.
ERRORS_ABOVE, MAX_ABOVE = 1.5, 1.25
# Above this relative error, coloured noise cannot be told from texture, which must not be lost.
MAX_RELATIVE_ERROR = 0.9


@dataclass(frozen=True)
class FoundNoise:
    """The noise to assume.

    Attributes
    ----------
    level : float
        The standard deviation to assume.
    uncertainty : float
        The standard error of the underlying estimate; infinite if too little was observed.
    coloured : ColouredNoise, optional
        The noise, if it is not white.
    margin : float
        By how much the level is likely to be too low.
    compression : float
        The noise that compression probably removed or hides; it counts as noise when a blur is inverted.
    measured : float
        The measured level; `level` is lower if that is very uncertain.
    strongest : float
        What counts as noise when a blur is inverted, if the noise is stronger at low frequencies; else 0.
    planes : (float, float, float), optional
        As in `NoiseEstimate`.
    zeroed : float
        As in `NoiseEstimate`.
    beside_texture : bool
        Whether noise was told from texture (`plugplay.tuning.beside_texture`).
    """

    level: float
    uncertainty: float
    coloured: ColouredNoise | None = None
    margin: float = 0.0
    compression: float = 0.0
    measured: float = 0.0
    strongest: float = 0.0
    planes: tuple[float, float, float] | None = None
    zeroed: float = 0.0
    beside_texture: bool = False


def find_noise(y: FloatArray, *, mask: BoolArray | None = None, spatial_ndim: int = 2) -> FoundNoise:
    """Return a white level to assume.

    Examples
    --------
    >>> import numpy as np
    >>> found = find_noise(np.random.default_rng(0).normal(0.5, 0.05, (128, 128)))
    >>> abs(found.level - 0.05) < 0.003
    True
    """
    return assumed_noise(estimate_noise(y, mask=mask, spatial_ndim=spatial_ndim), colour=y.ndim > spatial_ndim)


def assumed_noise(estimate: NoiseEstimate, *, colour: bool) -> FoundNoise:
    """Return the white level to assume, given the estimate.

    Examples
    --------
    >>> assumed_noise(NoiseEstimate(0.02, 0.001), colour=False).level
    0.02
    """
    # Texture makes an estimate too high, not too low: of 18 images with six kernels and noise 2 to 10/255 such
    # estimates were 0.98 to 6 times the truth, 1.1 in the middle. Of certain ones, one in twenty was 3 % too low or
    # more, which is half of the error that they state.
    margin = 0.0 if "texture or coloured noise" in estimate.reasons else 0.5 * estimate.uncertainty
    took = max(estimate.step * (COMPRESSED_COLOUR if colour else COMPRESSED_GRAY), estimate.zeroed)
    level = _safe(estimate)
    if estimate.rounding and level < estimate.sigma:
        took = max(took, min(estimate.sigma, MAX_BOUND))
    return FoundNoise(
        level,
        estimate.uncertainty,
        margin=margin,
        compression=took * estimate.compressed,
        measured=max(level, estimate.sigma),
        strongest=estimate.strongest,
        planes=estimate.planes,
        zeroed=estimate.zeroed,
    )


def find_coloured_noise(y: FloatArray, *, mask: BoolArray | None = None) -> FoundNoise | None:
    """Return the coloured noise of an image ``(H, W)`` or ``(H, W, C)``; None if it may be treated as white.

    The luminance of a colour image decides: detail, and most of what demosaicking and compression leave, is there. Its
    level is that of noise which is alike and independent in all channels, and not below what `find_noise` says.
    """
    luminance, seen = y, mask
    if y.ndim == 3 and y.shape[-1] == 3:
        luminance = np.asarray(y.sum(axis=-1) / math.sqrt(3), y.dtype)
        seen = None if mask is None else np.asarray(mask.all(axis=-1)) if mask.ndim == 3 else mask
    noise = estimate_spectrum(luminance, mask=seen)
    if noise.is_white:
        return None
    error = estimate_noise(luminance, mask=seen).uncertainty
    if error > MAX_RELATIVE_ERROR * noise.sigma:
        return None
    level = noise.sigma + min(ERRORS_ABOVE * error, (MAX_ABOVE - 1) * noise.sigma)
    level = max(level, find_noise(y, mask=mask).level)
    return FoundNoise(level, error, ColouredNoise(level, noise.spectrum), margin=error)


def _safe(estimate: NoiseEstimate) -> float:
    """Return a noise level that is hardly too low: compression hides noise, but not what it did to the image."""
    if not math.isfinite(estimate.uncertainty):
        return UNKNOWN_NOISE
    # What compression hides is not known, unless the steps of the file show, and with them what rounding added.
    hides = estimate.compressed and not estimate.rounding
    level = math.hypot(estimate.sigma + hides * min(estimate.uncertainty, estimate.sigma), estimate.rounding)
    if estimate.uncertainty <= MEANINGLESS * estimate.sigma:
        return level
    # Detail everywhere, or hardly any pixels. That little shows of what a file hides does not mean that it is little.
    return UNKNOWN_COMPRESSED if hides else min(level, UNKNOWN_COMPRESSED if estimate.compressed else UNKNOWN_NOISE)
