"""Denoisers on one thread, made for what a model leaves them to remove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay import denoisers
from plugplay.models import Denoising, SinglePhoton

if TYPE_CHECKING:
    from plugplay.denoisers import Denoiser
    from plugplay.models import Model
    from plugplay_paper.arrays import FloatArray

__all__ = ["LimitedStrength", "denoiser_for"]


def denoiser_for(model: Model, name: str) -> Denoiser:
    """Return a built-in denoiser as `plugplay.restore` would make it for this model, on one thread.

    Only BM3D can be told what it is for: white noise, the coloured noise that the inverse of an operator leaves, or
    the shot noise of photons.
    """
    if name != "bm3d":
        return denoisers.get(name, workers=1)
    purpose = (
        "photons" if isinstance(model, SinglePhoton) else "denoising" if isinstance(model, Denoising) else "restoration"
    )
    return denoisers.get(name, workers=1, purpose=purpose)


@dataclass(frozen=True)
class LimitedStrength:
    """A denoiser whose sigma is limited.

    With the parameters of Table I, sigma starts at 0.9 and at 3.2 on the scale [0, 1], where no denoiser was meant to
    work. In the noisy configuration at x2 that costs 0.4 and 0.5 dB on couple and cameraman, and little on others.
    Leaving out the clipping instead helps couple as much, so u probably winds up against it.

    Attributes
    ----------
    denoiser : Denoiser
        What denoises.
    max_sigma : float
        The limit of sigma.
    """

    denoiser: Denoiser
    max_sigma: float

    @property
    def name(self) -> str:
        """The denoiser's name and the limit."""
        return f"{getattr(self.denoiser, 'name', self.denoiser)}, sigma <= {self.max_sigma:g}"

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise."""
        return self.denoiser(image, min(sigma, self.max_sigma))

    def session(self) -> Denoiser:
        """Return a session of the denoiser, limited too."""
        return LimitedStrength(denoisers.open_session(self.denoiser), self.max_sigma)
