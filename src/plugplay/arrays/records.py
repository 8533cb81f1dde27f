"""Records that hold arrays: immutable, compared by identity, recognised by a fingerprint of their contents."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Fingerprinted", "plain"]


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


def plain(value: object, *, endless: Callable[[float], object] = str) -> Any:
    """Return a value as JSON can say it.

    Parameters
    ----------
    value : object
        Records, dictionaries, sequences, numbers and text; anything else becomes its text, and an array its shape.
    endless : callable
        Gives what is said of numbers that are not finite.

    Examples
    --------
    >>> plain({"a": (1, float("inf"), None)})
    {'a': [1, 'inf', None]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = {f.name: plain(getattr(value, f.name), endless=endless) for f in dataclasses.fields(value) if f.repr}
        return {"kind": type(value).__name__, **inner}
    if isinstance(value, dict):
        return {str(key): plain(item, endless=endless) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, endless=endless) for item in value]
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape)}
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else endless(float(value))
    return value if value is None or isinstance(value, str | int | bool) else str(value)
