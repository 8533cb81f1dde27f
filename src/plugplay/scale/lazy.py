"""Lazy restoration of Dask arrays, tile by tile.

The functions have the names and options of those in `plugplay`. Automatic parameters are chosen at once, from samples
of the whole image; everything else happens when ``result.image`` is computed or stored by Dask.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay import kernels
from plugplay.arrays.checks import check_integer
from plugplay.models import Deblurring, Denoising, Inpainting, SuperResolution
from plugplay.models.description import check_model_protocol, factor_of
from plugplay.pnp.iterations import first_state
from plugplay.pnp.results import Result, Status
from plugplay.pnp.state import History
from plugplay.scale.choices import Choices, choose_globally
from plugplay.scale.large import TileReport
from plugplay.scale.observed import without_missing
from plugplay.scale.tiles import Grid, Tile
from plugplay.scale.whole import PartModel, blend_of, halo_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from plugplay.arrays.checks import FloatArray
    from plugplay.models.base import Model

__all__ = ["LazyResult", "deblur", "denoise", "inpaint", "restore", "super_resolve"]

CORE = 1024
# Options of `plugplay.prepare` that tiles cannot have: arrays that belong to the whole image, and other axes.
_WHOLE = ("start", "reference", "spatial_ndim", "workers", "scale", "callback")


@dataclass(frozen=True, eq=False)
class LazyResult(Result):
    """A `plugplay.Result` whose image is a Dask array.

    Attributes
    ----------
    tiles : dask.delayed.Delayed
        A list of `TileReport`, which comes from the same tasks as the image:
        ``dask.compute(result.image, result.tiles)`` restores every tile once.
    """

    tiles: Any = None

    def compute(self) -> LazyResult:
        """Return the result with its image computed, the reports of all tiles, and the status that follows from them.

        The worst status of all tiles is that of the result.
        """
        import dask

        image, reports = dask.compute(self.image, self.tiles)
        names = {report.status for report in reports}
        order = (Status.DIVERGED, Status.DOUBTFUL, Status.STOPPED, Status.MAX_ITERATIONS, Status.FINISHED)
        status = next((status for status in order if status.name in names), Status.CONVERGED)
        told = dict.fromkeys(text for report in reports for text in report.warnings)
        warnings = tuple({**dict.fromkeys(self.warnings), **told})
        return replace(self, image=image, status=status, warnings=warnings, tiles=reports)


def restore(
    y: Any,
    model: Model,
    *,
    mask: Any = None,
    channel_axis: int | None = None,
    core: int | None = None,
    halo: int | None = None,
    **options: Any,
) -> LazyResult:
    """Restore a Dask array, tile by tile.

    Parameters
    ----------
    y : dask.array.Array
        The observation, ``(H, W)`` or, with ``channel_axis=-1``, ``(H, W, C)``; its chunks may have any size.
    model : Model
        What happened to the image; tiles are always solved with ``boundary="unknown"``. A mask is given by `mask`.
    mask : array, optional
        True where a pixel was observed: a Dask or NumPy array.
    channel_axis : int, optional
        The axis of the colour channels, which must be the last.
    core : int, optional
        Side of a tile without its halo; by default 1024 pixels. The chunks of the result have this size.
    halo : int, optional
        Pixels around a tile; by default what the kernel and the denoiser need.
    **options
        As in `plugplay.restore`, but those about the whole image at once.

    Returns
    -------
    LazyResult
        ``result.image`` is a Dask array, ``result.parameters`` what was chosen, ``result.compute()`` the result with
        its image, status and warnings.

    Examples
    --------
    >>> import dask.array as da, numpy as np, plugplay as pp
    >>> y = da.from_array(np.kron(np.indices((8, 8)).sum(0) % 2, np.ones((12, 12))), chunks=48)
    >>> result = pp.scale.restore(y, pp.models.Denoising(), denoiser="gaussian", noise=0.1, core=48)
    >>> result.image.chunks
    ((48, 48), (48, 48))
    >>> result.compute().status.name
    'CONVERGED'
    """
    import dask
    import dask.array as da

    check_model_protocol(model)
    for name in _WHOLE:
        if name in options:
            raise TypeError(f"{name} is not for images in tiles; plugplay.restore takes it for arrays in memory")
    y = _checked(y, channel_axis)
    seen = None if mask is None else da.asarray(mask)
    if seen is not None and seen.shape != y.shape[:2]:
        raise ValueError(f"the mask has the shape {seen.shape}, but the image has {y.shape[:2]}")
    wanted = {"denoiser": "bm3d", **options, "channel_axis": None if channel_axis is None else -1}

    def read(_: int, region: tuple[slice, slice]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        return _read(*dask.compute(y[region], None if seen is None else seen[region]))

    choices = choose_globally(read, (y.shape[0], y.shape[1]), PartModel(model), wanted)
    around = halo_for(model, choices) if halo is None else check_integer(halo, "halo", minimum=0)
    side = min(CORE if core is None else check_integer(core, "core", minimum=16), max(y.shape[:2]))
    factor = factor_of(model)
    grid = Grid((y.shape[0], y.shape[1]), (side, side), around, min(blend_of(around), side // 2), 1, factor)
    # The denoiser is sent once, not with every tile.
    work = dask.delayed(_TileWork(choices, PartModel(model), factor), pure=False)
    tiles: dict[str, Any] = {}
    for tile in grid.tiles():
        observed = None if seen is None else seen[tile.outer]
        tiles[tile.name] = dask.delayed(_tile, nout=2, pure=False)(work, tile, y[tile.outer], observed)
    double = y.dtype.itemsize > (4 if y.dtype.kind == "f" else 2)
    dtype = np.float64 if double else np.float32
    rows, columns = grid.counts
    blocks = [
        [_core(grid, grid.tile(0, row, column), tiles, y.shape[2:], dtype) for column in range(columns)]
        for row in range(rows)
    ]
    image = da.concatenate([da.concatenate(row, axis=1) for row in blocks], axis=0)
    nothing = np.zeros((0, 0), np.float32)
    return LazyResult(
        image=image,
        status=Status.FINISHED,
        history=History.of([]),
        parameters=choices.parameters,
        state=first_state(nothing, 1.0),  # each tile has its own, and none of them is kept
        warnings=choices.warnings,
        tiles=dask.delayed(list)([pair[1] for pair in tiles.values()]),
    )


def denoise(y: Any, **options: Any) -> LazyResult:
    """Remove noise from a Dask array; options as in `restore`."""
    return restore(y, Denoising(), **options)


def deblur(y: Any, kernel: ArrayLike | str, **options: Any) -> LazyResult:
    """Undo a known blur in a Dask array; options as in `restore`, the kernel as in `plugplay.deblur`."""
    taps = kernels.parse(kernel) if isinstance(kernel, str) else kernel
    return restore(y, Deblurring(taps, boundary="unknown"), **options)


def inpaint(y: Any, mask: Any, **options: Any) -> LazyResult:
    """Fill in the pixels of a Dask array where the mask is False; options as in `restore`."""
    return restore(y, Inpainting(np.ones((8, 8), bool)), mask=mask, **options)


def super_resolve(y: Any, factor: int, kernel: ArrayLike | str = "bicubic", **options: Any) -> LazyResult:
    """Enlarge a Dask array; options as in `restore`, the kernel as in `plugplay.super_resolve`."""
    taps: Any = kernel
    if isinstance(kernel, str) and kernel != "bicubic":
        taps = kernels.parse(kernel, factor=factor)
    return restore(y, SuperResolution(factor, taps, boundary="unknown"), **options)


@dataclass(frozen=True)
class _TileWork:
    """What all tiles share."""

    choices: Choices
    model_for: PartModel
    factor: int


def _tile(
    work: _TileWork, tile: Tile, pixels: NDArray[Any], observed: NDArray[np.bool_] | None
) -> tuple[FloatArray, TileReport]:
    began = time.perf_counter()
    found, seen = _read(pixels, observed)
    # Dask runs as many tiles at a time as there are threads.
    result = work.choices.finished(work.choices.plan(found, work.model_for, seen, workers=1).run())
    seconds = time.perf_counter() - began
    report = TileReport(tile.name, result.status.name, len(result.history), result.warnings, seconds)
    return np.ascontiguousarray(tile.kept(result.image, work.factor)), report


def _read(pixels: NDArray[Any], observed: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    return without_missing(np.asarray(pixels), None if observed is None else np.asarray(observed, bool))


def _core(grid: Grid, tile: Tile, tiles: dict[str, Any], channels: tuple[int, ...], dtype: Any) -> Any:
    import dask
    import dask.array as da

    near = {other.name: tiles[other.name][0] for other in grid.around(tile)}
    made = dask.delayed(_assembled, pure=False)(grid, tile, list(near), list(near.values()))
    size = ((tile.rows.stop - tile.rows.start) * grid.factor, (tile.columns.stop - tile.columns.start) * grid.factor)
    return da.from_delayed(made, shape=(*size, *channels), dtype=dtype)


def _assembled(grid: Grid, tile: Tile, names: list[str], parts: list[FloatArray]) -> FloatArray:
    return grid.assembled(tile, dict(zip(names, parts, strict=True)))


def _checked(y: Any, channel_axis: int | None) -> Any:
    import dask.array as da

    if not isinstance(y, da.Array):
        raise TypeError(f"y must be a Dask array; got {type(y).__name__}: plugplay.restore takes arrays in memory")
    rank = 2 + (channel_axis is not None)
    if y.ndim != rank or channel_axis not in (None, -1, rank - 1):
        raise ValueError(
            f"y has the shape {y.shape}; (H, W) is needed, or (H, W, C) with channel_axis=-1: restore the pages of a "
            "stack one by one"
        )
    if y.dtype.kind not in "iuf":
        raise TypeError(f"y has values of the type {y.dtype}; integers or floats are needed")
    if np.isnan(y.shape).any() or 0 in y.shape:
        raise ValueError(f"y has the shape {y.shape}; its size must be known (compute_chunk_sizes) and not zero")
    return y
