"""Weights that come with the package: an NPZ file for each baseline and factor."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay_paper.arrays import frozen
from plugplay_paper.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["read", "write"]

_FOLDER = Path(__file__).parent / "weights"


def read(name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, read-only.

    Examples
    --------
    >>> read("dcnn-x2")["first"].shape
    (64, 1, 9, 9)
    """
    with np.load(_FOLDER / f"{name}.npz", allow_pickle=False) as stored:
        return {key: frozen(stored[key]) for key in stored}


def write(name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to where `read` finds them."""
    content: dict[str, Any] = dict(arrays)
    encoded = io.BytesIO()
    np.savez_compressed(encoded, **content)
    write_atomically(_FOLDER / f"{name}.npz", encoded.getvalue())
