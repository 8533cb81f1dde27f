"""OME-XML: security checks when a file is read, and updates when one is written.

A malicious XML description can refer to other files, nest without limit, or claim a huge number of planes, all of which
the TIFF reader would trust. So it is checked first, as a stream, without building a tree.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.parsers import expat

from plugplay.io.errors import ImageFileError, ImageLossWarning
from plugplay.io.limits import check_size
from plugplay.io.paths import check_regular

if TYPE_CHECKING:
    from pathlib import Path

    from plugplay.io.record import ImageFile

__all__ = ["check_ome", "updated_ome"]

# Real OME-XML is about ten deep.
MAX_DEPTH = 64


def check_ome(text: str, path: Path, limit: int | None) -> None:
    """Refuse malicious OME-XML; damaged XML is accepted, because it is not used."""
    checker = _Checker(path, limit)
    parser = expat.ParserCreate()
    parser.StartElementHandler = checker.start
    parser.EndElementHandler = checker.end
    parser.StartDoctypeDeclHandler = checker.doctype
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError:
        return


class _Checker:
    """Checks the elements of OME-XML and raises at forbidden ones."""

    def __init__(self, path: Path, limit: int | None) -> None:
        self._folder = path.parent.resolve()
        self._path = path
        self._limit = limit
        self._stored = path.stat().st_size
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Check an element."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ImageFileError(f"its OME-XML is nested more than {MAX_DEPTH} deep")
        name = tag.rpartition(":")[2]
        if name == "UUID" and "FileName" in attributes:
            self._check_sibling(attributes["FileName"])
        elif name == "Pixels":
            self._check_planes(*(attributes.get(f"Size{axis}", "1") for axis in "ZCT"))
        elif name == "TiffData":
            self._check_planes(attributes.get("PlaneCount", attributes.get("NumPlanes", "1")))
            for axis in "ZCT":
                self._check_planes(attributes.get(f"First{axis}", "0"))
        elif name.startswith("ModuloAlong"):
            start, end, step = (_number(attributes.get(key, default)) for key, default in _MODULO)
            self._check_planes(str(int(abs((end - start) / step)) if step else math.inf))

    def end(self, tag: str) -> None:  # noqa: ARG002
        """Leave an element."""
        self._depth -= 1

    def doctype(self, *_: object) -> None:
        """Refuse entity definitions, by which a few bytes can expand to gigabytes."""
        raise ImageFileError("its OME-XML defines entities, which no OME-TIFF needs")

    def _check_sibling(self, name: str) -> None:
        if name == self._path.name:
            return
        try:
            sibling = (self._folder / name).resolve()
        except (OSError, RuntimeError, ValueError):  # a link to itself, a null character
            raise ImageFileError(f"its OME-XML names the file {name!r}, which cannot be read") from None
        if not sibling.is_relative_to(self._folder):
            raise ImageFileError(f"its OME-XML names the file {name!r} outside of its own folder, which is not read")
        if sibling.exists():
            check_regular(sibling)

    def _check_planes(self, *counts: str) -> None:
        planes = 1.0
        for count in counts:
            planes *= max(_number(count), 1.0)
        if not planes < 1e15:
            raise ImageFileError("its OME-XML claims far too many planes")
        check_size(0, stored=self._stored, limit=self._limit, pages=int(planes))


_MODULO = (("Start", "0"), ("End", "0"), ("Step", "1"))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.inf


def updated_ome(description: str, image: ImageFile) -> bytes | None:
    """Return OME-XML brought up to date with the pixels; None, with a warning, if it is damaged."""
    try:
        root = ElementTree.fromstring(description)
    except ElementTree.ParseError as error:
        warnings.warn(ImageLossWarning(f"the OME metadata is damaged ({error}) and left out"), stacklevel=2)
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
        _resize(pixels, axis, size)
    pixels.set("Type", {"float32": "float", "float64": "double"}.get(str(image.pixels.dtype), str(image.pixels.dtype)))
    pixels.attrib.pop("SignificantBits", None)
    for old in pixels.findall("TiffData"):
        pixels.remove(old)
    plane = ElementTree.Element("TiffData", {"IFD": "0", "PlaneCount": str(image.pages.shape[0])})
    pixels.insert(len(pixels.findall("Channel")), plane)  # the schema wants it after the channels
    updated: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return updated


def _resize(pixels: Any, axis: str, size: int) -> None:
    physical, before = pixels.get(f"PhysicalSize{axis}"), pixels.get(f"Size{axis}")
    try:
        if physical is not None and before is not None and int(before) != size:
            pixels.set(f"PhysicalSize{axis}", repr(float(physical) * int(before) / size))
    except ValueError:
        pixels.attrib.pop(f"PhysicalSize{axis}")  # no number, so it says nothing
    pixels.set(f"Size{axis}", str(size))
