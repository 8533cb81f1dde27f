"""Results on disk: a file for each cell, written when it finishes, so that a run can be interrupted at any time."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from plugplay_paper.environment import code_digest
from plugplay_paper.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from plugplay_paper.cells.base import Cell

__all__ = ["Store", "key"]

Record = TypeVar("Record")


def key(cell: Cell[object]) -> str:
    """Return the name under which a cell is stored: a digest of what it is and of the code that computes it."""
    return hashlib.sha256(f"{cell.fingerprint()} {code_digest()}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Store:
    """The folder of finished cells.

    A cell is a JSON file named by its key, with arrays in an ``.npz`` of the same name. A file that cannot be read
    counts as not there, and its cell is computed again.
    """

    folder: Path

    def load(self, cell: Cell[Record]) -> Record | None:
        """Return the record of a cell, or None if it has not been computed."""
        path = self._path(cell)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in content["record"].items()
            }
            if content["arrays"]:
                # Opened here, because NumPy leaves a file open that it cannot read.
                with path.with_suffix(".npz").open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                    values.update({name: arrays[name] for name in content["arrays"]})
            return cell.record(**values)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error):
            return None

    def save(self, cell: Cell[Record], record: Record) -> None:
        """Keep a record; the JSON file comes last and makes it valid."""
        fields: dict[str, Any] = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}  # type: ignore[arg-type]
        arrays: dict[str, Any] = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
        plain = {name: value for name, value in fields.items() if name not in arrays}
        path = self._path(cell)
        if arrays:
            encoded = io.BytesIO()
            np.savez_compressed(encoded, **arrays)
            write_atomically(path.with_suffix(".npz"), encoded.getvalue())
        content = {"cell": cell.label, "record": plain, "arrays": sorted(arrays)}
        write_atomically(path, json.dumps(content, indent=1).encode())

    def _path(self, cell: Cell[Any]) -> Path:
        return self.folder / f"{key(cell)}.json"
