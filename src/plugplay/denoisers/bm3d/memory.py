"""What a session remembers: the groups of the last search, and when to search again.

Groups are searched for anew

* every `LIFETIME` calls, as the image has become another one by then;
* when the noise has changed by more than a factor of `NOISE_CHANGE`, since the limit of similarity follows it.
"""

from __future__ import annotations

from plugplay.denoisers.bm3d.pipeline import Groups

__all__ = ["LIFETIME", "NOISE_CHANGE", "Memory"]

LIFETIME = 12
NOISE_CHANGE = 2.2


class Memory:
    """The groups of one image in one restoration; the shape of the image must not change."""

    def __init__(self) -> None:
        self._groups: Groups = {}
        self._sigma = 0.0
        self._uses = 0

    def groups_for(self, sigma: float) -> Groups:
        """Return the groups to use for an image with this noise: empty ones if a search is due."""
        change = max(sigma, self._sigma) / min(sigma, self._sigma) if self._uses else 1.0
        if change > NOISE_CHANGE or self._uses == LIFETIME:
            self._groups, self._uses = {}, 0
        if self._uses == 0:
            self._sigma = sigma
        self._uses += 1
        return self._groups
