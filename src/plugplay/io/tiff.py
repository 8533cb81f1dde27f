"""TIFF files of every depth, stacks, OME-TIFF and ImageJ's, by tifffile."""

from __future__ import annotations

import struct
import warnings
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import tifffile

from plugplay.io.geometry import check_size, upright
from plugplay.io.record import ImageFile, ImageFileError, ImageLossWarning, Metadata, Resolution

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read", "write"]

# Maker, model, software, date, artist, copyright.
_KEPT_TAGS = (271, 272, 305, 306, 315, 33432)
_ORIENTATION, _ICC, _EXTRA_SAMPLES = 274, 34675, 338
_LOSSLESS = {
    "LZW": "lzw",
    "ADOBE_DEFLATE": "zlib",
    "DEFLATE": "zlib",
    "ZSTD": "zstd",
    "PACKBITS": "packbits",
    "LZMA": "lzma",
}
_UNITS = {1: "none", 2: "inch", 3: "cm"}


def read(path: Path) -> ImageFile:
    """Read the first series of a TIFF file; channels that were recorded one after another make a stack."""
    with tifffile.TiffFile(path) as file:
        if not file.series:
            raise ImageFileError("there is no image in it")
        series = file.series[0]
        if len(file.series) > 1:
            warnings.warn(
                f"{path} has {len(file.series)} series of different sizes: only the first is used",
                ImageLossWarning,
                stacklevel=2,
            )
        page: Any = series.keyframe
        colours = page.photometric.name
        decoded = colours == "YCBCR" and page.compression.name in ("JPEG", "OJPEG")  # which come out as RGB
        if colours in ("PALETTE", "SEPARATED", "CIELAB", "ICCLAB", "YCBCR") and not decoded:
            raise ImageFileError(f"its colours are stored as {colours}; convert it to gray or RGB first")
        check_size(series.nbytes, path.stat().st_size)
        _check_complete(file)
        pixels, colour, alpha = _arranged(series.asarray(), series.axes, page)
        if colours == "MINISWHITE" and pixels.dtype.kind in "bu":
            pixels = ~pixels  # stored as a negative
        metadata = _metadata(file, page)
    orientation = int(page.tags.valueof(_ORIENTATION, 1))
    if orientation != 1:
        pixels = _page_upright(pixels, orientation, trailing=int(colour))
        alpha = None if alpha is None else _page_upright(alpha, orientation, trailing=0)
    return ImageFile.of(pixels, colour=colour, alpha=alpha, metadata=metadata)


def write(path: Path, image: ImageFile) -> None:
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
    with tifffile.TiffWriter(path, bigtiff=pages.nbytes > 2**32 - 2**25) as writer:
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
        raise ImageFileError(f"its axes are {axes}, in which height and width cannot be told")
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


def _check_complete(file: tifffile.TiffFile) -> None:
    """Refuse a file whose last page points to another that is not there: tifffile would pass over the rest."""
    tiff, stream, page = file.tiff, file.filehandle, file.pages[-1]
    stream.seek(page.offset)
    (tags,) = struct.unpack(tiff.tagnoformat, stream.read(tiff.tagnosize))
    stream.seek(page.offset + tiff.tagnosize + tags * tiff.tagsize)
    (following,) = struct.unpack(tiff.offsetformat, stream.read(tiff.offsetsize))
    if following:
        raise ImageFileError(f"it is cut off after page {len(file.pages)}")


def _page_upright(array: NDArray[Any], orientation: int, *, trailing: int) -> NDArray[Any]:
    rows = array.ndim - 2 - trailing
    turned = upright(np.moveaxis(array, [rows, rows + 1], [0, 1]), orientation)
    return np.moveaxis(turned, [0, 1], [rows, rows + 1])


def _metadata(file: tifffile.TiffFile, page: Any) -> Metadata:
    tags = page.tags
    resolution = None
    if 282 in tags and 283 in tags:
        x, y = (float(n) for n in page.get_resolution(int(tags.valueof(296, 2))))
        if x > 0 and y > 0 and np.isfinite([x, y]).all():
            resolution = Resolution(x, y, _UNITS.get(int(tags.valueof(296, 2)), "none"))
    description = page.description or None
    if description is not None and (file.is_shaped or not description.isascii()) and not file.is_ome:
        description = None if file.is_shaped else description.encode("ascii", "replace").decode()
    icc = tags.valueof(_ICC)
    kept = tuple(
        (tag.code, int(tag.dtype), int(tag.count), tag.value)
        for tag in (tags.get(code) for code in _KEPT_TAGS)
        if tag is not None and isinstance(tag.value, str) and tag.value.isascii()
    )
    return Metadata(
        icc=icc if isinstance(icc, bytes) and icc else None,
        resolution=resolution,
        description=description,
        tags=kept,
        compression=_LOSSLESS.get(page.compression.name),
    )


def _description(image: ImageFile) -> str | bytes | None:
    """Return the description; OME's is brought up to date with the pixels."""
    description = image.metadata.description
    if description is None or not description.rstrip().endswith("</OME>"):
        return description
    try:
        root = ElementTree.fromstring(description)
    except ElementTree.ParseError as error:
        warnings.warn(f"the OME metadata is damaged ({error}) and left out", ImageLossWarning, stacklevel=2)
        return None
    if root.tag.startswith("{"):  # plain names, under the one namespace that OME files have
        root.set("xmlns", root.tag[1:].partition("}")[0])
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
    root.attrib.pop("UUID", None)  # it names the file that was read
    pixels = root.find("Image/Pixels")
    if pixels is None:
        return None
    height, width = image.pages.shape[1:3]
    for axis, size in (("X", width), ("Y", height)):
        physical, before = pixels.get(f"PhysicalSize{axis}"), int(pixels.get(f"Size{axis}") or size)
        if physical is not None and before != size:
            pixels.set(f"PhysicalSize{axis}", repr(float(physical) * before / size))
        pixels.set(f"Size{axis}", str(size))
    pixels.set("Type", {"float32": "float", "float64": "double"}.get(str(image.pixels.dtype), str(image.pixels.dtype)))
    pixels.attrib.pop("SignificantBits", None)
    for old in pixels.findall("TiffData"):
        pixels.remove(old)
    plane = ElementTree.Element("TiffData", {"IFD": "0", "PlaneCount": str(image.pages.shape[0])})
    pixels.insert(len(pixels.findall("Channel")), plane)  # the schema wants it after the channels
    updated: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return updated
