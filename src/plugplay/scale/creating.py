"""Create stores that are filled in parts, and write TIFF files from them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.io.errors import ImageFileError, printable
from plugplay.scale.stores import CHUNK, MAX_CHUNK, MIN_CHUNK, Layout, NpyStore, Store, ZarrStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["created", "restored_layout", "write_tiff"]

# TIFF files with more bytes than this need the larger offsets of BigTIFF.
MAX_TIFF = 2**32 - 2**25


def restored_layout(layout: Layout, *, factor: int, dtype: str) -> Layout:
    """Return the layout of a restored image, with chunks and shards as in the source if they are reasonable."""
    place = len(layout.stack)
    shape = tuple(n * factor if place <= axis < place + 2 else n for axis, n in enumerate(layout.shape))
    chunk, shard = layout.chunk, layout.shard
    if not all(MIN_CHUNK <= n <= MAX_CHUNK for n in chunk):
        chunk, shard = (CHUNK, CHUNK), None
    if shard is not None and (max(shard) > MAX_CHUNK or any(s % c for s, c in zip(shard, chunk, strict=True))):
        shard = None
    return replace(layout, shape=shape, dtype=dtype, chunk=chunk, shard=shard, attributes=_scaled(layout, factor))


def created(path: Path, layout: Layout) -> Store:
    """Create an empty Zarr array or NPY file, by its suffix; an existing one is opened."""
    try:
        if path.suffix == ".npy":
            if not path.exists():
                np.lib.format.open_memmap(path, mode="w+", dtype=layout.dtype, shape=layout.shape).flush()
            return NpyStore(path, layout)
        return _created_zarr(path, layout)
    except OSError as error:
        raise ImageFileError(f"{printable(path)}: cannot be written ({error.strerror or error})") from None


def write_tiff(store: Store, path: Path) -> None:
    """Write a tiled TIFF file from a store, a tile at a time; BigTIFF if it is large."""
    import tifffile

    layout = store.layout
    tile = (CHUNK, CHUNK)
    size = math.prod(layout.shape) * np.dtype(layout.dtype).itemsize
    options: dict[str, Any] = {"photometric": "rgb" if layout.colour and layout.channels == 3 else "minisblack"}
    if layout.colour:
        options["planarconfig"] = "contig"
    description = layout.attributes.get("description")
    if description is not None:
        options.update(description=description, metadata=None)
    if layout.icc is not None:
        options["iccprofile"] = layout.icc
    with tifffile.TiffWriter(path, bigtiff=size > MAX_TIFF) as file:
        file.write(_tiles(store, tile), shape=layout.shape, dtype=layout.dtype, tile=tile, **options)


def _tiles(store: Store, tile: tuple[int, int]) -> Iterator[NDArray[Any]]:
    (height, width), layout = store.layout.size, store.layout
    for page in range(layout.pages):
        for top in range(0, height, tile[0]):
            for left in range(0, width, tile[1]):
                region = slice(top, min(top + tile[0], height)), slice(left, min(left + tile[1], width))
                yield np.ascontiguousarray(store.read(page, region))


def _created_zarr(path: Path, layout: Layout) -> ZarrStore:
    import zarr

    multiscales = (layout.attributes.get("ome") or layout.attributes).get("multiscales")
    inner = "0" if multiscales else ""
    if not (path / inner / "zarr.json").exists():
        ones, last = (1,) * len(layout.stack), (layout.channels,) * layout.colour
        if multiscales:
            zarr.create_group(str(path), attributes=layout.attributes, zarr_format=3, overwrite=True)
        zarr.create_array(
            str(path / inner),
            shape=layout.shape,
            dtype=layout.dtype,
            chunks=(*ones, *layout.chunk, *last),
            shards=None if layout.shard is None else (*ones, *layout.shard, *last),
            attributes=None if multiscales else layout.attributes,
            dimension_names=layout.axes or None,
            zarr_format=3,
            fill_value=0,
        )
    return ZarrStore(path, layout, inner)


def _scaled(layout: Layout, factor: int) -> dict[str, Any]:
    """Return the attributes for the restored image: of an OME-Zarr pyramid, only the level that is written."""
    attributes = dict(layout.attributes)
    ome = dict(attributes.get("ome") or attributes)
    if "multiscales" not in ome:
        return attributes
    scales = dict(ome["multiscales"][0])
    first = dict(scales["datasets"][0], path="0")
    changes = []
    for change in first.get("coordinateTransformations", ()):
        change = dict(change)
        if change.get("type") == "scale" and len(change.get("scale", ())) == len(layout.shape):
            change["scale"] = [*change["scale"][:-2], *(value / factor for value in change["scale"][-2:])]
        changes.append(change)
    first["coordinateTransformations"] = changes
    scales["datasets"] = [first]
    # Version 0.5 of OME-Zarr is the one for Zarr 3, and has a key of its own.
    rest = {key: value for key, value in ome.items() if key not in ("multiscales", "version")}
    scales.pop("version", None)
    return {"ome": {**rest, "version": "0.5", "multiscales": [scales]}}
