"""What a session remembers of an image: its groups, and how long they are good for."""

from __future__ import annotations

from plugplay.denoisers.bm3d.packing import PackedGroups
from plugplay.denoisers.bm3d.pipeline import Groups
from plugplay.denoisers.bm3d.profiles import Profile, Stage

__all__ = ["Memory"]

LIFETIME = 12
"""Calls of a session after which groups are searched for anew: the image has become another one by then."""

NOISE_CHANGE = 2.2
"""The factor by which the noise may change before groups are searched for anew: the limit of similarity follows it."""

TINY_SIGMA = 0.02
"""All noise below this counts as this much there: neither the limit of similarity nor the image changes any more."""


class Memory:
    """The groups of one image in one restoration.

    Parameters
    ----------
    width : int
        Of the image, whose shape must not change.
    lifetime : int, optional
        Calls after which groups are searched for anew.
    """

    def __init__(self, width: int, lifetime: int = LIFETIME) -> None:
        self._width, self._lifetime = width, lifetime
        self.turn = -1
        """How often groups were searched for before those that were given last."""
        self._groups: Groups = PackedGroups(width)
        self._stages: tuple[Stage, Stage] | None = None
        self._sigma = 0.0
        self._uses = 0

    def groups_for(self, sigma: float, profile: Profile) -> Groups:
        """Return the groups to use for an image with this noise: empty ones if a search is due."""
        before, now = max(self._sigma, TINY_SIGMA), max(sigma, TINY_SIGMA)
        change = max(before, now) / min(before, now)
        # A third stage that was not there before searches for its own groups.
        stages = profile.pilot, profile.final
        if change > NOISE_CHANGE or self._uses == self._lifetime or stages != self._stages:
            self.forget()
        if self._uses == 0:
            self._sigma, self._stages = sigma, stages
            self.turn += 1
        self._uses += 1
        return self._groups

    @property
    def searches(self) -> bool:
        """Whether the groups that were given last were empty."""
        return self._uses == 1

    def forget(self) -> None:
        """Make the next call search anew."""
        self._groups, self._uses = PackedGroups(self._width), 0
