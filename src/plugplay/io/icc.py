"""The transfer curve of a colour profile, read from its tags."""

from __future__ import annotations

import struct

import numpy as np

from plugplay.arrays.transfer import gamma, linearise

__all__ = ["transfer_of_profile"]

# How far from a known curve a table of samples may be: half a step of 8 bits.
_TOLERANCE = 0.002


def transfer_of_profile(profile: bytes) -> str:
    """Return the transfer curve of an ICC profile's gray, or of all three of its colours.

    Examples
    --------
    >>> from PIL import ImageCms
    >>> transfer_of_profile(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    'srgb'
    >>> transfer_of_profile(b"nonsense")
    'unknown'
    """
    try:
        (count,) = struct.unpack_from(">I", profile, 128)
        tags = {}
        for index in range(min(count, 100)):
            name, start, size = struct.unpack_from(">4sII", profile, 132 + 12 * index)
            tags[name] = profile[start : start + size]
        names = [b"kTRC"] if b"kTRC" in tags else [b"rTRC", b"gTRC", b"bTRC"]
        curves = {_curve(tags[name]) for name in names}
    except (struct.error, KeyError, ValueError):
        return "unknown"  # damaged, or made of lookup tables
    return curves.pop() if len(curves) == 1 else "unknown"


def _curve(tag: bytes) -> str:
    kind = tag[:4]
    if kind == b"curv":
        (count,) = struct.unpack_from(">I", tag, 8)
        if count == 0:
            return "linear"
        if count == 1:
            return gamma(struct.unpack_from(">H", tag, 12)[0] / 256)
        return _nearest(np.frombuffer(tag, ">u2", count, 12) / 65535)
    if kind == b"para":
        (shape,) = struct.unpack_from(">H", tag, 8)
        wanted = {0: 1, 1: 3, 2: 4, 3: 5, 4: 7}[shape]
        g, *rest = (n / 65536 for n in struct.unpack_from(f">{wanted}i", tag, 12))
        if shape == 0:
            return gamma(g)
        if shape == 3:  # (a x + b)^g from d on, c x below
            a, b, c, d = rest
            x = np.linspace(0, 1, 1024)
            return _nearest(np.where(x >= d, np.maximum(a * x + b, 0) ** g, c * x))
    return "unknown"


def _nearest(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    """Return the known curve that a table of samples on [0, 1] follows."""
    x = np.linspace(0, 1, len(table))
    for known in ("srgb", "linear", "gamma:1.8", "gamma:2.2"):
        if np.abs(linearise(x, known) - table).max() <= _TOLERANCE:
            return known
    return "unknown"
