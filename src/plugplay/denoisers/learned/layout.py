"""Comparing the tensors of a file with those of a network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["chain_of_convolutions", "differences"]

_NUMBERED = re.compile(r"model\.(\d+)\.weight")

# A counter that batch normalisation keeps for training; older files do not have it, and it changes nothing.
_COUNTER = ".num_batches_tracked"


def chain_of_convolutions(tensors: Mapping[str, Any]) -> list[Any]:
    """Return the kernels ``model.N.weight`` in the order of N, whatever the order in the file."""
    numbered = [(int(match[1]), t) for name, t in tensors.items() if (match := _NUMBERED.fullmatch(name))]
    return [tensor for _, tensor in sorted(numbered, key=lambda pair: pair[0]) if tensor.ndim == 4]


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Say in words how the tensors that were found differ, in names and shapes, from those that are wanted.

    Examples
    --------
    >>> import numpy as np
    >>> differences({"a": np.zeros(3), "b": np.zeros(2)}, {"a": np.zeros(4), "c": np.zeros(1)})
    ["'c' is missing", "'b' is not known", "'a' has the shape (3,) instead of (4,)"]
    """
    missing = [name for name in wanted if name not in found and not name.endswith(_COUNTER)]
    unknown = [name for name in found if name not in wanted]
    shapes = [(name, tuple(found[name].shape), tuple(wanted[name].shape)) for name in wanted if name in found]
    return [
        *(f"{name!r} is missing" for name in missing),
        *(f"{name!r} is not known" for name in unknown),
        *(f"{name!r} has the shape {got} instead of {need}" for name, got, need in shapes if got != need),
    ]
