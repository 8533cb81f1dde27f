"""The numbers of the algorithm, and the three profiles that trade time for quality."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["BLOCK", "Profile", "ProfileName", "Purpose", "Stage", "profile_for"]

ProfileName = Literal["fast", "normal", "high"]
Purpose = Literal["denoising", "restoration", "photons"]

BLOCK = 8
"""Side of a block; the kernels are written for it."""

MAX_THINNED_STEP = BLOCK // 2
"""The largest distance between reference blocks at which every other one still leaves no pixel out."""


@dataclass(frozen=True)
class Stage:
    """How one of the stages forms its groups.

    Attributes
    ----------
    step : int
        Distance between neighbouring reference blocks.
    reach : int
        Candidates are displaced by at most this many pixels in each direction.
    group : int
        Largest number of blocks in a group, 16 or 32; groups have a power of two of them.
    similarity, noise_share : float
        A block belongs to the group if its mean squared difference from the reference block is below
        ``similarity + noise_share * sigma**2``.
    offset : int
        Where the grid of reference blocks begins. Blocks of the second stage that start elsewhere than those of the
        first average its block artefacts away.
    coarse : bool
        Whether blocks may be compared after rounding to 255 levels, where the noise allows it.
    """

    step: int
    reach: int
    group: int
    similarity: float
    noise_share: float
    offset: int = 0
    coarse: bool = False

    def spread(self, by: int) -> Stage:
        """Return the stage with reference blocks so many pixels further apart."""
        return replace(self, step=self.step + by)

    def moved(self, by: int) -> Stage:
        """Return the stage with a grid of reference blocks that begins so many pixels further on, down and along."""
        return replace(self, offset=(self.offset + by) % self.step)

    def limit(self, sigma: float) -> float:
        """Return the largest mean squared difference within a group.

        Examples
        --------
        >>> round(Stage(step=3, reach=19, group=16, similarity=0.01, noise_share=2.5).limit(0.2), 6)
        0.11
        """
        return self.similarity + self.noise_share * sigma**2


@dataclass(frozen=True)
class Profile:
    """The stages, and how they shrink.

    Attributes
    ----------
    pilot : Stage
        The first stage: hard thresholding gives an estimate that steers the second.
    final : Stage
        The second stage: Wiener filtering.
    principal : Stage, optional
        The third stage: Wiener filtering in the principal axes of each group. None for none.
    threshold : float
        The first stage keeps coefficients above ``threshold * sigma``.
    wiener_noise : float
        The second stage takes the noise's variance for ``wiener_noise * sigma**2``.
    principal_noise : float
        The third stage takes it for ``principal_noise * sigma**2``.
    principal_luminance : bool
        Whether the third stage is for the first channel only.
    local : bool
        Whether a fourth stage corrects the first channel by filters that were learned.
    kaiser : float
        Shape parameter of the window that blocks are added up with.
    thinning : {1, 2, 4}
        All channels but the first are filtered at one in so many reference blocks only, if steps are at most
        `MAX_THINNED_STEP`.
    spectrum : tuple, optional
        Power spectrum of the noise, see `plugplay.denoisers.bm3d.colouring`. None for white noise.
    """

    pilot: Stage
    final: Stage
    principal: Stage | None = None
    threshold: float = 2.7
    wiener_noise: float = 0.9
    principal_noise: float = 1.0
    principal_luminance: bool = False
    local: bool = False
    kaiser: float = 2.0
    thinning: Literal[1, 2, 4] = 1
    spectrum: tuple[tuple[float, ...], ...] | None = None

    def sparser(self, by: int) -> Profile:
        """Return the profile with the blocks of the first two stages so many pixels further apart.

        No pixel is left out as long as steps are at most `BLOCK`.

        Examples
        --------
        >>> sparser = profile_for("normal", 2, "restoration").sparser(4)
        >>> sparser.pilot.step, sparser.final.step
        (7, 7)
        """
        return replace(self, pilot=self.pilot.spread(by), final=self.final.spread(by))

    def midway(self) -> Profile:
        """Return the profile with the blocks of the second stage midway between those of the first.

        Examples
        --------
        >>> profile_for("normal", 2, "restoration").sparser(4).midway().final.offset
        4
        """
        return replace(self, final=replace(self.final, offset=(self.pilot.offset + (self.final.step + 1) // 2)))

    def moved(self, by: int) -> Profile:
        """Return the profile with the grids of all stages moved.

        Examples
        --------
        >>> moved = profile_for("normal", 2, "restoration").moved(2)
        >>> moved.pilot.offset, moved.final.offset
        (2, 1)
        """
        third = None if self.principal is None else self.principal.moved(by)
        return replace(self, pilot=self.pilot.moved(by), final=self.final.moved(by), principal=third)

    def thinner(self, thinning: Literal[2, 4]) -> Profile:
        """Return the profile with thinning, if blocks are close enough for it.

        Examples
        --------
        >>> normal = profile_for("normal", 2, "restoration")
        >>> normal.sparser(1).thinner(4).thinning, normal.sparser(2).thinner(4).thinning
        (4, 1)
        """
        widest = max(stage.step for stage in (self.pilot, self.final, self.principal) if stage is not None)
        return replace(self, thinning=thinning if widest <= MAX_THINNED_STEP else 1)

    def serving(self, purpose: Purpose) -> Profile:
        """Return the profile for what is to be removed.

        What a restoration leaves to its denoiser is not white noise. After blur, sampling or gaps, blocks should count
        alike up to their rims: super-resolution gains 0.03 to 0.17 dB on crops of scikit-image's images. Among
        photons it is the other way round, and a denser final grid helps: reconstructions gain 0.12 dB or more. White
        noise is removed worse by both. Its blocks may be compared coarsely, which costs photographs 0.014 dB at most
        and on average nothing; restorations, in which small changes add up, compare finely.
        """
        match purpose:
            case "restoration":
                return replace(self, threshold=3.2, wiener_noise=0.7, kaiser=0.0)
            case "photons":
                dense = replace(self.final, step=2, offset=1)
                return replace(self, final=dense, threshold=2.5, kaiser=3.0)
            case "denoising":
                third = None if self.principal is None else replace(self.principal, coarse=True)
                pilot, final = replace(self.pilot, coarse=True), replace(self.final, coarse=True)
                return replace(self, pilot=pilot, final=final, principal=third)


# Distances between the reference blocks of each stage. The third stage forgives the others their coarser grids, and
# makes up for its time by them.
_STEPS: dict[tuple[ProfileName, int], tuple[int, int, int | None]] = {
    ("fast", 2): (4, 4, None),
    ("fast", 3): (6, 6, 7),
    ("normal", 2): (3, 3, None),
    ("normal", 3): (4, 4, 5),
    ("high", 2): (2, 2, None),
    ("high", 3): (2, 3, 4),
}


def profile_for(name: ProfileName, stages: int, purpose: Purpose) -> Profile:
    """Return the settings for two or three stages and for what is to be removed.

    Examples
    --------
    >>> profile_for("normal", 2, "denoising").pilot.step
    3
    """
    pilot, final, principal = _STEPS[name, stages]
    profile = Profile(
        pilot=Stage(step=pilot, reach=19, group=16, similarity=3000 / 255**2, noise_share=2.5),
        final=Stage(step=final, reach=19, group=32, similarity=400 / 255**2, noise_share=0.2, offset=(final + 1) // 2),
        # All blocks count as similar: the principal axes of a group tell what is common to it.
        principal=Stage(step=principal, reach=19, group=32, similarity=1e20, noise_share=0.0, offset=1)
        if principal
        else None,
    )
    return profile.serving(purpose)
