"""Records that hold arrays: immutable, compared by identity, recognised by a fingerprint of their contents."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np

__all__ = ["Fingerprinted"]


class Fingerprinted:
    """Gives a dataclass a `fingerprint`; fields with the metadata ``fingerprinted=False`` are no part of it."""

    __slots__ = ()

    def fingerprint(self) -> str:
        """Return a hexadecimal digest of the class and all its fields, the same in every process."""
        digest = hashlib.sha256()
        _feed(digest, self)
        return digest.hexdigest()


def _feed(digest: Any, value: object) -> None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        digest.update(f"<{type(value).__module__}.{type(value).__qualname__}".encode())
        for field in dataclasses.fields(value):
            if not field.metadata.get("fingerprinted", True):
                continue
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
    else:
        digest.update(repr(value).encode())
