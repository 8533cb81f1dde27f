r"""Fill missing pixels with a spline in tension, as a first guess.

A plate that is bent by the observed pixels and stretched at its rim has the energy

.. math:: E(x) = \tfrac12 \|L x\|^2 + \tfrac{t}{2} \|D x\|^2,

with the differences D of neighbouring pixels and the Laplacian :math:`L = D^T D`. Observed pixels stay as they are; the
others minimise E: :math:`(L^2 + t L)\, x = 0` there. Without tension, t = 0, this is biharmonic interpolation, which
continues slopes into a hole and overshoots where there is an edge or noise at its rim; with high tension it is harmonic
interpolation, which has a crease at every rim.

The system has one unknown for each missing pixel and is solved by conjugate gradients, from coarse to fine: wide holes
are narrow ones at a lower resolution, and each level begins with the result of the one before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from plugplay.arrays.checks import BoolArray, FloatArray
from plugplay.models.solvers import Start, conjugate_gradients, measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TENSION", "fill_holes"]

TENSION = 0.1
# The relative residual of each level: a first guess need not be exact.
RESIDUAL = 1e-4
MAX_ITERATIONS = 200
# The value of a channel without observed pixels.
UNKNOWN = 0.5


def fill_holes(image: FloatArray, mask: BoolArray, *, spatial_ndim: int = 2, tension: float = TENSION) -> FloatArray:
    """Return `image` with a spline in tension where `mask` is False.

    Parameters
    ----------
    image : array
        Spatial axes first, then channels, if any.
    mask : array of bool
        True where a pixel was observed, in the shape of `image`.
    spatial_ndim : int
        Number of spatial axes.
    tension : float
        t, for pixels of width 1.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.tile(np.linspace(0, 1, 9), (9, 1))
    >>> hole = np.ones((9, 9), bool)
    >>> hole[3:6, 3:6] = False
    >>> bool(np.abs(fill_holes(np.where(hole, ramp, 0), hole) - ramp).max() < 0.01)
    True
    """
    if mask.all():
        return image.copy()
    if image.ndim == spatial_ndim:
        return _filled(image[..., None], mask, tension)[..., 0]
    if (mask == mask[..., :1]).all():
        return _filled(image, mask[..., 0], tension)
    channels = [_filled(image[..., c : c + 1], mask[..., c], tension) for c in range(image.shape[-1])]
    return np.concatenate(channels, axis=-1)


def _filled(image: FloatArray, mask: BoolArray, tension: float) -> FloatArray:
    """Fill the holes that all channels ``(..., C)`` share."""
    if not mask.any():
        return np.full_like(image, UNKNOWN)
    known = np.where(mask[..., None], image, 0).astype(np.float64)
    return np.where(mask[..., None], image, _levels(known, mask, tension).astype(image.dtype))


def _levels(known: NDArray[np.float64], mask: BoolArray, tension: float) -> NDArray[np.float64]:
    """Return the image without holes, given with zeros in them; coarser levels come first."""
    if mask.all():
        return known
    guess = np.broadcast_to(known.sum(axis=tuple(range(mask.ndim))) / np.count_nonzero(mask), known.shape)
    if max(mask.shape) > 1:
        # Pixels are twice as wide there, second derivatives four times as large.
        means, seen = _halved(known, mask)
        guess = _doubled(_levels(means, seen, 4 * tension), mask.shape)
    return _relaxed(np.where(mask[..., None], known, guess), ~mask, tension)


def _halved(known: NDArray[np.float64], mask: BoolArray) -> tuple[NDArray[np.float64], BoolArray]:
    """Return means over the observed of 2 pixels along each axis, and where there is one."""
    sums, counts = known, mask.astype(np.float64)
    for axis, n in enumerate(mask.shape):
        starts = np.arange(0, n, 2)
        sums, counts = np.add.reduceat(sums, starts, axis=axis), np.add.reduceat(counts, starts, axis=axis)
    return sums / np.maximum(counts, 1)[..., None], counts > 0


def _doubled(image: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Interpolate linearly between the centres of pixels that are twice as wide."""
    for axis, n in enumerate(shape):
        at = np.clip((np.arange(n) - 0.5) / 2, 0, image.shape[axis] - 1)
        below = np.floor(at).astype(np.int64)
        above = np.minimum(below + 1, image.shape[axis] - 1)
        share = (at - below).reshape([-1 if other == axis else 1 for other in range(image.ndim)])
        image = (1 - share) * np.take(image, below, axis=axis) + share * np.take(image, above, axis=axis)
    return image


def _relaxed(image: NDArray[np.float64], hole: BoolArray, tension: float) -> NDArray[np.float64]:
    """Minimise the energy over the pixels in the holes."""
    bending, rows = _laplacian_of(hole)
    pulling = bending[hole.ravel()[rows]]
    still = _laplacian(np.where(hole[..., None], 0.0, image)).reshape(-1, image.shape[-1])[rows]
    force = -(bending.T @ still + tension * still[hole.ravel()[rows]])
    transposed = bending.T.tocsr()
    solution = conjugate_gradients(
        measured(lambda x: transposed @ (bending @ x) + tension * (pulling @ x)),
        force,
        start=Start(image[hole]),
        rtol=RESIDUAL,
        max_iter=MAX_ITERATIONS,
    )
    relaxed = image.copy()
    relaxed[hole] = solution.w
    return relaxed


def _laplacian_of(hole: BoolArray) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Return the columns of L that belong to the pixels of holes, without rows of zeros, and the pixels of the rows."""
    places = np.flatnonzero(hole)
    unknowns = np.arange(places.size)
    entries = [(places, unknowns)]
    stride = hole.size
    for n in hole.shape:
        stride //= n
        along = places // stride % n
        for step, inside in ((-stride, along > 0), (stride, along < n - 1)):
            entries.append((places[inside] + step, unknowns[inside]))
    neighbours = sum(np.bincount(column, minlength=places.size) for _, column in entries[1:])
    values = np.concatenate([neighbours, np.full(sum(column.size for _, column in entries[1:]), -1.0)])
    rows, row = np.unique(np.concatenate([place for place, _ in entries]), return_inverse=True)
    column = np.concatenate([column for _, column in entries])
    return sparse.csr_array((values, (row, column)), shape=(rows.size, places.size)), rows


def _laplacian(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return L x along the spatial axes: for each pixel, how far it is above its neighbours, in sum."""
    total = np.zeros_like(image)
    for axis in range(image.ndim - 1):
        steps = np.diff(image, axis=axis)
        before, after = ([slice(None)] * axis + [part] for part in (slice(None, -1), slice(1, None)))
        total[tuple(before)] -= steps
        total[tuple(after)] += steps
    return total
