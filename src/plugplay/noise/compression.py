r"""The effect of JPEG compression on noise: quantisation steps, and the noise before the rounding to them.

A JPEG file stores the cosine transform of blocks of 8x8 pixels, each coefficient as a multiple of its step. Noise well
below half a step is rounded to zero except for its tails, and larger noise gains :math:`q^2 / 12`. Both can be undone
if the step q is known. It shows in the array that was read from the file: the coefficients of its blocks lie on a comb,
slightly blurred because the pixels were rounded, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from plugplay.noise.blocks import FREQUENCY, SIDE, Blocks

__all__ = ["Compressed", "Rounding", "compressed_planes", "zeroed"]

_LUMA_AND_CHROMA = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
_MAX_BLOCKS, _MAX_VALUES = 2500, 400
_FINE = 1e-6  # steps that do not show are left as they are
_ZERO = 4.8  # standard deviations of the comb's blur: what is smaller may be zero
_MIN_NONZERO, _MIN_OFTEN = 12, 0.03
_MIN_COMB = 0.5  # of the contrast that the blur leaves of a comb
_MIN_OF_LOWER = 0.6  # of the steps of lower frequencies
_MIN_SHARE = 0.5  # of the frequencies, on which a comb must show
# Noise is taken to be equally strong within rings of frequencies; the mean of a block is in none.
_RING = np.digitize(FREQUENCY, (0.1, 0.25, 0.5, 0.75, 1.0))
# A ring with fewer coefficients that are not zero, or a smaller share of them, shows a few edges rather than noise.
_MIN_COUNTED, _MIN_COUNTED_SHARE = 8.0, 0.02
_RARE = 1.5
# What is guessed from lower frequencies, which have more texture, is hardly told by as many coefficients as this.
_GUESSED = 8.0
# If they show more than the zeros of higher ones allow, they do have texture: the logarithm by which, to be sure of it.
_LIMITED = 0.1
# How many steps must show, of luma for a quality and of a plane to belong to it, and what share must be the table's.
_MIN_LUMA_TABLE, _MIN_TABLE, _MIN_AGREEING = 12, 4, 0.8
# With it right kernels are believed, and wrong ones found (`plugplay.tuning.evidence`): of 160 right ones (motion,
# disks, box; crops of 144 pixels of eight images, quality 75, 82, 88 and 92) none was replaced, of 256 that were a
# tenth wrong 122 were; without allowing for it, 11 and 104. Half as much leaves three right ones replaced.
_OF_MEAN_STEP, _UNKNOWN_QUALITY = 0.4, 75
_LEVELS = np.geomspace(0.02, 200.0, 128)  # of noise, in steps of the pixels' values
# Annex K of the JPEG standard, which libjpeg scales by the quality: luma and chroma.
_LUMA_TABLE = """
    16 11 10 16 24 40 51 61  12 12 14 19 26 58 60 55  14 13 16 24 40 57 69 56  14 17 22 29 51 87 80 62
    18 22 37 56 68 109 103 77  24 35 55 64 81 104 113 92  49 64 78 87 103 121 120 101  72 92 95 98 112 100 103 99
"""
_CHROMA_TABLE = """
    17 18 24 47 99 99 99 99  18 21 26 66 99 99 99 99  24 26 56 99 99 99 99 99  47 66 99 99 99 99 99 99
    99 99 99 99 99 99 99 99  99 99 99 99 99 99 99 99  99 99 99 99 99 99 99 99  99 99 99 99 99 99 99 99
"""
_TABLES = np.array([[int(step) for step in table.split()] for table in (_LUMA_TABLE, _CHROMA_TABLE)])


@dataclass(frozen=True, eq=False)
class Rounding:
    """The quantisation of a JPEG file.

    Attributes
    ----------
    steps : array of shape (planes, 64)
        The steps of the coefficients, nan where nearly all coefficients are zero, so that the step does not show.
    residue : array of shape (planes, 64)
        The variance that the rounding of the pixels added afterwards.
    earlier : array of shape (planes,)
        The variance that the rounding of luma and chroma added before.
    unit : float
        The step of the pixels' values.
    """

    steps: NDArray[np.float64]
    residue: NDArray[np.float64]
    earlier: NDArray[np.float64]
    unit: float

    def undone(
        self, power: NDArray[np.float64], number: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the power of coefficients before rounding, and how many coefficients determine it and its bound.

        The mean square of rounded Gaussian noise is a function of its level, which is inverted for rings of
        frequencies. A ring that is nearly all zeros gets the power of the ring below, or the bound that the zeros
        imply if that is less: then the ring below has texture, and only the bound is known. The bound is sharp,
        because tails are steep: 1 and 3 nonzero coefficients among 10,000 belong to levels that differ by 8 %.

        Parameters
        ----------
        power : array of shape (shares, planes, 64)
            Mean squares over the quietest blocks, as they are in the file.
        number : array of int of shape (shares,)
            Number of blocks of each share, in ascending order.
        """
        before, telling, bounding = power.copy(), np.zeros(power.shape), np.zeros(power.shape)
        for p, rings in enumerate(self._rings):
            found, counted, sharp = np.full(number.shape, np.inf), np.zeros(number.shape), np.zeros(number.shape)
            steps = []
            for r, ring in enumerate(rings, start=1):
                seen = np.zeros(number.shape, np.bool_)
                if ring is not None:
                    told = (r == _RING) & ~np.isnan(self.steps[p])
                    excess = np.maximum(power[:, p, told] - self.residue[p, told], 0.0)
                    level, most, nonzero, exact = ring.levels(excess, number)
                    # Few edges would show more than lower frequencies do.
                    seen = (level < found) | (nonzero >= _MIN_COUNTED_SHARE * number * ring.steps.size)
                    seen &= nonzero >= _MIN_COUNTED
                    limited = most < found
                    texture = np.log(np.where(limited & np.isfinite(found), found / most, 1.0)) / _LIMITED
                    guessed = np.minimum(counted, _GUESSED) / (1 + np.square(texture))
                    counted = np.where(seen, np.maximum(nonzero, exact), guessed)
                    sharp = np.where(seen, counted, np.where(limited, exact, np.minimum(sharp, _GUESSED)))
                    found = np.where(seen, level, np.minimum(found, most))
                steps.append((found, counted, sharp, seen))
            lowest = found
            for r in range(len(rings), 0, -1):
                found, counted, sharp, seen = steps[r - 1]
                # What hardly shows is taken for white: the highest frequencies, with least texture, tell the others.
                lowest = np.where(seen, found, lowest)
                inside = r == _RING
                before[:, p, inside] = np.maximum(np.square(lowest) - self.earlier[p], 0.0)[:, None]
                telling[:, p, inside] = counted[:, None] / np.count_nonzero(inside)
                bounding[:, p, inside] = sharp[:, None] / np.count_nonzero(inside)
        return before, telling, bounding

    def of_plane(self, plane: int) -> Rounding:
        """Return that of one plane alone."""
        one = slice(plane, plane + 1)
        return Rounding(self.steps[one], self.residue[one], self.earlier[one], self.unit)

    @cached_property
    def _rings(self) -> list[list[_Ring | None]]:
        """The rings of each plane; None if no step of a ring is known."""
        rings: list[list[_Ring | None]] = []
        for steps in self.steps:
            members = [steps[(r == _RING) & ~np.isnan(steps)] for r in range(1, int(_RING.max()) + 1)]
            rings.append([_Ring.of(some, _LEVELS * self.unit) if some.size else None for some in members])
        return rings


@dataclass(frozen=True, eq=False)
class _Ring:
    """Coefficients of similar frequency, and the sum of their mean squares that noise of some levels has in a file."""

    steps: NDArray[np.float64]
    level: NDArray[np.float64]
    expected: NDArray[np.float64]

    @classmethod
    def of(cls, steps: NDArray[np.float64], level: NDArray[np.float64]) -> _Ring:
        return cls(steps, level, (np.square(steps) * _rounded_power(level[:, None] / steps)).sum(axis=1))

    def levels(
        self, power: NDArray[np.float64], number: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the level, what it is hardly above, how many coefficients are not zero, and how many would do."""
        nonzero = number * np.minimum(power / np.square(self.steps), 1.0).sum(axis=1)
        rare = np.square(self.steps).mean() * np.sqrt(1 + nonzero) / number
        found, high, most = (
            np.interp(power.sum(axis=1) + more * rare, self.expected, self.level) for more in (0.0, 1.0, _RARE)
        )
        few = np.interp(power.sum(axis=1) + 0.5 * rare, self.expected, self.level)
        # Tails are steep: a few coefficients that are not zero, among many that are, tell the level well.
        exact = 0.5 / np.square(np.maximum(np.log(high / few), 1e-3))
        # The quietest blocks do not have more noise than others.
        return found, np.minimum.accumulate(most[::-1])[::-1], nonzero, exact


@dataclass(frozen=True, eq=False)
class Compressed:
    """The coefficients that a JPEG file holds: of a gray image, or of luma and chroma.

    Planes are scaled so that noise which is alike and independent in all channels has its own level in each.

    Attributes
    ----------
    held : array of shape (N, planes, 64)
        Of the planes whose steps are known.
    rounding : Rounding
        Theirs.
    others : array of shape (N, planes, 64)
        Of the other planes: chroma that was subsampled.
    quality : int
        The quality, 1 to 100, whose table has steps of luma like those that show.
    """

    held: NDArray[np.float64]
    rounding: Rounding
    others: NDArray[np.float64]
    quality: int

    @cached_property
    def error(self) -> float:
        """Return the standard deviation of what rounding did to the coefficients that it did not make zero."""
        nonzero = np.count_nonzero(self.held, axis=0) / len(self.held)
        return math.sqrt(float(np.nansum(nonzero * np.square(self.rounding.steps) / 12)) / nonzero.size)


def compressed_planes(blocks: Blocks) -> Compressed | None:
    """Find what a JPEG file holds; None if its steps do not show, as in an image that was processed later."""
    channels, step = blocks.coefficients.shape[1], blocks.step
    if not blocks.gridded or step <= 0 or channels not in (1, 3):
        return None
    weights = _LUMA_AND_CHROMA if channels == 3 else np.ones((1, 1))
    gain = np.sqrt(np.square(weights).sum(axis=1))
    # Pixels of a colour file were rounded twice: as luma and chroma, and as red, green and blue.
    blur = (np.hypot(1, gain) if channels == 3 else gain) / math.sqrt(12)
    whole = np.flatnonzero((blocks.clipped == 0).all(axis=1))
    some = blocks.coefficients[whole[:: max(1, len(whole) // _MAX_BLOCKS)]]
    some = np.einsum("pc,ncz->npz", weights / step, some)
    spacings = np.array([_comb_spacings(some[:, p], blur[p], luma=p == 0) for p in range(channels)])
    known = ~np.isnan(spacings).all(axis=1)
    if not known[0]:
        return None
    spacings = completed(spacings)
    quality = _quality(spacings[0])
    for p in np.flatnonzero(~known):
        table = completed(np.stack([spacings[0], np.full(SIDE**2, np.nan)]), chroma_follows=True)[1]
        known[p] = _on_comb(some[:, p], table, blur[p])
        spacings[p] = table if known[p] else spacings[p]
    planes = np.einsum("pc,ncz->npz", weights / gain[:, None], blocks.coefficients)
    held, others = planes[:, known], planes[:, ~known]
    steps, coarse = spacings[known] * (step / gain[known])[:, None], spacings[known] > 1
    lattice = np.where(coarse, steps, _FINE * step)
    np.rint(np.divide(held, lattice, out=held), out=held)
    held *= lattice
    residue = np.where(coarse, 0.0, np.square(blur * step / gain)[known, None])
    earlier = np.square(step / gain[known]) / 12 * (channels == 3)
    return Compressed(held, Rounding(steps, residue, earlier, step), others, quality)


def _comb_spacings(coefficients: NDArray[np.float64], blur: float, *, luma: bool) -> NDArray[np.float64]:
    """Return what the values of each coefficient are multiples of, 1 if less than 2; nan where that does not show."""
    spacings = np.full(SIDE**2, np.nan)
    for f in range(1, SIDE**2):
        values = np.abs(coefficients[:, f])
        sizes = np.sort(values[values > _ZERO * blur])
        if sizes.size < _MIN_NONZERO:
            continue
        often = sizes.size / values.size
        values, sizes = (some[:: max(1, some.size // _MAX_VALUES)] for some in (values, sizes))
        # Few values lie between zero and the first tooth, which is blurred.
        candidates = np.arange(2, max(3, int(sizes[sizes.size // 4] + 3 * blur) + 1))
        comb = np.cos(2 * np.pi / candidates[:, None] * sizes).mean(axis=1)
        best = int(candidates[int(comb.argmax())])
        contrast = math.exp(-2 * (np.pi * blur / best) ** 2)
        lowest = min(float(comb.max()), float(np.cos(2 * np.pi / best * values).mean()))
        # A few zeros, badly blurred, look like a small step.
        if best > 2 or often > _MIN_OFTEN:
            spacings[f] = best if lowest > _MIN_COMB * contrast else 1.0
    # Steps grow with the frequency, more or less: one that is much smaller than those below is that of blurred zeros.
    square = spacings.reshape(SIDE, SIDE)
    below = np.fmax.accumulate(np.fmax.accumulate(square, axis=0), axis=1)
    spacings[(square < _MIN_OF_LOWER * below).ravel()] = np.nan
    known = int(np.count_nonzero(~np.isnan(spacings)))
    # Chroma that was enlarged has no combs, and what is left of its high frequencies passes for small steps.
    if int(np.count_nonzero(spacings > (1 if luma else 2))) < _MIN_SHARE * max(known, SIDE):
        spacings[:] = np.nan
    return spacings


def completed(spacings: NDArray[np.float64], *, chroma_follows: bool = False) -> NDArray[np.float64]:
    """Return steps completed by those that do not show, if the others follow libjpeg's tables for some quality.

    Once their step is known, frequencies with only zeros bound the noise.

    Parameters
    ----------
    spacings : array of shape (planes, 64)
        The steps of luma and, if there are more planes, of chroma, as `_comb_spacings` finds them.
    chroma_follows : bool
        Whether chroma has the table that belongs to that of luma, whatever it shows.
    """
    shown = spacings >= 2
    tables = _tables()[:, np.minimum(np.arange(len(spacings)), 1)]
    agreeing = np.where(shown, tables == spacings, False).sum(axis=2)
    best = int(agreeing[:, 0].argmax())
    counts = shown.sum(axis=1)
    agree = (counts >= _MIN_TABLE) & (agreeing[best] >= _MIN_AGREEING * counts) | chroma_follows
    agree &= (counts[0] >= _MIN_LUMA_TABLE) & (agreeing[best, 0] >= _MIN_AGREEING * counts[0])
    return np.where(agree[:, None], tables[best], spacings)


def _on_comb(coefficients: NDArray[np.float64], steps: NDArray[np.float64], blur: float) -> bool:
    """Tell whether coefficients that are not zero are multiples of these steps; all frequencies count together."""
    fine = np.isnan(steps) | (steps < 2)
    fine[0] = True
    sizes, some = np.abs(coefficients[:, ~fine]), np.broadcast_to(steps[~fine], (len(coefficients), 64 - fine.sum()))
    large = sizes > _ZERO * blur
    if np.count_nonzero(large) < _MIN_LUMA_TABLE:
        return False
    comb = float(np.cos(2 * np.pi * sizes[large] / some[large]).mean())
    return comb > _MIN_COMB * float(np.exp(-2 * np.square(np.pi * blur / some[large])).mean())


def zeroed(quality: int | None) -> float:
    """Return how strong a signal is that JPEG files of a quality may lack, in steps of the values.

    It is 0.4 times the mean step of the sixteen lowest frequencies of luma. Without a quality, a low one is assumed.

    Examples
    --------
    >>> [round(zeroed(quality), 2) for quality in (92, 75, None)]
    [1.04, 3.24, 3.24]
    """
    scale = _scale_of(_UNKNOWN_QUALITY if quality is None else quality)
    return float(_OF_MEAN_STEP * scale * _TABLES[0].reshape(SIDE, SIDE)[:4, :4].mean())


def _scale_of(quality: int) -> float:
    """Return by what libjpeg multiplies the standard's tables."""
    return 2 - quality / 50 if quality >= 50 else 50 / quality


def _quality(steps: NDArray[np.float64]) -> int:
    """Return the quality of a file, given the steps of its luma that show."""
    known = ~np.isnan(steps)
    scale = float(steps[known].sum() / _TABLES[0][known].sum())
    return int(np.clip(round(100 - 50 * scale if scale <= 1 else 50 / scale), 1, 100))


@cache
def _tables() -> NDArray[np.float64]:
    """Return the steps of luma and chroma in files of the qualities 50 to 100, an array of shape (51, 2, 64)."""
    scale = 200 - 2 * np.arange(50, 101)
    return np.clip((_TABLES * scale[:, None, None] + 50) // 100, 1, 255).astype(np.float64)


def _rounded_power(level: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean square of Gaussian noise after rounding to integers."""
    tooth = np.arange(1, 7)
    tails = 2 * ndtr(-(tooth - 0.5) / np.minimum(level, 1.0)[..., None])
    return np.asarray(np.where(level < 1, (tails * (2 * tooth - 1)).sum(axis=-1), np.square(level) + 1 / 12))
