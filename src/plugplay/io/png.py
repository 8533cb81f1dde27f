"""PNG files of 8 and 16 bits.

Pillow reads the metadata and 8-bit pixels. It silently reduces 16-bit colour to 8 bits and cannot write it, so
imagecodecs decodes 16 bits and encodes everything; chunks that it does not write are added here.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import imagecodecs
import numpy as np

from plugplay.arrays.transfer import gamma
from plugplay.io.geometry import split_alpha, upright
from plugplay.io.icc import transfer_of_profile
from plugplay.io.limits import check_size
from plugplay.io.pillow import metadata_of, opened, orientation_of, pixels_of
from plugplay.io.record import ImageFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

    from plugplay.io.record import Metadata

__all__ = ["read", "write"]

_SIGNATURE_AND_HEADER = 8 + 25
# Chunks that mean the same for the restored image: gamma, primaries, texts, the time it was last changed.
_KEPT = {b"gAMA", b"cHRM", b"sRGB", b"cICP", b"tEXt", b"zTXt", b"iTXt", b"tIME"}
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# Half the time of zlib's usual level 6, for restored photographs that are 1 to 5 % larger.
_LEVEL = 4


def read(path: Path, limit: int | None) -> ImageFile:
    """Read a PNG file."""
    content = path.read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", content[16:26])
    pixel = _CHANNELS.get(kind, 4) * (2 if depth == 16 else 1)
    check_size(width * height * pixel, stored=len(content), limit=limit)
    with opened(path, "PNG", limit) as image:
        image.load()  # EXIF may come after the pixels
        decoded = np.asarray(imagecodecs.png_decode(content)) if depth == 16 else pixels_of(image)
        pixels, colour, alpha = split_alpha(upright(decoded, orientation_of(image)))
        metadata = metadata_of(image, chunks=tuple(_kept_chunks(content)))
    return ImageFile.of(pixels, colour=colour, alpha=alpha, metadata=metadata, transfer=_transfer(metadata))


def write(stream: IO[bytes], image: ImageFile) -> None:
    """Write a PNG file of the depth of the pixels."""
    pixels = image.pixels
    if image.alpha is not None:
        pixels = np.concatenate([pixels if image.colour else pixels[..., None], image.alpha[..., None]], axis=-1)
    encoded = imagecodecs.png_encode(np.ascontiguousarray(pixels), level=_LEVEL)
    stream.write(encoded[:_SIGNATURE_AND_HEADER])
    for kind, data in _own_chunks(image.metadata):
        stream.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    stream.write(encoded[_SIGNATURE_AND_HEADER:])


def _transfer(metadata: Metadata) -> str:
    """Return the transfer curve: cICP, then iCCP, then sRGB, then gAMA, as the PNG standard ranks them."""
    chunks = dict(metadata.chunks)
    if b"cICP" in chunks:
        # ITU-T H.273: the second byte is the transfer function.
        known = {4: "gamma:2.2", 5: "gamma:2.8", 8: "linear", 13: "srgb"}
        return known.get(chunks[b"cICP"][1], "unknown") if len(chunks[b"cICP"]) == 4 else "unknown"
    if metadata.icc is not None:
        return transfer_of_profile(metadata.icc)
    if b"sRGB" in chunks or len(chunks.get(b"gAMA", b"")) != 4:
        return "srgb"
    (exponent,) = struct.unpack(">I", chunks[b"gAMA"])
    if 45000 <= exponent <= 46000:  # 1/2.2, with which PNG files say sRGB
        return "srgb"
    return gamma(100000 / exponent) if exponent else "unknown"


def _own_chunks(metadata: Metadata) -> Iterator[tuple[bytes, bytes]]:
    if metadata.icc is not None:
        yield b"iCCP", b"ICC profile\0\0" + zlib.compress(metadata.icc)
    else:
        yield from (chunk for chunk in metadata.chunks if chunk[0] in (b"gAMA", b"cHRM", b"sRGB", b"cICP"))
    dpi = None if metadata.resolution is None else metadata.resolution.per_inch()
    if dpi is not None:
        yield b"pHYs", struct.pack(">IIB", *(min(round(n / 0.0254), 2**31 - 1) for n in dpi), 1)
    if metadata.exif is not None:
        yield b"eXIf", metadata.exif.removeprefix(b"Exif\0\0")
    yield from (chunk for chunk in metadata.chunks if chunk[0] in (b"tEXt", b"zTXt", b"iTXt", b"tIME"))


def _kept_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 8
    while position + 12 <= len(content):
        length, kind = struct.unpack(">I4s", content[position : position + 8])
        data = content[position + 8 : position + 8 + length]
        # XMP may hold an orientation, which has been applied.
        if kind in _KEPT and not data.startswith(b"XML:com.adobe.xmp"):
            yield kind, data
        position += 12 + length
