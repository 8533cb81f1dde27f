"""TIFF files of every depth, stacks, OME-TIFF and ImageJ's, by tifffile."""

from __future__ import annotations

import json
import logging
import struct
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import tifffile

from plugplay.io.errors import ImageFileError, ImageLossWarning
from plugplay.io.geometry import upright
from plugplay.io.icc import transfer_of_profile
from plugplay.io.limits import check_size
from plugplay.io.ome import check_ome, updated_ome
from plugplay.io.record import ImageFile, Metadata, Resolution, default_transfer

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

    from numpy.typing import NDArray

__all__ = ["read", "write"]

# What tifffile has to say about a file comes with the error, if there is one, and not on the terminal beside it.
logging.getLogger("tifffile").addHandler(logging.NullHandler())

# Maker, model, software, date, artist, copyright.
_KEPT_TAGS = (271, 272, 305, 306, 315, 33432)
_ORIENTATION, _ICC, _EXTRA_SAMPLES, _IMAGEJ = 274, 34675, 338, 50839
# Not overlays and regions, which are in pixels and would be wrong in an enlarged image.
_IMAGEJ_KEPT = ("Info", "Labels", "Ranges", "LUTs", "Properties")
_LOSSLESS = {
    "LZW": "lzw",
    "ADOBE_DEFLATE": "zlib",
    "DEFLATE": "zlib",
    "ZSTD": "zstd",
    "PACKBITS": "packbits",
    "LZMA": "lzma",
}
_JPEG = ("JPEG", "OJPEG", "JPEG_LOSSY", "ALT_JPEG")
_SEPARATE = 2
_UNITS = {1: "none", 2: "inch", 3: "cm"}
# Sorting pages of so many different sizes takes tifffile minutes, and nobody restores them as one file.
MAX_SIZES = 64


def read(path: Path, limit: int | None) -> ImageFile:
    """Read the first series of a TIFF file; channels that were recorded one after another make a stack."""
    # Micro-Manager's index names other files, so such a file is read as the plain TIFF that it is as well.
    with tifffile.TiffFile(path, is_ndtiff=False, is_mmstack=False) as file:
        _check_before_sorting(file, path, limit)
        if not file.series:
            raise ImageFileError("there is no image in it")
        series = file.series[0]
        if len(file.series) > 1:
            text = f"{path} has {len(file.series)} series of different sizes: only the first is used"
            warnings.warn(ImageLossWarning(text), stacklevel=2)
        page: Any = series.keyframe
        colours = page.photometric.name
        decoded = colours == "YCBCR" and page.compression.name in _JPEG  # which come out as RGB
        if colours in ("PALETTE", "SEPARATED", "CIELAB", "ICCLAB", "YCBCR") and not decoded:
            raise ImageFileError(f"its colours are stored as {colours}; convert it to gray or RGB first")
        check_size(series.nbytes, stored=path.stat().st_size, limit=limit, pages=len(series.pages))
        _check_complete(file)
        _check_segments(series)
        pixels, colour, alpha = _arranged(series.asarray(), series.axes, page)
        if colours == "MINISWHITE" and pixels.dtype.kind in "bu":
            pixels = ~pixels  # stored as a negative
        metadata = replace(
            _metadata(page),
            stack_axes="".join(axis for axis in series.axes if axis not in "YXS"),
            planar=colour and alpha is None and page.planarconfig == _SEPARATE,
        )
        measured = file.is_ome or file.is_imagej
    orientation = int(page.tags.valueof(_ORIENTATION, 1))
    if orientation != 1:
        pixels = _page_upright(pixels, orientation, trailing=int(colour))
        alpha = None if alpha is None else _page_upright(alpha, orientation, trailing=0)
    if metadata.icc is not None:
        transfer = transfer_of_profile(metadata.icc)
    else:
        # Microscopes record light in 8 bits as well.
        transfer = "linear" if measured and not colour else default_transfer(pixels.dtype, colour=colour)
    return ImageFile.of(pixels, colour=colour, alpha=alpha, metadata=metadata, transfer=transfer)


def write(stream: IO[bytes], image: ImageFile) -> None:
    """Write a TIFF file: one page for each image of a stack."""
    pages, metadata = image.pages, image.metadata
    options: dict[str, Any] = {"photometric": "rgb" if image.colour and pages.shape[-1] == 3 else "minisblack"}
    if image.alpha is not None:
        alpha = image.alpha.reshape(pages.shape[:3]).astype(pages.dtype)
        pages = np.concatenate([pages if image.colour else pages[..., None], alpha[..., None]], axis=-1)
        options["extrasamples"] = ["unassalpha"]
    if image.colour or image.alpha is not None:
        options["planarconfig"] = "contig"
    if metadata.resolution is not None:
        resolution = metadata.resolution
        options["resolution"] = (resolution.x, resolution.y)
        options["resolutionunit"] = next(code for code, unit in _UNITS.items() if unit == resolution.unit)
    if metadata.icc is not None:
        options["iccprofile"] = metadata.icc
    # One series with all the pages; the description says what they mean, so tifffile must not write another.
    with tifffile.TiffWriter(stream, bigtiff=pages.nbytes > 2**32 - 2**25) as writer:
        described = _description(image)
        for number, page in enumerate(pages):
            writer.write(
                page,
                contiguous=False,
                metadata=None,
                software=False,
                description=described if number == 0 else None,
                compression=metadata.compression,
                extratags=[(*tag, True) for tag in metadata.tags] if number == 0 else (),
                **options,
            )


def _arranged(array: NDArray[Any], axes: str, page: Any) -> tuple[NDArray[Any], bool, NDArray[Any] | None]:
    """Return ``(*stack, H, W[, C])``, whether it is in colour, and alpha."""
    if axes.count("Y") != 1 or axes.count("X") != 1 or array.ndim != len(axes):
        raise ImageFileError(f"its axes are {axes}, among which height and width cannot be identified")
    samples = [axes.index("S")] if "S" in axes else []
    array = np.moveaxis(array, [axes.index("Y"), axes.index("X"), *samples], range(-2 - len(samples), 0))
    if not samples:
        return array, False, None
    extra = page.tags.valueof(_EXTRA_SAMPLES, ())
    kinds = extra if isinstance(extra, tuple) else (extra,)
    alpha = None
    if kinds and int(kinds[-1]) in (1, 2):
        array, alpha = array[..., :-1], array[..., -1]
    return (array[..., 0], False, alpha) if array.shape[-1] == 1 else (array, True, alpha)


def _check_before_sorting(file: tifffile.TiffFile, path: Path, limit: int | None) -> None:
    """Refuse what would keep tifffile busy, or make it open other files, before it sorts pages into series."""
    check_size(0, stored=path.stat().st_size, limit=limit, pages=len(file.pages))
    if file.is_ome:
        check_ome(file.pages.first.description, path, limit)
    elif not (file.is_imagej or file.is_shaped or file.is_uniform):
        sizes = set()
        for page in file.pages:
            sizes.add(page.shape)
            if len(sizes) > MAX_SIZES:
                raise ImageFileError(f"it holds images of more than {MAX_SIZES} different sizes: store them apart")


def _check_complete(file: tifffile.TiffFile) -> None:
    """Refuse a file whose last page points to another that is not there: tifffile would pass over the rest."""
    tiff, stream, page = file.tiff, file.filehandle, file.pages[-1]
    stream.seek(page.offset)
    (tags,) = struct.unpack(tiff.tagnoformat, stream.read(tiff.tagnosize))
    stream.seek(page.offset + tiff.tagnosize + tags * tiff.tagsize)
    (following,) = struct.unpack(tiff.offsetformat, stream.read(tiff.offsetsize))
    if following:
        raise ImageFileError(f"it is cut off after page {len(file.pages)}")


def _check_segments(series: Any) -> None:
    """Refuse pages that are not there completely, which decoders fill up with gray or black without a word."""
    for number, page in enumerate(series.pages):
        if page is None:
            # Pages that follow the first without a gap are part of it, and counted with it.
            if series.kind == "ome":
                raise ImageFileError(f"page {number + 1} of its OME-XML is in no file that is there")
            continue
        stream = page.parent.filehandle
        was_closed = stream.closed
        if was_closed:  # the other files of an OME series
            stream.open()
        try:
            jpeg = page.keyframe.compression.name in _JPEG
            for offset, count in zip(page.dataoffsets, page.databytecounts, strict=False):
                if offset + count > stream.size:
                    raise ImageFileError(f"it is cut off: page {number + 1} extends beyond its end")
                if jpeg and count and not _ends(stream, offset, count):
                    raise ImageFileError(f"it is damaged: a JPEG image on page {number + 1} has no end")
        finally:
            if was_closed:
                stream.close()


def _ends(stream: Any, offset: int, count: int) -> bool:
    """Tell whether a JPEG image ends with its end mark; some writers put zeros behind it."""
    stream.seek(offset)
    return bool(stream.read(count).rstrip(b"\0").endswith(b"\xff\xd9"))


def _page_upright(array: NDArray[Any], orientation: int, *, trailing: int) -> NDArray[Any]:
    rows = array.ndim - 2 - trailing
    turned = upright(np.moveaxis(array, [rows, rows + 1], [0, 1]), orientation)
    return np.moveaxis(turned, [0, 1], [rows, rows + 1])


def _metadata(page: Any) -> Metadata:
    tags = page.tags
    resolution = None
    if 282 in tags and 283 in tags:
        x, y = (float(n) for n in page.get_resolution(int(tags.valueof(296, 2))))
        if x > 0 and y > 0 and np.isfinite([x, y]).all():
            resolution = Resolution(x, y, _UNITS.get(int(tags.valueof(296, 2)), "none"))
    icc = tags.valueof(_ICC)
    kept: tuple[tuple[int, int, int, Any], ...] = tuple(
        (tag.code, int(tag.dtype), int(tag.count), tag.value)
        for tag in (tags.get(code) for code in _KEPT_TAGS)
        if tag is not None and isinstance(tag.value, str) and tag.value.isascii()
    )
    imagej = tags.valueof(_IMAGEJ)
    if isinstance(imagej, dict):
        texts = {key: value for key, value in imagej.items() if key in _IMAGEJ_KEPT}
        kept += tuple(tag[:4] for tag in tifffile.imagej_metadata_tag(texts, "<"))
    return Metadata(
        icc=icc if isinstance(icc, bytes) and icc else None,
        resolution=resolution,
        description=page.description or None,
        tags=kept,
        compression=_LOSSLESS.get(page.compression.name),
    )


def _description(image: ImageFile) -> bytes | None:
    """Return the description, brought up to date with the pixels if it speaks of them."""
    description = image.metadata.description
    if description is None:
        return None
    if description.rstrip().endswith("</OME>"):
        return updated_ome(description, image)
    if description.startswith('{"shape":'):  # tifffile's own
        try:
            about = json.loads(description)
            about["shape"] = [*image.pixels.shape[: image.pixels.ndim - image.colour], *_samples(image)]
            if "axes" in about:  # in the order in which they are written
                stack = [axis for axis in about["axes"] if axis not in "YXS"]
                about["axes"] = "".join([*stack, "YX", *("S" for _ in _samples(image))])
            description = json.dumps(about)
        except (ValueError, RecursionError, TypeError):
            return None
    return description.encode("utf-8", "replace")


def _samples(image: ImageFile) -> list[int]:
    count = (image.pixels.shape[-1] if image.colour else 1) + (image.alpha is not None)
    return [count] if count > 1 else []
