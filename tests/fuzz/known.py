"""Failures that are known and not mended yet: the title that the fuzzer gives them, and the shortest call that fails.

An entry goes when the call is mended, and the call becomes a test of the function.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

KNOWN: dict[str, str] = {}


def is_known(title: str) -> bool:
    """Tell whether a failure is one of these."""
    return any(fnmatchcase(title, pattern) for pattern in KNOWN)
