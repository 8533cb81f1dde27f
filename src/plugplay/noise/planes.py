"""The noise in the planes of an image (gray, or luminance and colour differences), and their combination."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plugplay.arrays.checks import FloatArray
from plugplay.noise.blocks import Blocks
from plugplay.noise.compression import Compressed, compressed_planes
from plugplay.noise.curve import curve_of_blocks
from plugplay.noise.quiet import Plane, judge, quiet_power
from plugplay.noise.strongest import strongest_of_file, strongest_of_planes

__all__ = ["Measured", "measure_planes", "opponent", "unlike_planes"]

# Orthonormal: the mean power of the three planes is that of the three channels, whatever correlates them.
_OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [0.5, -1, 0.5]]) / np.sqrt([[3.0], [2.0], [1.5]])
_MIN_BLOCKS = 48
_ROUNDS = 5
_SETTLED = 0.01
# Texture in the luminance and noise that is stronger there look alike: the luminance is not used if its uncertainty is
# larger than this.
_TRUSTED = 0.05
_WHITE_RATIO = 1.3
# JPEG rounds chroma away before luminance; the noise of the channels is then at least this part of the luminance's.
_MIN_OF_LUMINANCE = 0.65
_JPEG_DOUBT = 0.2
# Subsampled chroma does not show whether the noise of the channels is independent.
_CHROMA_DOUBT = 0.1
_GROWTH_DOUBT, _GROWTH_WEIGHT = 0.05, 0.5
_MANY_CLIPPED = 0.5
# Noise that is alike in all channels: how certain that of the luminance must be, and by how much it must exceed that of
# the colour differences, by two standard errors of both.
_CERTAIN, _ALIKE = 0.1, 1.4


@dataclass(frozen=True, eq=False)
class Measured:
    """The noise of the planes of an image.

    Attributes
    ----------
    planes : list of Plane
        Gray, or luminance and two differences of colours; of a JPEG file whose steps show, luma and chroma.
    held : int
        How many of them, if any, measure the noise before a JPEG file was written; the others, of subsampled chroma,
        measure that in the file.
    rounding : float
        The standard deviation of what rounding to the steps of a JPEG file added to its coefficients.
    gridded : bool
        Whether the image shows the grid of a JPEG file.
    share : float
        The share of blocks that clipping left usable.
    grows : bool
        Whether the noise grows with the signal.
    doubt : float
        The relative uncertainty of the level because the noise may also not grow.
    quality : int, optional
        The quality of a JPEG file whose steps show.
    """

    planes: list[Plane]
    held: int
    rounding: float
    gridded: bool
    share: float
    grows: bool = False
    doubt: float = 0.0
    quality: int | None = None

    @property
    def telling(self) -> list[Plane]:
        """The planes from which the level is measured."""
        return self.planes[: self.held or None]

    @property
    def unlike(self) -> tuple[float, float, float] | None:
        """As `unlike_planes`; None for compressed files, because compression removes chroma first."""
        if len(self.planes) != 3 or self.held or self.gridded or self.planes[0].ratio > _WHITE_RATIO:
            return None
        return unlike_planes([plane.power for plane in self.planes], [plane.relative for plane in self.planes])

    def level(self) -> tuple[float, float]:
        """Return the level of the noise, and its relative uncertainty."""
        if len(self.planes) != 3 or self.unlike:
            level, relative = _of_planes(self.planes)
        elif self.held:
            level, relative = _of_file(self.planes, self.held)
        else:
            level, relative = _of_colour(self.planes, self.gridded)
        return level, math.hypot(relative, self.doubt)

    def strongest(self) -> float:
        """Return how strong the noise is at low frequencies if it is stronger there than elsewhere; else 0."""
        if len(self.planes) != 3 or (self.gridded and not self.held):
            return 0.0
        level, _ = self.level()
        return strongest_of_file(self.telling, level) if self.held else strongest_of_planes(self.planes, level)


def opponent(stack: FloatArray) -> FloatArray:
    """Return luminance and two differences of colours, last; white noise keeps its level in each."""
    return np.asarray(np.einsum("pc,...c->...p", _OPPONENT, stack), stack.dtype)


def unlike_planes(
    powers: list[float], relatives: list[float], *, excess: float = _ALIKE
) -> tuple[float, float, float] | None:
    """Return the deviations in luminance and two differences of colours if the noise is clearly alike in all colours.

    They are relative to their root mean square. None if the noise may as well be independent in each colour.

    Parameters
    ----------
    powers, relatives : list of float
        The variance in each plane, and the relative standard error of its root.
    excess : float
        By what factor that of the luminance must exceed the others.

    Examples
    --------
    >>> unlike_planes([1.0, 1.0, 0.9], [0.03, 0.03, 0.03]) is None
    True
    >>> [round(share, 3) for share in unlike_planes([3.0, 0.0, 0.0], [0.03, 0.03, 0.03])]
    [1.732, 0.0, 0.0]
    """
    deviations, errors = np.sqrt(np.maximum(powers, 0)), np.minimum(relatives, 1.0)
    most = float(np.sqrt(np.mean(np.square(deviations[1:] * (1 + 2 * errors[1:])))))
    least = float(deviations[0] * (1 - 2 * errors[0]))
    if deviations[0] == 0 or errors[0] > _CERTAIN or least < excess * most:
        return None
    first, second, third = deviations / math.sqrt(float(np.mean(np.square(deviations))))
    return float(first), float(second), float(third)


def measure_planes(blocks: Blocks) -> Measured | None:
    """Measure the noise of each plane; None if there are too few blocks."""
    file = compressed_planes(blocks)
    plain = _rounds(blocks, np.ones_like(blocks.means), file)
    curve = curve_of_blocks(blocks)
    if plain is None or curve is None or not curve.grows:
        return plain
    # Noise that grows with the signal is normalised to its mean level, so that dark places do not count as quiet.
    uneven = curve.variance(blocks.means)
    levelled = _rounds(blocks, uneven / uneven.mean(), file)
    if levelled is None:
        return plain
    if not blocks.gridded:
        return replace(levelled, grows=True, doubt=_GROWTH_DOUBT)
    # What rounding leaves of texture that grows with the brightness looks alike; but then the quietest blocks agree
    # better as they are.
    (as_is, error), (level, less) = (_of_planes(measured.telling) for measured in (plain, levelled))
    if less >= error:
        return plain
    # The less better they agree, the more doubtful is which it is.
    doubt = _GROWTH_WEIGHT * less / error * abs(math.log(max(level, 1e-300) / max(as_is, 1e-300)))
    return replace(levelled, grows=True, doubt=math.hypot(_GROWTH_DOUBT, doubt))


def _rounds(blocks: Blocks, uneven: NDArray[np.float64], file: Compressed | None) -> Measured | None:
    """Measure the planes, given their relative variance, until clipping and the level found are consistent."""
    channels = blocks.means.shape[1]
    measured: Measured | None = None
    sigma: float | None = None
    for _ in range(_ROUNDS):
        left = blocks.unclipped(sigma, undone=file is not None)
        usable = (left > 0).all(axis=1)
        if np.count_nonzero(usable) < _MIN_BLOCKS:
            if measured is not None:
                break
            left = np.where(blocks.clipped < _MANY_CLIPPED, 1.0, 0.0)
            usable = (left > 0).all(axis=1)
            if np.count_nonzero(usable) < _MIN_BLOCKS:
                return None
        if file is None:
            corrected = blocks.coefficients[usable] / np.sqrt(left[usable] * uneven[usable])[..., None]
            if channels == 3:
                corrected = np.einsum("pc,ncz->npz", _OPPONENT, corrected)
            groups = [quiet_power(corrected, blocks.distinct)]
        else:
            level = np.sqrt(uneven[usable].mean(axis=1))[:, None, None]
            # Each plane has quiet blocks of its own: what is rounded to zero in one says nothing about the others.
            groups = [
                quiet_power(file.held[usable, p : p + 1] / level, blocks.distinct, file.rounding.of_plane(p))
                for p in range(file.held.shape[1])
            ]
            if file.others.size:
                groups.append(quiet_power(file.others[usable] / level, blocks.distinct))
        planes = [judge(quiet, p, gridded=blocks.gridded) for quiet in groups for p in range(quiet.mean.shape[1])]
        held, rounding = (0, 0.0) if file is None else (file.held.shape[1], file.error)
        quality = None if file is None else file.quality
        measured = Measured(planes, held, rounding, blocks.gridded, float(usable.mean()), quality=quality)
        found = math.sqrt(float(np.mean([plane.power for plane in measured.telling])))
        if found == 0 or (sigma is not None and abs(found - sigma) <= _SETTLED * found):
            break
        sigma = found
    return measured


def _of_planes(planes: list[Plane]) -> tuple[float, float]:
    power = np.array([plane.power for plane in planes])
    weight = power / max(power.sum(), 1e-300)
    relative = math.sqrt(float(np.sum(np.square(weight * [plane.relative for plane in planes]))))
    return math.sqrt(float(power.mean())), relative


def _of_colour(planes: list[Plane], gridded: bool) -> tuple[float, float]:
    """Combine luminance and colour differences."""
    sigma, relative = _of_planes(planes)
    luminance = math.sqrt(planes[0].power)
    chroma, doubt = _of_planes(planes[1:])
    if gridded:
        if chroma < _MIN_OF_LUMINANCE * luminance:
            return max(sigma, _MIN_OF_LUMINANCE * luminance), math.hypot(relative, _JPEG_DOUBT)
        return sigma, relative
    if luminance <= chroma or chroma == 0 or any(plane.ratio > _WHITE_RATIO for plane in planes[1:]):
        return sigma, relative
    own = planes[0].relative
    excess = math.log(luminance / chroma)
    pull = own**2 / (own**2 + _TRUSTED**2)
    sigma = math.sqrt((luminance**2 * math.exp(-2 * pull * excess) + 2 * chroma**2) / 3)
    return sigma, math.hypot((1 - pull) * own / 3, doubt, pull * (1 - pull) * excess)


def _of_file(planes: list[Plane], held: int) -> tuple[float, float]:
    """Combine luma and chroma of a JPEG file; subsampled chroma only gives a lower bound.

    Where texture hides the noise of one plane, the zeros of another may still give an upper bound. The level is then
    that bound, with the uncertainty of the planes that do not agree with it.
    """
    powers = np.array([max(plane.power, 1e-300) for plane in planes[:held]])
    sigma = math.sqrt(float(np.sum(_weights([plane.above for plane in planes[:held]]) * powers)))
    # Planes that differ hold texture, or noise that is not independent.
    errors = np.array([plane.relative for plane in planes[:held]])
    weight, distance = _weights(errors), np.log(np.sqrt(powers) / max(sigma, 1e-300))
    relative = math.sqrt(float(np.sum(weight * np.square(distance)) + np.sum(np.square(weight * errors))))
    if held == len(planes):
        return sigma, relative
    return max(sigma, _of_planes(planes)[0]), math.hypot(relative, _CHROMA_DOUBT)


def _weights(errors: ArrayLike) -> NDArray[np.float64]:
    weight = 1 / (np.square(errors) + _TRUSTED**2)
    return np.asarray(weight / weight.sum())
