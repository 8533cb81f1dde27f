"""JPEG and WebP files: 8 bits, by Pillow."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from plugplay.io.geometry import split_alpha, upright
from plugplay.io.pillow import metadata_of, opened, orientation_of, pixels_of
from plugplay.io.record import ImageFile, ImageLossWarning

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read", "write"]

# The highest quality at which JPEG files do not grow without any visible gain.
JPEG_QUALITY = 95


def read(path: Path) -> ImageFile:
    """Read a JPEG or WebP file."""
    with path.open("rb") as stream:
        format_ = "WEBP" if stream.read(4) == b"RIFF" else "JPEG"
    with opened(path, format_) as image:
        if format_ == "WEBP" and getattr(image, "n_frames", 1) > 1:
            warnings.warn(f"{path} is animated: only its first image is used", ImageLossWarning, stacklevel=2)
        decoded = upright(pixels_of(image), orientation_of(image))
        pixels, colour, alpha = split_alpha(decoded)
        return ImageFile.of(pixels, colour=colour, alpha=alpha, metadata=metadata_of(image))


def write(path: Path, image: ImageFile) -> None:
    """Write a JPEG file (quality 95, no colour subsampling) or a lossless WebP file."""
    pixels = image.pixels
    if image.alpha is not None:
        rgb = pixels if image.colour else np.repeat(pixels[..., None], 3, axis=-1)
        pixels = np.concatenate([rgb, image.alpha[..., None]], axis=-1)
    metadata = image.metadata
    options: dict[str, Any] = {}
    if metadata.icc is not None:
        options["icc_profile"] = metadata.icc
    if metadata.exif is not None:
        options["exif"] = metadata.exif
    if path.suffix.lower() == ".webp":
        Image.fromarray(pixels).save(path, "WEBP", lossless=True, exact=True, **options)
        return
    dpi = None if metadata.resolution is None else metadata.resolution.per_inch()
    if dpi is not None:
        options["dpi"] = (round(dpi[0]), round(dpi[1]))
    Image.fromarray(pixels).save(path, "JPEG", quality=JPEG_QUALITY, subsampling=0, **options)
