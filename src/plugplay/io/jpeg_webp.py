"""JPEG and WebP files: 8 bits, by Pillow."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from plugplay.io.errors import ImageLossWarning
from plugplay.io.geometry import split_alpha, upright
from plugplay.io.icc import transfer_of_profile
from plugplay.io.pillow import metadata_of, opened, orientation_of, pixels_of
from plugplay.io.record import ImageFile

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

__all__ = ["read", "write_jpeg", "write_webp"]

# The highest quality at which JPEG files do not grow without any visible gain.
JPEG_QUALITY = 95


def read(path: Path, limit: int | None) -> ImageFile:
    """Read a JPEG or WebP file."""
    with path.open("rb") as stream:
        format_ = "WEBP" if stream.read(4) == b"RIFF" else "JPEG"
        lossy_webp = format_ == "WEBP" and _is_lossy(stream)
    with opened(path, format_, limit) as image:
        if format_ == "WEBP" and getattr(image, "n_frames", 1) > 1:
            warnings.warn(ImageLossWarning(f"{path} is animated: only its first image is used"), stacklevel=2)
        decoded = upright(pixels_of(image), orientation_of(image))
        pixels, colour, alpha = split_alpha(decoded)
        metadata = replace(metadata_of(image), lossy_webp=lossy_webp)
    transfer = "srgb" if metadata.icc is None else transfer_of_profile(metadata.icc)
    return ImageFile.of(pixels, colour=colour, alpha=alpha, metadata=metadata, transfer=transfer)


def write_jpeg(stream: IO[bytes], image: ImageFile) -> None:
    """Write a JPEG file: quality 95, no colour subsampling."""
    options = _options(image)
    dpi = None if image.metadata.resolution is None else image.metadata.resolution.per_inch()
    if dpi is not None:
        # JPEG has 16 bits for it.
        options["dpi"] = tuple(min(max(round(n), 1), 65535) for n in dpi)
    Image.fromarray(image.pixels).save(stream, "JPEG", quality=JPEG_QUALITY, subsampling=0, **options)


def write_webp(stream: IO[bytes], image: ImageFile) -> None:
    """Write a WebP file without loss."""
    pixels = image.pixels
    if image.alpha is not None:
        rgb = pixels if image.colour else np.repeat(pixels[..., None], 3, axis=-1)
        pixels = np.concatenate([rgb, image.alpha[..., None]], axis=-1)
    Image.fromarray(pixels).save(stream, "WEBP", lossless=True, exact=True, **_options(image))


def _is_lossy(stream: IO[bytes]) -> bool:
    """Tell whether the first image of a WebP file was compressed with loss: its chunk is VP8 then, not VP8L."""
    stream.seek(12)
    while len(head := stream.read(8)) == 8 and head[:4] not in (b"VP8 ", b"VP8L", b"ANMF"):
        size = int.from_bytes(head[4:], "little")
        stream.seek(size + size % 2, 1)
    return head[:4] == b"VP8 "


def _options(image: ImageFile) -> dict[str, Any]:
    kept = {"icc_profile": image.metadata.icc, "exif": image.metadata.exif}
    return {name: value for name, value in kept.items() if value is not None}
