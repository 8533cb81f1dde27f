"""Estimate the noise of scattered observations, which leave hardly any block of an image complete."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.noise.planes import opponent, unlike_planes
from plugplay.noise.quiet import SHARES, growth

__all__ = ["from_differences", "from_scattered", "unlike_scattered"]

_PIXELS = 28  # observed ones that a window should have
_SIDES = (6, 40)
_MAX_WINDOWS = 4000
_MIN_WINDOWS = 40
_MIN_FREEDOM = 3
_MIN_PAIRS = 8
_FLOOR, _PER_OCTAVE = 0.05, 0.04
# How much stronger noise must be in the luminance, where windows have texture more often than blocks chosen as quiet.
_ALIKE = 2.5


def from_scattered(stack: FloatArray, observed: BoolArray | None) -> tuple[float, float, tuple[str, ...]] | None:
    """Return the level, its relative uncertainty and reasons, from planes fitted to windows of scattered pixels.

    The pixels of a window are divided in two: one half measures how flat it is and the other how noisy, so that
    choosing the flattest windows does not bias the level. None if there are too few windows.
    """
    if observed is None:
        observed = np.ones(stack.shape, np.bool_)
    density = float(observed.mean())
    side = round(math.sqrt(_PIXELS / max(density, 1e-9)))
    side = min(max(side, _SIDES[0]), _SIDES[1], *stack.shape[1:3])
    flat, noisy, freedom = _residuals(stack, observed, side)
    good = (freedom >= _MIN_FREEDOM).all(axis=0)
    if np.count_nonzero(good) < _MIN_WINDOWS:
        return None
    flat, noisy, freedom = flat[:, good], noisy[:, good], freedom[:, good]
    count = flat.shape[1]
    chosen = np.array([min(count, max(int(share * count), 24)) for share in (2 * s for s in SHARES)])
    powers = np.zeros(len(chosen))
    for half in (0, 1):
        order = np.argsort(flat[half] / freedom[half], kind="stable")
        for k, number in enumerate(chosen):
            some = order[:number]
            powers[k] += 0.5 * noisy[half, some].sum() / freedom[1 - half, some].sum()
    k = 1
    while k + 2 < len(chosen) and powers[k + 1] <= 1.04 * powers[1]:
        k += 1
    if powers[k] <= 0:
        return 0.0, 0.0, ()
    slope = growth(np.maximum(powers, 1e-9 * powers[k]), chosen, reach=4)
    statistical = 1 / math.sqrt(float(freedom.mean()) * 2 * chosen[k])
    # The wider a window, the less it is flat.
    width = _FLOOR + _PER_OCTAVE * math.log2(side / _SIDES[0])
    return math.sqrt(powers[k]), min(1.0, math.hypot(width, 1.5 * statistical, 4 * slope)), ("scattered observations",)


def unlike_scattered(stack: FloatArray, observed: BoolArray | None) -> tuple[float, float, float] | None:
    """Return `unlike_planes` of scattered pixels; None for those that were not observed in all colours."""
    if stack.shape[-1] != 3 or (observed is not None and not (observed == observed[..., :1]).all()):
        return None
    planes = opponent(np.where(observed, stack, 0) if observed is not None else stack)
    found = [
        from_scattered(planes[..., p : p + 1], None if observed is None else observed[..., p : p + 1]) for p in range(3)
    ]
    measured = [plane for plane in found if plane is not None]
    if len(measured) < 3:
        return None
    return unlike_planes([plane[0] ** 2 for plane in measured], [plane[1] for plane in measured], excess=_ALIKE)


def from_differences(stack: FloatArray, observed: BoolArray | None) -> tuple[float, float, tuple[str, ...]] | None:
    """Return the level from differences of neighbours, for images with only a handful of pixels."""
    sizes = []
    for axis in (1, 2):
        pairs = np.abs(np.diff(stack, axis=axis).astype(np.float64)) / math.sqrt(2)
        if observed is not None:
            first = np.delete(observed, -1, axis=axis)
            pairs = pairs[first & np.delete(observed, 0, axis=axis)]
        sizes.append(pairs.ravel())
    pairs = np.concatenate(sizes)
    if pairs.size < _MIN_PAIRS:
        return None
    return float(np.median(pairs)) / 0.6745, math.hypot(0.5, 1 / math.sqrt(pairs.size)), ("few pixels",)


def _residuals(
    stack: FloatArray, observed: BoolArray, side: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Fit a plane to each half of the pixels of every window.

    Returns squared residuals of the half that tells how flat a window is and of the other half, first with the one
    part of the pixels in the first role and then with the other, and the degrees of freedom of each part.
    """
    count, height, width, channels = stack.shape
    limit = max(1, _MAX_WINDOWS // channels)
    pace = max(side // 2, math.ceil(math.sqrt(count * height * width / limit)), 1)
    rows, columns = (np.arange(0, n - side + 1, pace) for n in (height, width))
    places = (np.arange(0, count, max(1, count // limit))[:, None, None], rows[:, None], columns)
    view = np.lib.stride_tricks.sliding_window_view
    pixels = view(stack, (side, side), axis=(1, 2))[places].reshape(-1, side**2).astype(np.float64, order="C")
    seen = view(observed, (side, side), axis=(1, 2))[places].reshape(-1, side**2)
    i, j = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    plane = np.stack([np.ones(side**2), i.ravel(), j.ravel()], axis=1)
    # A checkerboard: the two parts lie among each other.
    part = np.add.outer(np.arange(side), np.arange(side)).ravel() % 2 == 0
    squares, freedom = np.empty((2, len(pixels))), np.empty((2, len(pixels)))
    for half, members in enumerate((part, ~part)):
        weight = (seen & members).astype(np.float64)
        normal = np.einsum("np,pa,pb->nab", weight, plane, plane) + 1e-9 * np.eye(3)
        right = np.einsum("np,pa->na", weight * pixels, plane)
        fit = np.linalg.solve(normal, right[..., None])[..., 0]
        squares[half] = np.sum(weight * np.square(pixels - fit @ plane.T), axis=1)
        freedom[half] = weight.sum(axis=1) - 3
    return squares, squares[::-1], freedom
