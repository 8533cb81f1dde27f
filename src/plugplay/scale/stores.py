"""Images larger than memory, read and written in parts: Zarr, OME-Zarr, TIFF and NPY.

All have pages: ``(*stack, H, W)`` or, with channels last, ``(*stack, H, W, C)``. A store holds a path and opens it when
it is used, so that it can be pickled and sent to workers.
"""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plugplay.io.errors import ImageFileError, printable
from plugplay.io.icc import transfer_of_profile
from plugplay.io.record import default_transfer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Region = tuple[slice, slice]

__all__ = ["Layout", "Store", "is_store_name", "is_zarr", "opened"]

# Reading a tile from chunks smaller than this would open thousands of files.
MIN_CHUNK = 16
# Default sizes of chunks and shards.
CHUNK = 512
MAX_CHUNK = 4096


@dataclass(frozen=True)
class Layout:
    """Shape, type and metadata of a store.

    Attributes
    ----------
    shape : tuple of int
        All axes.
    dtype : str
        Type of the values.
    colour : bool
        Whether the last axis holds channels.
    chunk : (int, int)
        Height and width of the parts that are read or written at once.
    shard : (int, int), optional
        Height and width of the files that hold several chunks.
    axes : tuple of str
        Names of the axes, if the store tells them.
    attributes : dict
        Metadata.
    transfer : str
        The curve between light and the pixels: `plugplay.arrays.transfer`.
    icc : bytes, optional
        The colour profile of a TIFF file.
    """

    shape: tuple[int, ...]
    dtype: str
    colour: bool
    chunk: tuple[int, int]
    shard: tuple[int, int] | None = None
    axes: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    transfer: str = "linear"
    icc: bytes | None = None

    @property
    def stack(self) -> tuple[int, ...]:
        """The axes before height and width."""
        return self.shape[: len(self.shape) - 2 - self.colour]

    @property
    def pages(self) -> int:
        """How many images there are."""
        return math.prod(self.stack)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.shape[len(self.stack) : len(self.stack) + 2]
        return height, width

    @property
    def channels(self) -> int:
        """Values of a pixel."""
        return self.shape[-1] if self.colour else 1

    @property
    def unit(self) -> tuple[int, int]:
        """Height and width of what one task must write: a shard, or a chunk."""
        return self.shard or self.chunk


class Store(Protocol):
    """An image that is read or written in parts."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    @property
    def layout(self) -> Layout:
        """Its layout."""
        ...

    def read(self, page: int, region: Region) -> NDArray[Any]:
        """Return a part of a page, channels last."""
        ...

    def write(self, page: int, region: Region, pixels: NDArray[Any]) -> None:
        """Write a part of a page, which begins and ends where chunks or shards do."""
        ...


def is_zarr(path: Path) -> bool:
    """Tell whether a folder is a Zarr array or group, of version 2 or 3."""
    return path.is_dir() and any((path / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))


def is_store_name(path: Path) -> bool:
    """Tell whether a file name has a suffix of a format that is written in parts."""
    return path.suffix.lower() in (".zarr", ".npy", ".tif", ".tiff")


def opened(path: Path) -> Store:
    """Return the store at a path.

    Raises
    ------
    ImageFileError
        If there is none, or it cannot be read in parts; in one line.
    """
    name = printable(path)
    if not path.exists():
        raise ImageFileError(f"{name}: there is no such file or store")
    try:
        if path.is_dir():
            return ZarrStore(path, *_described_zarr(path))
        with path.open("rb") as stream:
            head = stream.read(6)
        if head == b"\x93NUMPY":
            return NpyStore(path, _described_npy(path))
        if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            return TiffStore(path, _described_tiff(path))
    except ImageFileError as error:
        raise ImageFileError(f"{name}: {error}") from None
    except ImportError as error:
        raise ImageFileError(f"{name}: {error}; pip install 'plugplay[scale]'") from None
    except Exception as error:  # damaged stores raise arbitrary exceptions
        raise ImageFileError(f"{name}: damaged or unsupported ({str(error) or type(error).__name__})") from error
    raise ImageFileError(f"{name}: it cannot be read in parts; Zarr, TIFF and NPY can")


@dataclass(frozen=True)
class ZarrStore:
    """A Zarr array; `inner` is its place in a group, as in OME-Zarr images."""

    path: Path
    layout: Layout
    inner: str = ""

    def read(self, page: int, region: Region) -> NDArray[Any]:
        """Return a part of a page."""
        pixels: NDArray[Any] = np.asarray(self._array[(*self._leading(page), *region)])
        return pixels

    def write(self, page: int, region: Region, pixels: NDArray[Any]) -> None:
        """Write a part of a page."""
        self._array[(*self._leading(page), *region)] = pixels

    @functools.cached_property
    def _array(self) -> Any:
        import zarr

        return zarr.open_array(str(self.path / self.inner), mode="r+" if os.access(self.path, os.W_OK) else "r")

    def _leading(self, page: int) -> tuple[int, ...]:
        return tuple(int(n) for n in np.unravel_index(page, self.layout.stack)) if self.layout.stack else ()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "layout": self.layout, "inner": self.inner}


@dataclass(frozen=True)
class NpyStore:
    """An NPY file, which is mapped into memory."""

    path: Path
    layout: Layout

    def read(self, page: int, region: Region) -> NDArray[Any]:
        """Return a part of a page."""
        return np.array(self._pages("r")[(page, *region)])

    def write(self, page: int, region: Region, pixels: NDArray[Any]) -> None:
        """Write a part of a page."""
        mapped = self._pages("r+")
        mapped[(page, *region)] = pixels
        mapped.flush()

    def _pages(self, mode: Any) -> Any:
        mapped = np.lib.format.open_memmap(self.path, mode=mode)
        return mapped.reshape(-1, *self.layout.shape[len(self.layout.stack) :])


@dataclass(frozen=True)
class TiffStore:
    """A TIFF file, of which only the tiles or strips that are needed are decoded."""

    path: Path
    layout: Layout

    def read(self, page: int, region: Region) -> NDArray[Any]:
        """Return a part of a page."""
        import tifffile

        with tifffile.TiffFile(self.path) as file:
            return _decoded(file.series[0], page, region)

    def write(self, page: int, region: Region, pixels: NDArray[Any]) -> None:
        """Refuse: tiles of a TIFF file are written one after another, by `write_tiff`."""
        raise NotImplementedError


def _decoded(series: Any, number: int, region: Region) -> NDArray[Any]:
    """Return a part of a page; segments that were never written are black."""
    rows, columns = region
    page, frame, stream = series.pages[number], series.keyframe, series.parent.filehandle
    high = frame.tilelength if frame.is_tiled else frame.rowsperstrip
    wide = frame.tilewidth if frame.is_tiled else frame.imagewidth
    samples = [frame.samplesperpixel] * (frame.samplesperpixel > 1)
    wanted = np.zeros((rows.stop - rows.start, columns.stop - columns.start, *samples), frame.dtype)
    for row in range(rows.start // high, -(-rows.stop // high)):
        for column in range(columns.start // wide, -(-columns.stop // wide)):
            index = row * -(-frame.imagewidth // wide) + column
            if not page.databytecounts[index]:
                continue
            stream.seek(page.dataoffsets[index])
            segment, _, shape = frame.decode(stream.read(page.databytecounts[index]), index)
            part = segment[0, : shape[1], : shape[2]]
            part = part if samples else part[..., 0]
            top, left = row * high, column * wide
            first, last = max(rows.start, top), min(rows.stop, top + part.shape[0])
            begin, end = max(columns.start, left), min(columns.stop, left + part.shape[1])
            place = (slice(first - rows.start, last - rows.start), slice(begin - columns.start, end - columns.start))
            wanted[place] = part[first - top : last - top, begin - left : end - left]
    return wanted


def _described_zarr(path: Path) -> tuple[Layout, str]:
    import zarr

    node = zarr.open(str(path), mode="r")
    attributes = dict(node.attrs)
    inner = ""
    axes: tuple[str, ...] = ()
    if not hasattr(node, "shape"):  # a group: OME-Zarr's first and largest level
        scales = (attributes.get("ome") or attributes).get("multiscales")
        if not scales:
            raise ImageFileError("it is a Zarr group without an OME-Zarr image; name an array inside of it")
        inner = str(scales[0]["datasets"][0]["path"])
        axes = tuple(str(axis["name"]) if isinstance(axis, dict) else str(axis) for axis in scales[0].get("axes", ()))
        node = node[inner]
    if len(node.shape) < 2:
        raise ImageFileError(f"it holds an array of shape {node.shape}, which is not an image")
    if node.dtype.kind not in "iuf":
        raise ImageFileError(f"its pixels have the type {node.dtype}; integers or floats are needed")
    colour = len(node.shape) >= 3 and (axes[-1] == "c" if axes else int(node.shape[-1]) <= 4)
    at = len(node.shape) - 2 - colour
    chunk = tuple(node.chunks[at : at + 2])
    if min(c if c < n else MIN_CHUNK for c, n in zip(chunk, node.shape[at : at + 2], strict=True)) < MIN_CHUNK:
        raise ImageFileError(
            f"its chunks have {chunk[0]} x {chunk[1]} pixels, far too few to read tiles from; rechunk it to 256 x 256 "
            "or more"
        )
    shard = getattr(node, "shards", None)
    layout = Layout(
        tuple(node.shape),
        str(node.dtype),
        colour,
        chunk,
        None if shard is None else tuple(shard[at : at + 2]),
        axes,
        attributes,
        # Microscopes record light in 8 bits as well.
        "linear" if axes and not colour else default_transfer(node.dtype, colour=colour),
    )
    return layout, inner


def _described_npy(path: Path) -> Layout:
    mapped = np.lib.format.open_memmap(path, mode="r")
    if mapped.ndim < 2 or mapped.dtype.kind not in "iuf":
        raise ImageFileError(f"it holds {mapped.dtype} of shape {mapped.shape}, which is not an image")
    return Layout(mapped.shape, str(mapped.dtype), mapped.ndim >= 3 and mapped.shape[-1] <= 4, (CHUNK, CHUNK))


def _described_tiff(path: Path) -> Layout:
    import tifffile

    with tifffile.TiffFile(path) as file:
        series = file.series[0]
        frame: Any = series.keyframe
        colour = frame.samplesperpixel > 1
        if not series.axes.endswith("YXS" if colour else "YX") or (colour and frame.planarconfig != 1):
            raise ImageFileError(f"its axes are {series.axes}, which cannot be read in parts")
        if frame.photometric.name not in ("MINISBLACK", "RGB"):
            raise ImageFileError(f"its colours are stored as {frame.photometric.name}; convert it to gray or RGB first")
        if len(series.pages) != math.prod(series.shape[: len(series.shape) - 2 - colour]):
            raise ImageFileError("its pages are not stored one by one")
        description = frame.description or ""
        icc = frame.tags.valueof("InterColorProfile")
        measured = (file.is_ome or file.is_imagej) and not colour
        usual = "linear" if measured else default_transfer(frame.dtype, colour=colour)
        return Layout(
            tuple(series.shape),
            str(frame.dtype),
            colour,
            (CHUNK, CHUNK),
            None,
            (),
            {"description": description} if description.rstrip().endswith("</OME>") else {},
            transfer_of_profile(icc) if icc else usual,
            icc or None,
        )
