"""Limits on the memory that a file may need, checked before it is allocated."""

from __future__ import annotations

import re

from plugplay.io.errors import ImageFileError

__all__ = ["MAX_BYTES", "check_size", "parse_size"]

# The limit of the unpacked size.
MAX_BYTES = 2**32
# A small file that claims this much is malicious: real images compress 2 to 50 times.
LARGE_BYTES = 2**28
SUSPICIOUS_RATIO = 200
# The overhead of one page, plane or array, however few pixels it has.
PAGE_BYTES = 2**16

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def check_size(needed: int, *, stored: int | None = None, limit: int | None = None, pages: int = 1) -> None:
    """Raise an error if more memory is needed than is allowed.

    Parameters
    ----------
    needed : int
        Bytes that will be taken.
    stored : int, optional
        Bytes of the file that they come from. More than 256 MiB from less than a 200th of it is refused as well.
    limit : int, optional
        Bytes that are allowed; by default 4 GiB, and no more than the file makes credible. A limit that is given is
        the only one.
    pages : int
        In how many pieces; each costs at least 64 KiB.

    Examples
    --------
    >>> check_size(100 * 2**20, stored=3 * 2**20)
    >>> check_size(5 * 2**30)
    Traceback (most recent call last):
        ...
    plugplay.io.errors.ImageFileError: it needs 5.0 GiB of memory, but only 4.0 GiB are allowed; if you trust it, allow
    more with --max-size 5G, or limit=5368709120 in Python
    """
    needed = max(needed, pages * PAGE_BYTES)
    allowed = MAX_BYTES if limit is None else limit
    if limit is None and stored is not None:
        allowed = min(allowed, max(LARGE_BYTES, SUSPICIOUS_RATIO * stored))
    if needed > allowed:
        of = "" if stored is None else f" for a file of {_text(stored)}"
        raise ImageFileError(
            f"it needs {_text(needed)} of memory{of}, but only {_text(allowed)} are allowed; if you trust it, allow "
            f"more with --max-size {-(-needed // 2**30)}G, or limit={needed} in Python"
        )


def parse_size(text: str) -> int:
    """Return the bytes that a number with K, M, G or T says, as the command line takes it.

    Examples
    --------
    >>> parse_size("12G"), parse_size("1.5 MiB"), parse_size("300")
    (12884901888, 1572864, 300)
    """
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise ValueError(f"a size such as 500M or 12G is needed; got {text!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _text(count: int) -> str:
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
