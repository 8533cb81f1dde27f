"""What BM3D does within a restoration, by sigma: how far apart its reference blocks are, and which stages it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from plugplay.traits import Traits

__all__ = [
    "BETWEEN_SPREAD",
    "DECIMATED_SPREAD",
    "LATE",
    "LATE_SPREAD",
    "LOCAL_SIGMA",
    "LOCAL_WHITE_SIGMA",
    "PRINCIPAL_SPREAD",
    "SPARSE_SPREAD",
    "THINNING",
    "THIRD_SPREAD",
    "Levels",
    "levels_for",
]

SPARSE_SIGMA, SPARSE_PER_NOISE, SPARSE_SPREAD = 0.05, 4.0, 4
"""Above this sigma, and this multiple of the noise in the data, a deblurring has its reference blocks so much further
apart: such calls decide coarse structure only.
"""

LATE, LATE_SPREAD = 0.5, 3
"""The share of that sigma below which they are this much further apart: calls change less and less there.

In between they are one pixel further apart, with colour differences at one in `THINNING` of them. Together with a lower
first sigma and less exact steps of the model this changed PSNR by -0.01 dB on average (eight crops, 176 x 176 pixels:
camera, gravel, motorcycle, brick, coffee, chelsea, nuthatch, bridge; four kernels; from -0.2 to +0.7 dB), and by -0.01
dB on moon, astronaut, retina, rocket, wine, seeding, grass and dragonfly; in colour by 0.00 and +0.01 dB.
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

DECIMATED_SPREAD, THIRD_SPREAD, PRINCIPAL_SPREAD = 2, 4, 1
"""How much further apart blocks are then: of the first two stages without a third, with a third, and of the third.

Decimated by 2, blocks six pixels apart above `THIRD_SIGMA` lie in step with the samples: these eight crops lost 0.3 dB
on average, the bridge 2.4 dB. Five above and seven below change nothing against five throughout (0.00 dB; noise 2 and
5/255). Decimated by 3, retina loses 0.2 dB by seven: by more than 2, blocks stay five pixels apart. Colours have them
four pixels apart without a third stage, and their differences at one in `THINNING`: by 2, eight images (184 x 184
pixels, noise 3 to 10/255) gain 0.01 dB on average, from -0.05 to +0.1.
"""

NEARLY_EXACT, EXACT_THIRD_SIGMA = 1.5 / 255, 0.06
"""With less noise than this, the third stage begins below this sigma."""

MOVES_AFTER = 2
"""With less noise than that, reference blocks move by a pixel after so many calls, and groups are formed anew.

Artefacts of blocks that stay where they are pass through all iterations, the more so the further apart these are. Eight
crops of 256 x 256 pixels (camera, motorcycle, coffee, chelsea, nuthatch, dragonfly, coins, brick) that are decimated by
2 and 4 lose 0.10 and 0.11 dB by blocks that are further apart, and 0.04 and 0.02 dB if they move, in two thirds of the
time of blocks as close as usual that move after three calls and a third stage below 0.1. Moving in every call gains
0.00 to 0.01 dB and takes a fifth more time. Eight crops without a say (rocket, retina, wine, seeding, astronaut, moon,
gravel, bridge) lose 0.02 dB by 2, 0.00 dB by 3 and 0.02 dB by 4, all of it on the bridge. With more noise, blocks that
move when groups are formed anyway gain 0.00 dB on such crops and lose 0.01 dB in colour, so there they stay.
"""

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

    `moves_after` is the number of calls after which reference blocks move.
    """

    sparse_above: float | None = None
    third_below: float | None = None
    local_below: float | None = None
    moves_after: int | None = None


def levels_for(traits: Traits) -> Levels:
    """Return the levels for a problem.

    Examples
    --------
    >>> from plugplay.traits import Traits
    >>> levels_for(Traits(leaves="coloured", noise=0.02))
    Levels(sparse_above=0.08, third_below=None, local_below=0.2, moves_after=None)
    """
    local = LOCAL_WHITE_SIGMA if traits.leaves == "white" else LOCAL_SIGMA
    local_below = local if traits.natural and traits.leaves != "shot" else None
    # Around pixels that were observed here and there, every block counts.
    if traits.leaves != "coloured" or traits.noise is None or traits.unknowns_per_sample > traits.decimation**2:
        return Levels(None, None, local_below)
    if traits.decimation == 1:
        return Levels(max(SPARSE_SIGMA, SPARSE_PER_NOISE * traits.noise), None, local_below)
    if traits.noise < NEARLY_EXACT:
        return Levels(0.0, EXACT_THIRD_SIGMA, local_below, MOVES_AFTER)
    by_2 = traits.decimation == 2
    third = max(THIRD_SIGMA, (THIRD_PER_NOISE_BY_2 if by_2 else THIRD_PER_NOISE) * traits.noise)
    return Levels(third if by_2 else 0.0, third, local_below)
