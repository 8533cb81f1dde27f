"""Calibration: whether a denoiser removes the noise that it is told about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plugplay.checks import images
from plugplay.checks.probe import Probe
from plugplay.metrics import psnr

__all__ = ["Calibration", "calibration"]

SIGMAS = (5 / 255, 15 / 255, 25 / 255, 50 / 255)
# The denoiser is told these multiples of the true sigma, at the noise below.
MULTIPLES = (0.5, 0.7, 1.0, 1.4, 2.0)
REFERENCE = 25 / 255


@dataclass(frozen=True)
class Calibration:
    """PSNR of a photograph before and after.

    Attributes
    ----------
    sigmas : tuple of float
        Standard deviation of the noise.
    noisy, denoised : tuple of float
        PSNR in dB at each sigma.
    best_multiple : float
        Of the multiples of the true sigma that it was told at 25/255, the one with the highest PSNR; 1 if it is well
        calibrated.
    """

    sigmas: tuple[float, ...]
    noisy: tuple[float, ...]
    denoised: tuple[float, ...]
    best_multiple: float

    def __str__(self) -> str:
        rows = (
            f"{255 * sigma:.0f}/255: {before:.2f} -> {after:.2f} dB"
            for sigma, before, after in zip(self.sigmas, self.noisy, self.denoised, strict=True)
        )
        best = "best when told the true sigma" if self.best_multiple == 1 else f"best at {self.best_multiple:g} sigma"
        return f"{', '.join(rows)}; {best}"


def calibration(probe: Probe, *, size: int, rng: np.random.Generator) -> Calibration:
    """Measure the PSNR at several noise levels, and at several wrong sigmas."""
    clean = images.natural(size)
    noise = rng.standard_normal(clean.shape)
    noisy = {sigma: np.clip(clean + sigma * noise, 0, 1) for sigma in SIGMAS}
    told = {m: psnr(probe(noisy[REFERENCE], m * REFERENCE), clean) for m in MULTIPLES}
    after = {sigma: told[1.0] if sigma == REFERENCE else psnr(probe(noisy[sigma], sigma), clean) for sigma in SIGMAS}
    best = max(told, key=lambda multiple: told[multiple])
    # Half of a tenth of a decibel is nothing: then the true sigma is as good as the best.
    return Calibration(
        SIGMAS,
        tuple(psnr(noisy[sigma], clean) for sigma in SIGMAS),
        tuple(after[sigma] for sigma in SIGMAS),
        1.0 if told[best] - told[1.0] < 0.05 else best,
    )
