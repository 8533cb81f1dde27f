"""Fingerprints: digests by which cells, and whatever they consist of, are recognised in every process."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np

__all__ = ["Fingerprinted"]


class Fingerprinted:
    """Gives a dataclass a `fingerprint`; fields with the metadata ``fingerprinted=False`` are no part of it.

    Classes count by their names, wherever they are defined: what they do is the code digest's business.
    """

    __slots__ = ()

    def fingerprint(self) -> str:
        """Return a hexadecimal digest of the class and all its fields."""
        digest = hashlib.sha256()
        _feed(digest, self)
        return digest.hexdigest()


def _feed(digest: Any, value: object) -> None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        digest.update(f"<{type(value).__qualname__}".encode())
        for field in dataclasses.fields(value):
            if field.metadata.get("fingerprinted", True):
                digest.update(f"|{field.name}=".encode())
                _feed(digest, getattr(value, field.name))
        digest.update(b">")
    elif isinstance(value, np.ndarray):
        digest.update(f"array{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, tuple):
        digest.update(b"(")
        for item in value:
            _feed(digest, item)
            digest.update(b",")
        digest.update(b")")
    elif value is None or isinstance(value, bool | int | float | str | np.generic):
        digest.update(repr(value).encode())
    else:
        # The default repr has an address in it, which another process would not have.
        raise TypeError(f"a fingerprint needs dataclasses, arrays, tuples, numbers and texts; got {value!r}")
