"""Arrays of numbers from MATLAB files of versions 5 to 7.2.

SciPy reads these files, too, but damaged ones make it read beyond its memory and crash. Arrays of numbers are all that
is needed here, and this small reader checks every size first.

A file is 128 bytes of header and a sequence of elements: a tag (type, bytes), then the bytes. A variable is an element
``miMATRIX`` that contains others (flags, shape, name, values), or such an element compressed, in ``miCOMPRESSED``.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plugplay.io.errors import ImageFileError
from plugplay.io.limits import check_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

    from numpy.typing import NDArray

__all__ = ["Variable", "is_hdf5", "load_variable", "variables"]

HEADER_BYTES = 128
# Longer shapes and names are damage: MATLAB's own limits are 63 letters and, in practice, a few dimensions.
MAX_DIMENSIONS = 32
MAX_NAME = 4096
_CHUNK = 2**16

_MATRIX, _COMPRESSED = 14, 15
# How values are stored: by the number of the type in the tag.
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
# What the array is: by the number of its class.
_CLASSES = {
    6: "f8",
    7: "f4",
    8: "i1",
    9: "u1",
    10: "i2",
    11: "u2",
    12: "i4",
    13: "u4",
    14: "i8",
    15: "u8",
}
_COMPLEX = 0x08


@dataclass(frozen=True)
class Variable:
    """A variable of a MATLAB file: its shape, the type of its elements, and where it is.

    `dtype` is None for everything that is not an array of real numbers: texts, cells, structures, sparse matrices.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    offset: int


def is_hdf5(path: Path) -> bool:
    """Tell whether a MATLAB file is of version 7.3, which is HDF5; anything but versions 5 to 7.3 is refused."""
    with path.open("rb") as stream:
        header = stream.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES or header[126:] not in (b"IM", b"MI"):
        raise ImageFileError("not a readable MATLAB file (versions 5 to 7.3 are read)")
    return header[125 if header[126:] == b"IM" else 124] == 2


def variables(path: Path) -> dict[str, Variable]:
    """Return the variables of a file, without reading their values."""
    found: dict[str, Variable] = {}
    with path.open("rb") as stream:
        order = _byte_order(stream)
        for source, offset in _elements(stream, order, path.stat().st_size):
            name, variable = _described(source, order, offset)
            found[name] = variable
    return found


def load_variable(path: Path, variable: Variable, *, limit: int | None = None) -> NDArray[Any]:
    """Return the values of a variable, with the axes in MATLAB's order.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np, scipy.io
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.mat"
    >>> scipy.io.savemat(path, {"x": np.array([[1, 2], [3, 4]], np.int16)}, do_compression=True)
    >>> load_variable(path, variables(path)["x"]).tolist()
    [[1, 2], [3, 4]]
    """
    if variable.dtype is None:
        raise ImageFileError("it is not an array of real numbers, which is needed")
    size = path.stat().st_size
    count = math.prod(variable.shape)
    check_size(count * variable.dtype.itemsize, stored=size, limit=limit)
    with path.open("rb") as stream:
        order = _byte_order(stream)
        stream.seek(variable.offset)
        source, _ = next(_elements(stream, order, size))
        _described(source, order, variable.offset)
        kind, content = _element(source, order, count * variable.dtype.itemsize, padded=False)
    if kind not in _STORED:
        raise ImageFileError(f"not a readable MATLAB file (values of the unknown type {kind})")
    stored = np.dtype(order + _STORED[kind])
    if len(content) != count * stored.itemsize:
        raise ImageFileError(f"not a readable MATLAB file ({len(content)} bytes for {count} {stored.name} values)")
    # Values are stored in the smallest type that holds them, whatever the class of the array.
    values = np.frombuffer(content, stored).astype(variable.dtype, copy=False)
    return values.reshape(variable.shape, order="F")


class _Source(Protocol):
    def read(self, count: int, /) -> bytes:
        """Return exactly so many bytes."""
        ...


class _Plain:
    """Bytes of the file, up to the end of an element."""

    def __init__(self, stream: IO[bytes], length: int) -> None:
        self._stream = stream
        self._left = length

    def read(self, count: int) -> bytes:
        if count > self._left:
            raise _cut_off()
        content = self._stream.read(count)
        self._left -= len(content)
        if len(content) != count:
            raise _cut_off()
        return content


class _Unpacked:
    """Bytes of a compressed element, unpacked as they are asked for and never more."""

    def __init__(self, packed: _Plain, length: int) -> None:
        self._packed = packed
        self._left = length
        self._unpacker = zlib.decompressobj()

    def read(self, count: int) -> bytes:
        content = bytearray()
        while len(content) < count:
            chunk = self._unpacker.unconsumed_tail
            if not chunk:
                chunk = self._packed.read(min(_CHUNK, self._left))
                self._left -= len(chunk)
                if not chunk:
                    raise _cut_off()
            try:
                content += self._unpacker.decompress(chunk, count - len(content))
            except zlib.error as error:
                raise ImageFileError(f"not a readable MATLAB file ({error})") from None
            if self._unpacker.eof and len(content) < count:
                raise _cut_off()
        return bytes(content)


def _byte_order(stream: IO[bytes]) -> str:
    return "<" if stream.read(HEADER_BYTES)[126:] == b"IM" else ">"


def _elements(stream: IO[bytes], order: str, size: int) -> Iterator[tuple[_Source, int]]:
    """Give the contents of the variables from here on, unpacked, and where each begins."""
    while (offset := stream.tell()) + 8 <= size:
        kind, length = np.frombuffer(stream.read(8), order + "u4").tolist()
        if offset + 8 + length > size:
            raise _cut_off()
        plain = _Plain(stream, length)
        if kind == _MATRIX:
            yield plain, offset
        elif kind == _COMPRESSED:
            unpacked = _Unpacked(plain, length)
            inner, _ = np.frombuffer(unpacked.read(8), order + "u4").tolist()
            if inner == _MATRIX:
                yield unpacked, offset
        stream.seek(offset + 8 + length)


def _described(source: _Source, order: str, offset: int) -> tuple[str, Variable]:
    """Read what comes before the values of a variable: flags, shape and name."""
    _, flags = _element(source, order, 16)
    _, sizes = _element(source, order, 4 * MAX_DIMENSIONS)
    _, name = _element(source, order, MAX_NAME)
    shape = np.frombuffer(sizes[: len(sizes) // 4 * 4], order + "i4").tolist()
    if len(flags) < 4 or len(shape) < 2 or min(shape) < 0:
        raise ImageFileError("not a readable MATLAB file (a variable without a shape)")
    (word,) = np.frombuffer(flags[:4], order + "u4").tolist()
    kind = _CLASSES.get(word & 0xFF)
    real = kind is not None and not (word >> 8) & _COMPLEX
    return name.decode("latin-1"), Variable(tuple(shape), np.dtype(kind) if real else None, offset)


def _element(source: _Source, order: str, limit: int, *, padded: bool = True) -> tuple[int, bytes]:
    """Read an element of at most `limit` bytes, and return its type and its content."""
    tag = source.read(8)
    kind, length = np.frombuffer(tag, order + "u4").tolist()
    small = kind >> 16
    if small:  # up to four bytes, in the tag itself
        kind, length = kind & 0xFFFF, small
    if length > limit or small > 4:
        raise ImageFileError(f"not a readable MATLAB file ({length} bytes where at most {limit} belong)")
    if small:
        return kind, tag[4 : 4 + length]
    content = source.read(length)
    if padded:
        source.read(-length % 8)
    return kind, content


def _cut_off() -> ImageFileError:
    return ImageFileError("not a readable MATLAB file (it is cut off)")
