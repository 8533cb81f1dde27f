"""What BM3D does within a restoration, by sigma: how far apart its reference blocks are, and which stages it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from plugplay.traits import NEARLY_EXACT, SETTLED_SIGMA

if TYPE_CHECKING:
    from plugplay.traits import Traits

__all__ = [
    "BETWEEN_SPREAD",
    "LATE",
    "LOCAL_SIGMA",
    "LOCAL_WHITE_SIGMA",
    "THINNING",
    "Levels",
    "Spreads",
    "levels_for",
    "spreads_for",
]

SPARSE_SIGMA, SPARSE_PER_NOISE = 0.05, 4.0
"""Above this sigma, and this multiple of the noise in the data, a deblurring has its reference blocks further apart:
such calls decide coarse structure only.
"""

LATE = 0.5
"""The share of that sigma below which they are further apart again: calls change less and less there.

In between they are one pixel further apart than in a plain call, with colour differences at one in `THINNING` of them.
Together with a lower first sigma and less exact steps of the model this changed PSNR by -0.01 dB on average (eight
crops, 176 x 176 pixels: camera, gravel, motorcycle, brick, coffee, chelsea, nuthatch, bridge; four kernels; from -0.2
to +0.7 dB), and by -0.01 dB on moon, astronaut, retina, rocket, wine, seeding, grass and dragonfly; in colour by 0.00
and +0.01 dB.
"""

BETWEEN_SPREAD = 1
THINNING: Literal[4] = 4

THIRD_SIGMA, THIRD_PER_NOISE, THIRD_PER_NOISE_BY_2 = 0.03, 2.0, 1.6
"""If the image was decimated, there is a third stage below this sigma, or this multiple of the noise if that is larger.

The third stage gains 0.06 to 0.1 dB in super-resolution by 2 and 0.04 dB in that by 4 with noise of 5/255, on average
over six photographs (192 x 192 pixels: camera, astronaut, coffee, motorcycle, bridge, nuthatch) if it begins at twice
the noise. At 1.6 times, 0.01 dB is lost, and by 2 up to 9 % of the time is saved (eight images, noise 5 and 10/255), by
4 hardly anything. Of colours only the luminance has it: all three take a quarter more time and gained nothing on
average over six images with noise, 0.02 dB without.
"""

MOVES_AFTER = 4
"""With less noise than `plugplay.traits.NEARLY_EXACT`, reference blocks move by a pixel after so many calls, and groups
are formed anew.

Artefacts of blocks that stay where they are pass through all iterations, the more so the further apart these are. Above
`plugplay.traits.SETTLED_SIGMA` blocks are sparse: calls that decide structure do not need more. Below it they are dense
and have a third stage, and fewer calls are needed (`plugplay.tuning.rules`). That takes 0.7 to 0.75 of the time of
blocks five pixels apart throughout that move after two calls, with a third stage below 0.06 and rho growing by a third.
Ten gray crops of 192 x 192 pixels that decided (camera, coffee, nuthatch, dragonfly, brick, motorcycle, page, free,
friends, greentock) change by +0.02, -0.02 and -0.02 dB by 2, 3 and 4 (least -0.16), ten others (retina, wine, seeding,
astronaut, moon, rocket, aitzgorri, sunset, Picture_0B, life) by -0.03, +0.01 and 0.00 dB (least -0.14), six in colour
by -0.06, -0.01 and -0.03 dB (least -0.25: rocket by 2).

With four calls instead of three, which saves one search in four, the same tens (188 x 188 pixels) change by 0.00, -0.01
and -0.02 dB and by 0.00 dB by all factors.

Blocks that keep the displacements of their groups while they move by a pixel, so that nothing is searched for, lose 0.1
dB; a pilot that is the result of the call before, instead of the first stage, loses 0.03 to 0.1 dB. With more noise,
blocks that move when groups are formed anyway gain 0.00 dB and lose 0.01 dB in colour, so there they stay.
"""


MILD_THIRD, MILD_WITHOUT_THIRD = 3 / 255, 16 / 255
"""Behind a mild blur, which leaves nearly white noise, calls between these sigmas have no third stage."""

MILD_MOVES_AFTER = 2
"""There all blocks are seven or eight pixels apart and move by a pixel after so many calls.

With fewer last calls (`plugplay.tuning.rules`) and rougher first steps of the model, this takes half of the time of
blocks four pixels apart and a third stage in all calls. With hardly any noise (0 in 8 bits and 0.5/255; motion of 15
pixels, camera shake, disk of 2.5), six images it was found on (camera, coffee, motorcycle, bridge, chelsea, brick;
192 x 192 pixels) gain 0.05 dB on average, from -0.33 to +0.72; seven others 0.02 dB, from -0.20 to +0.35 (moon, rocket,
retina, wine, seeding, astronaut, grass; a Gaussian of 0.7 pixels instead of the disk). In colour -0.01 dB (coffee,
motorcycle, chelsea) and +0.08 dB (rocket, retina, wine, astronaut), -0.32 at least. Without moving, the six
lose 0.09 dB; without the first third stages up to 0.9 dB (bridge, camera shake).
"""


@dataclass(frozen=True)
class Spreads:
    """How many pixels further apart the blocks of a session are than those of a plain call.

    Attributes
    ----------
    early, late : int
        Above `Levels.sparse_above` and below it, in the first two stages.
    principal : int
        In the third stage.
    thinned : {"never", "early", "late"}
        When colour differences are filtered at one in `THINNING` blocks only, on a grid one pixel apart from the usual.
    midway : bool
        Whether the blocks of the second stage lie midway between those of the first.
    """

    early: int
    late: int
    principal: int = 0
    thinned: Literal["never", "early", "late"] = "never"
    midway: bool = False


BLURRED = Spreads(early=4, late=3)
"""Behind a blur; between early and late there is `BETWEEN_SPREAD`."""

DECIMATED = Spreads(early=2, late=4, principal=1, thinned="early")
"""With noise in decimated data, where the late calls are those with a third stage.

Decimated by 2, blocks six pixels apart above `THIRD_SIGMA` lie in step with the samples: eight crops lost 0.3 dB
on average, the bridge 2.4 dB. Five above and seven below change nothing against five throughout (0.00 dB; noise 2 and
5/255). Decimated by 3, retina loses 0.2 dB by seven: by more than 2, blocks stay five pixels apart. Colours have them
four pixels apart without a third stage, and their differences at one in `THINNING`: by 2, eight images (184 x 184
pixels, noise 3 to 10/255) gain 0.01 dB on average, from -0.05 to +0.1.
"""

DECIMATED_EXACT = Spreads(early=4, late=1, principal=2, thinned="late")
"""With hardly any noise in decimated data, where blocks move."""


NEARLY_WHITE = Spreads(early=4, late=4, principal=3, midway=True)
"""Behind a mild blur, where blocks move."""


def spreads_for(*, third: bool, moves: bool, early_third: bool = False) -> Spreads:
    """Return how far apart blocks are in a session that has a third stage or none, and blocks that move or stay.

    With `early_third`, calls with a large sigma have a third stage as well.

    Examples
    --------
    >>> spreads_for(third=False, moves=False).early, spreads_for(third=True, moves=True).late
    (4, 1)
    """
    if not third:
        return BLURRED
    if early_third:
        return NEARLY_WHITE
    return DECIMATED_EXACT if moves else DECIMATED


LOCAL_SIGMA, LOCAL_WHITE_SIGMA = 0.2, 1.0
"""Within a restoration there is a fourth stage below this sigma, for luminance, and in a single denoising below this.

What it gains on average, in dB, on images its filters were not learned on: 0.1 to 0.3 in deblurring, 0.3 to 0.4 in
inpainting, 0.05 to 0.2 in super-resolution, 0.03 to 0.16 in denoising (``docs/bm3d.md``). Beginning at 0.04 instead
gains half as much in deblurring. Among photons it would gain 0.14 dB on seven crops, but fine stripes lose as much: of
the paper's images fingerprint and barbara, which would no longer be above "Images from Bits" at every K.
"""


@dataclass(frozen=True)
class Levels:
    """The sigmas above which blocks may be further apart, and below which a third and a fourth stage pay.

    `moves_after` is the number of calls after which reference blocks move. Above `third_above` there is a third stage,
    too.
    """

    sparse_above: float | None = None
    third_below: float | None = None
    local_below: float | None = None
    moves_after: int | None = None
    third_above: float | None = None


def levels_for(traits: Traits) -> Levels:
    """Return the levels for a problem.

    Examples
    --------
    >>> from plugplay.traits import Traits
    >>> levels_for(Traits(leaves="coloured", noise=0.02))
    Levels(sparse_above=0.08, third_below=None, local_below=0.2, moves_after=None, third_above=None)
    """
    local = LOCAL_WHITE_SIGMA if traits.leaves in ("white", "nearly white") else LOCAL_SIGMA
    local_below = local if traits.natural and traits.leaves != "shot" else None
    if traits.leaves == "nearly white":
        return Levels(0.0, MILD_THIRD, local_below, MILD_MOVES_AFTER, MILD_WITHOUT_THIRD)
    # Around pixels that were observed here and there, every block counts.
    if traits.leaves != "coloured" or traits.noise is None or traits.unknowns_per_sample > traits.decimation**2:
        return Levels(None, None, local_below)
    if traits.decimation == 1:
        return Levels(max(SPARSE_SIGMA, SPARSE_PER_NOISE * traits.noise), None, local_below)
    if traits.noise < NEARLY_EXACT:
        return Levels(SETTLED_SIGMA, SETTLED_SIGMA, local_below, MOVES_AFTER)
    by_2 = traits.decimation == 2
    third = max(THIRD_SIGMA, (THIRD_PER_NOISE_BY_2 if by_2 else THIRD_PER_NOISE) * traits.noise)
    return Levels(third if by_2 else 0.0, third, local_below)
