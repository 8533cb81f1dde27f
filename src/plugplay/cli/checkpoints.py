"""Checkpoints within a restoration, from which an interrupted one resumes."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plugplay.pnp.state import State

__all__ = ["Checkpoint", "remove_checkpoints"]

# Saving takes at most this share of the time, ...
MAX_SHARE = 0.02
# ... and less than this many seconds of work are not saved.
MIN_SECONDS = 2.0
# Assumed bytes per second of the disk, until the first checkpoint has been timed.
BYTES_PER_SECOND = 2e8


class Checkpoint:
    """The checkpoint of one page: a hidden file beside the output, found again only by the same recipe.

    Parameters
    ----------
    target : Path or None
        The output; None keeps no checkpoint.
    recipe : str
        The digest of everything that determines the output (`plugplay.io.manifest`).
    page : int
        Which page of a stack.
    """

    def __init__(self, target: Path | None, recipe: str, page: int) -> None:
        self._path = None if target is None else target.with_name(f"{_prefix(target)}{recipe[:16]}-{page}.npz")
        self._saved = time.monotonic()
        self._cost: float | None = None

    def load(self) -> State | None:
        """Return the state of an interrupted restoration; None if there is none, or it cannot be read."""
        from plugplay.pnp.state import State

        if self._path is None:
            return None
        try:
            return State.load(self._path)
        except (ValueError, OSError):
            return None

    def update(self, state: State) -> None:
        """Save the state if it is time."""
        cost = state.x.nbytes * 4 / BYTES_PER_SECOND if self._cost is None else self._cost
        if time.monotonic() - self._saved >= max(MIN_SECONDS, cost / MAX_SHARE):
            self.save(state)

    def save(self, state: State) -> None:
        """Save the state, unless little would be lost; a full disk does not end the work."""
        began = time.monotonic()
        if self._path is None or began - self._saved < MIN_SECONDS:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            state.save(self._path)
        self._saved = time.monotonic()
        self._cost = self._saved - began


def remove_checkpoints(target: Path) -> None:
    """Remove the checkpoints of an output, whatever recipe they belong to."""
    for path in target.parent.glob(f"{_prefix(target)}*.npz"):
        with suppress(OSError):
            path.unlink()


def _prefix(target: Path) -> str:
    # Not the name itself, which may be as long as names can be.
    name = hashlib.sha256(target.name.encode("utf-8", "surrogateescape")).hexdigest()
    return f".plugplay-checkpoint-{name[:16]}-"
