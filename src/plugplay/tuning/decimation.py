"""The noise to assume where texture or aliased detail may be mistaken for noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plugplay.tuning.beside_texture import Beside, noise_beside_texture
from plugplay.tuning.empty_frequencies import most_noise
from plugplay.tuning.folding import NoiseBounds, noise_bounds
from plugplay.tuning.holding_out import foretold, speaks_of_noise
from plugplay.tuning.smoothed import smoothed_noise
from plugplay.tuning.texture import HARMLESS, is_noise, without_texture
from plugplay.tuning.transmission import transmission

if TYPE_CHECKING:
    from plugplay.arrays.checks import FloatArray
    from plugplay.models.base import Model
    from plugplay.noise.finding import FoundNoise
    from plugplay.traits import Traits

__all__ = ["noise_behind", "noise_found", "unaliased"]

ALIASING_PER_FACTOR, ALIASING_DOUBT = 0.05, 0.12
USUAL_NOISE, USUAL_SPREAD = 5 / 255, 0.35
# Detail is everywhere if the quietest blocks have this many times the level of the emptiest frequencies, and those have
# more than usual noise: the last number is then assumed, gradually between the two levels.
DETAIL_RATIO, DETAIL_LEVELS, AMONG_DETAIL = 2.0, (6 / 255, 8 / 255), 4 / 255
MIN_DETAIL_FACTOR = 3
# An estimate that a denoiser lowered is moved by this share towards the usual noise, gradually between these levels.
USUAL_SHARE, LOWERED_LEVELS = 0.5, (2 / 255, 3 / 255)
# From this multiple of a harmless level on, held-out samples decide (`plugplay.tuning.holding_out`): below the first
# ratio it is noise, above the second it is texture.
MIN_HARM, NOISE_RATIO, TEXTURE_RATIO = 2.0, 0.965, 0.985
# Relative standard errors: from the first on, an estimate behind a blur is uncertain; noise beside texture is not used
# beyond the second.
UNCERTAIN, MAX_ERROR = 0.1, 0.25
# A blur leaves texture at all frequencies if the observation decides this share of them, where it has no holes.
MILD = 0.7
# What noise beside texture is doubted, relative to it, where it is less than what quiet blocks show.
BESIDE_DOUBT = 0.15


def noise_found(y: FloatArray, traits: Traits, found: FoundNoise, model: Model | None = None) -> FoundNoise:
    """Return an estimate of the noise without what is detail.

    The spectrum of a decimated image gives bounds of the noise (`plugplay.tuning.folding`). Between them
    `plugplay.tuning.texture` decides, unless much of it certainly is noise. On nine unseen images (moon, rocket,
    retina, wine, seeding, and four more photographs of the packages in `benchmarks/photographs.py`; 192 x 192 pixels),
    told nothing, the paper's four configurations gain 0.07, 0.07, 0.11 and 0.12 dB on average by the spectrum and by
    slower schedules, and no image loses more than 0.07 dB.

    Parameters
    ----------
    y : array
        The observation, in the values of its file.
    traits : Traits
        The properties of the model.
    found : FoundNoise
        The estimate from quiet blocks.
    model : Model, optional
        The model, if it acts on these values (not on light): then samples can be held out.
    """
    whole = traits.spatial_ndim == 2 and traits.observed is None
    if traits.decimation == 1:
        # What was compressed or demosaicked holds less noise at high frequencies, where blurred images have least.
        most = math.inf if found.compression and not found.strongest else most_noise(y, traits)
        found = replace(found, strongest=smoothed_noise(found, most, traits))
        white = not (found.compression or found.strongest)
        most = most if white else math.inf
        beside = None
        # If these values are light, texture is as strong in them as the blur leaves it.
        if white and model is not None and found.uncertainty > UNCERTAIN * found.level:
            beside = noise_beside_texture(y, traits)
        if beside is not None and traits.spectrum is not None and beside.error < MAX_ERROR * beside.level:
            known = min(found.level, most)
            # A stronger blur leaves hardly any texture there, but empties frequencies, which bound the noise.
            if beside.level > known or transmission(traits.spectrum, beside.level) > MILD:
                return _with_beside(replace(found, level=known), beside)
        measured = min(found.measured, most)
        # An estimate that was lowered because it may be texture is noise after all if a denoiser removes most of it.
        believed = whole and found.level < measured and is_noise(y, measured)
        level = measured if believed else min(found.level, most)
        if level < most:
            return replace(found, level=level)
        return replace(found, level=most, uncertainty=min(found.uncertainty, most), margin=0.0)
    found = replace(found, strongest=0.0)
    if not whole:
        return replace(found, level=found.measured)
    bounds = noise_bounds(y, traits)
    level = found.measured if bounds.is_noisy else without_texture(y, found.measured)
    level = _among_detail(min(max(level, bounds.low), bounds.high), found.measured, bounds, traits.decimation)
    # If the quietest blocks have more power than the emptiest frequencies, there is texture everywhere.
    doubtful = found.measured > bounds.high and not bounds.is_noisy and level >= MIN_HARM * HARMLESS
    if model is not None and doubtful and speaks_of_noise(model, traits):
        level = _by_samples(level, foretold(y, model))
    elif found.measured <= bounds.high and not bounds.is_noisy:
        level = _as_usual(level, traits)
    return replace(found, level=level, uncertainty=min(found.uncertainty, bounds.high - bounds.low))


def _with_beside(found: FoundNoise, beside: Beside) -> FoundNoise:
    """Return an estimate that takes account of the noise beside texture: fully if that is more.

    If it is less, it is a mean whose weights are those of two estimates, one with the standard error of the quiet
    blocks, and one with `BESIDE_DOUBT`: noise that was smoothed a little is less at the frequencies that tell the noise
    beside texture.

    Examples
    --------
    >>> from plugplay.noise.finding import FoundNoise
    >>> from plugplay.tuning.beside_texture import Beside
    >>> [round(_with_beside(FoundNoise(2.0, error), Beside(1.0, 0.05)).level, 2) for error in (2.0, 0.5, 0.25)]
    [1.02, 1.2, 1.51]
    """
    level, error = beside.level, beside.error
    if level < found.level:
        trust = BESIDE_DOUBT**2 / (BESIDE_DOUBT**2 + (found.uncertainty / found.level) ** 2)
        level = math.pow(level, 1 - trust) * math.pow(found.level, trust)
    return replace(found, level=level, uncertainty=error, margin=error, beside_texture=True)


def _by_samples(level: float, ratio: float) -> float:
    """Return the noise to assume if held-out samples have this ratio: the level, a harmless one, or one in between.

    Of 30 images on which the ratios were not found (photographs, stained tissue, text, the Hubble deep field, drawn
    stripes, other parts of gravel, grass and brick; 20 of 192 x 192 and ten of 384 x 384 pixels; bicubic kernels and a
    Gaussian one of a pixel; decimation by 2, 3 and 4; no noise, 2, 5 and 10/255) this applies to 132 of 720 cases.
    Without noise they gain 0.24 dB on average, up to 0.77 dB, and none loses; with 2/255 they gain 0.11 dB and lose
    0.04 dB at most; with 5/255 they lose 0.00 dB on average and 0.07 dB at most, with 10/255 0.01 dB at most. Raising
    the level where the ratio is low was given up on these images: it gained 0.17 dB with 10/255 but lost up to 0.44 dB
    without noise, because stripes too narrow for the samples cannot be predicted.

    Examples
    --------
    >>> [round(255 * _by_samples(5 / 255, ratio), 1) for ratio in (0.9, 0.975, 1.0)]
    [5.0, 2.7, 1.5]
    """
    share = float(np.clip((TEXTURE_RATIO - ratio) / (TEXTURE_RATIO - NOISE_RATIO), 0, 1))
    return float(HARMLESS ** (1 - share) * level**share)


def _as_usual(level: float, traits: Traits) -> float:
    """Return the noise to assume where blocks and spectrum indicate no texture, but a denoiser lowers the estimate.

    Photographs decimated by 3 and 4 with noise of 5/255 come out at 2.1 to 4.9/255, those with less mostly below 2/255.
    Of 16 unseen images (192 x 192 pixels), with noise of 5/255 decimation by 3 gains 0.02 dB on average and that by 4
    0.05 dB, up to 0.44 dB; none loses more than 0.02 dB. With 2/255 and without noise they lose 0.00 dB on average, but
    for 0.01 dB without noise behind a Gaussian kernel of one pixel decimated by 4. The worst is a stained tissue with
    0.17 dB. Higher levels are unchanged.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> [round(255 * _as_usual(s / 255, SimpleNamespace(decimation=4)), 1) for s in (1.5, 2.5, 4.0, 7.0)]
    [1.5, 3.1, 4.8, 7.0]
    """
    usual = USUAL_NOISE / unaliased(traits)
    if traits.decimation < MIN_DETAIL_FACTOR or level >= usual:
        return level
    first, last = LOWERED_LEVELS
    share = USUAL_SHARE * float(np.clip((level - first) / (last - first), 0, 1))
    return float(level ** (1 - share) * usual**share)


def _among_detail(level: float, measured: float, bounds: NoiseBounds, factor: float) -> float:
    """Return the noise to assume where it cannot be measured because detail is everywhere.

    Grass decimated by 4 has 20 to 26/255 in its quietest blocks and 8 to 10/255 in its emptiest frequencies, whether
    there is no noise or one of 5/255. Next to so much detail noise matters little, and a high level removes detail:
    with 3.5 instead of 5 to 7/255, two crops of grass and two of gravel gain 0.2 to 0.4 dB without noise, 0.1 to 0.2 dB
    with 5/255, and lose up to 0.3 dB with 10/255. Of 38 other images none is changed. Decimated by 2, grass with noise
    of 10/255 would lose 0.4 dB, so there nothing changes. Bricks, whose emptiest frequencies show the noise (5.9/255
    for a true 5), would lose up to 0.5 dB, and are left alone.
    """
    if factor < MIN_DETAIL_FACTOR or bounds.is_noisy or measured < DETAIL_RATIO * bounds.high:
        return level
    first, last = DETAIL_LEVELS
    share = float(np.clip((bounds.high - first) / (last - first), 0, 1))
    return min(level, float(level ** (1 - share) * AMONG_DETAIL**share))


def noise_behind(traits: Traits, estimate: float, error: float = 0.0) -> float:
    r"""Return the noise that an estimate from the observation means, given the model.

    Decimation folds detail into every frequency, where it looks like noise: on training images estimates exceed the
    truth by about 5 % for a factor of 2 and 15 % for a factor of 4. Where all is texture they are several times too
    high (gravel 30 instead of 5/255 for a factor of 4, with a small standard error), unless `noise_found` detects that.
    With half of the true noise, super-resolution by 4 loses 0.2 to 0.7 dB, but that by 2 loses 2 to 7 dB behind a
    Gaussian kernel, where given levels are raised; with twice the noise, up to 0.4 and 1.2 dB (camera, rocket, seeding,
    wine, noise of 5/255). So estimates above the usual :math:`s_0` = 5/255 are moved towards it, but not below,

    .. math:: s = \hat s^{\,1 - p} s_0^{\,p}, \qquad p = \frac{r^2}{r^2 + 0.35^2},

    depending on their uncertainty: :math:`r^2` is the square of the relative error, plus that of 0.12 (K - 1). Lower
    estimates are used as they are, whatever their standard error: of 16 images, 256 x 256 pixels decimated by 2 and 4
    with noise of 5/255, they are 4.8 to 7.7/255, except on grass, gravel and brick.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> halved = SimpleNamespace(decimation=2)
    >>> [round(255 * noise_behind(halved, s / 255, e / 255), 2) for s, e in ((5, 0.2), (19, 19))]
    [4.76, 5.74]
    """
    found = estimate * unaliased(traits)
    if traits.decimation == 1 or found <= USUAL_NOISE:
        return found
    doubt = (error / estimate) ** 2 + (ALIASING_DOUBT * (traits.decimation - 1)) ** 2
    pull = doubt / (doubt + USUAL_SPREAD**2)
    return float(found ** (1 - pull) * USUAL_NOISE**pull)


def unaliased(traits: Traits) -> float:
    """Return the share of a noise estimate that is not aliased detail, on average."""
    return 1 / (1 + ALIASING_PER_FACTOR * (traits.decimation - 1))
