"""The paper's table of single-photon imaging: four sensors, the paper's methods and ours."""

from __future__ import annotations

from plugplay import Adaptive, Monotone
from plugplay.models import SinglePhoton
from plugplay_paper import paper
from plugplay_paper.experiments.image_tables import Contender, ImageTables, Part
from plugplay_paper.experiments.super_resolution import ETA
from plugplay_paper.methods import Automatic, FirstGuess, ImagesFromBits, PlugAndPlay, TotalVariationADMM
from plugplay_paper.problems import Photons

__all__ = ["SINGLE_PHOTON", "by_hand", "problem", "total_variation"]

# The paper gives no parameters for photons. These are one set for all K, found on scikit-image's images.
LAM = 0.8
FIRST_SIGMA = 0.2
GAMMA = 1.5
ADAPTIVE_GAMMA = 1.35

CONVENTIONS = f"""
Every pixel has K x K jots that see a Poisson rate equal to its value (gain K², threshold 1, one frame). PSNR over the
whole frame, of images clipped to [0, 1], with a peak of 1. Seconds are those of the method alone, on one core, while
other cells run on the others. MLE is the closed form of Yang et al.; Chan-Lu is total variation by ADMM, its weight
in proportion to K; Ours-M and Ours-A have one set of parameters for all K (lambda {LAM}, first sigma {FIRST_SIGMA},
gamma {GAMMA} and {ADAPTIVE_GAMMA}, eta {ETA}), because the paper gives none; they were found on images of
scikit-image, and sigma is limited to 0.4. "Automatic" is what `single_photon` does with nothing but the
bits and the sensor, one denoising of stabilised counts by BM3D's profile "high" at these K, and is compared with the
better of the paper's two rows. "Images from Bits" stabilises the variance of the counts, denoises once with
BM3D and inverts exactly; the paper does not have it.
"""


def problem(oversampling: int) -> Photons:
    """Return the sensor with K x K jots a pixel."""
    return Photons(f"single photon, K = {oversampling}", SinglePhoton(oversampling))


def by_hand(*, eta: float | None = None) -> PlugAndPlay:
    """Return Algorithm 1 with the monotone rule, "Ours-M", or with the adaptive one, "Ours-A"."""
    rho0 = LAM / FIRST_SIGMA**2
    if eta is None:
        return PlugAndPlay(lam=LAM, schedule=Monotone(rho0=rho0, gamma=GAMMA))
    return PlugAndPlay(lam=LAM, schedule=Adaptive(rho0=rho0, gamma=ADAPTIVE_GAMMA, eta=eta))


def total_variation(oversampling: int) -> TotalVariationADMM:
    """Return Chan and Lu's method, with a weight for the noise that K x K jots leave, and a rho of its curvature."""
    return TotalVariationADMM(sigma=0.8 / oversampling, rho=1.5 * oversampling**2)


def _contenders(oversampling: int) -> tuple[Contender, ...]:
    printed, spread = paper.SINGLE_PHOTON[oversampling], paper.SINGLE_PHOTON_SPREAD[oversampling]
    return (
        Contender("MLE", FirstGuess(), printed["MLE"], spread["MLE"]),
        Contender("Chan-Lu (TV)", total_variation(oversampling), printed["Chan-Lu"], spread["Chan-Lu"]),
        Contender("Images from Bits", ImagesFromBits()),
        Contender("Ours-M", by_hand(), printed["Ours-M"], spread["Ours-M"]),
        Contender("Ours-A", by_hand(eta=ETA), printed["Ours-A"], spread["Ours-A"]),
        Contender("automatic", Automatic(), max(printed["Ours-M"], printed["Ours-A"], key=sum)),
    )


SINGLE_PHOTON = ImageTables(
    name="single-photon",
    title="Single-photon imaging",
    parts=tuple(
        Part(
            name=f"single-photon-{oversampling}",
            caption=f"Single photon, K = {oversampling}",
            problem=problem(oversampling),
            contenders=_contenders(oversampling),
            realisations=8,
            quick=oversampling in (4, 8),
        )
        for oversampling in (4, 6, 8, 10)
    ),
    border=0,
    averaged="All numbers",
    conventions=CONVENTIONS,
)
