"""What the paper printed: its test images, Table I with the parameters, and both tables of results.

Transcribed; only the averages are computed here. PSNR in dB, the images in the order of `IMAGES`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "CONFIGURATIONS",
    "IMAGES",
    "SIDES",
    "SINGLE_PHOTON",
    "SINGLE_PHOTON_SPREAD",
    "SUPER_RESOLUTION",
    "SUPER_RESOLUTION_SPREAD",
    "Configuration",
    "Row",
    "printed",
]

Row = tuple[float, ...]

IMAGES = ("barbara", "boat", "cameraman", "couple", "fingerprint", "hill", "house", "lena", "man", "peppers")

# All are square.
SIDES = {name: 256 if name in ("cameraman", "house", "peppers") else 512 for name in IMAGES}


@dataclass(frozen=True)
class Configuration:
    """One of the four experiments in super-resolution (Table I).

    Attributes
    ----------
    number : int
        1 to 4.
    factor : int
        K.
    kernel : str
        The anti-aliasing filter, ``"bicubic"`` or ``"gaussian"`` (9 x 9, standard deviation 1).
    noise : float
        Standard deviation of the noise.
    rho0, gamma, lam : float
        The parameters.
    """

    number: int
    factor: int
    kernel: str
    noise: float
    rho0: float
    gamma: float
    lam: float


CONFIGURATIONS = (
    Configuration(1, factor=2, kernel="bicubic", noise=0.0, rho0=1.3e-5, gamma=2.5, lam=1e-5),
    Configuration(2, factor=4, kernel="bicubic", noise=0.0, rho0=1.3e-5, gamma=2.5, lam=1e-5),
    Configuration(3, factor=2, kernel="gaussian", noise=5 / 255, rho0=1e-5, gamma=1.2, lam=1e-4),
    Configuration(4, factor=4, kernel="gaussian", noise=5 / 255, rho0=1e-5, gamma=1.2, lam=1e-4),
)

# By configuration.
SUPER_RESOLUTION: Mapping[int, Mapping[str, Row]] = {
    1: {
        "DCNN": (25.71, 31.83, 28.79, 31.13, 32.73, 32.60, 35.11, 36.34, 33.10, 33.05),
        "SR": (25.87, 31.51, 27.92, 30.94, 33.02, 32.46, 34.79, 36.14, 32.80, 32.67),
        "SPSR": (25.71, 31.49, 27.85, 31.00, 33.30, 32.35, 34.37, 36.18, 32.67, 32.66),
        "TSE": (25.66, 31.64, 28.17, 31.01, 32.88, 32.45, 34.78, 36.22, 32.88, 33.29),
        "GPR": (24.99, 29.99, 26.44, 29.50, 30.36, 31.33, 33.08, 34.19, 31.09, 30.98),
        "Ours-M": (25.87, 31.85, 28.81, 31.42, 33.63, 32.56, 35.30, 36.45, 32.86, 33.06),
        "Ours-A": (25.74, 31.68, 28.44, 31.27, 33.49, 32.39, 35.20, 36.02, 32.65, 32.65),
    },
    2: {
        "DCNN": (23.93, 26.84, 23.76, 26.08, 24.18, 28.32, 29.48, 30.45, 28.17, 27.88),
        "SR": (23.91, 26.39, 23.43, 26.02, 24.44, 28.17, 29.15, 30.19, 27.94, 27.42),
        "SPSR": (23.90, 26.49, 23.42, 26.02, 25.11, 28.14, 29.22, 30.24, 27.85, 27.62),
        "TSE": (23.90, 26.62, 23.83, 26.10, 24.70, 28.06, 30.03, 30.29, 28.03, 27.97),
        "GPR": (23.55, 25.47, 22.54, 25.27, 22.33, 27.79, 27.61, 28.74, 26.76, 25.79),
        "Ours-M": (23.99, 26.87, 23.82, 26.32, 25.54, 28.35, 30.16, 30.74, 28.17, 28.26),
        "Ours-A": (23.99, 26.87, 23.83, 26.33, 25.58, 28.29, 30.48, 30.62, 28.12, 28.22),
    },
    3: {
        "DCNN": (23.61, 26.30, 23.75, 26.21, 23.79, 27.50, 27.84, 28.15, 27.05, 26.07),
        "SR": (23.61, 26.25, 23.71, 26.15, 23.80, 27.41, 27.71, 28.07, 26.99, 26.10),
        "SPSR": (23.75, 26.57, 23.88, 26.47, 23.91, 27.80, 28.19, 28.58, 27.33, 26.39),
        "TSE": (23.57, 26.22, 23.65, 26.12, 23.79, 27.34, 27.55, 28.00, 26.93, 26.11),
        "GPR": (23.82, 26.81, 23.91, 26.63, 24.05, 28.38, 29.16, 29.54, 27.78, 26.76),
        "Ours-M": (24.64, 29.41, 26.73, 29.22, 28.82, 29.82, 32.65, 32.76, 29.66, 30.10),
        "Ours-M*": (24.01, 27.09, 24.17, 27.00, 25.03, 28.46, 29.32, 29.78, 27.85, 26.99),
    },
    4: {
        "DCNN": (20.72, 21.30, 18.91, 21.68, 16.10, 23.39, 22.33, 22.99, 22.46, 20.23),
        "SR": (20.67, 21.30, 18.86, 21.51, 16.37, 23.15, 22.19, 22.85, 22.26, 20.33),
        "SPSR": (20.85, 21.58, 19.18, 21.85, 16.59, 23.52, 22.42, 23.05, 22.53, 20.50),
        "TSE": (20.59, 21.24, 18.80, 21.49, 16.40, 23.14, 22.21, 22.78, 22.21, 20.30),
        "GPR": (21.55, 22.68, 19.90, 22.77, 17.70, 24.57, 23.51, 24.37, 23.63, 21.35),
        "Ours-M": (23.62, 25.75, 23.06, 25.30, 24.48, 27.17, 29.14, 29.42, 26.86, 26.86),
        "Ours-M*": (21.21, 22.12, 19.43, 22.43, 16.90, 24.37, 23.13, 23.95, 23.39, 21.13),
    },
}

# By K, the jots along each side of a pixel. MLE is the method of Yang et al., Chan-Lu is total variation.
SINGLE_PHOTON: Mapping[int, Mapping[str, Row]] = {
    4: {
        "MLE": (14.80, 14.18, 14.68, 14.39, 14.28, 14.90, 14.21, 14.48, 14.78, 14.59),
        "Chan-Lu": (22.59, 24.76, 23.63, 24.74, 21.47, 25.65, 25.38, 26.42, 25.35, 24.78),
        "Ours-M": (25.99, 25.72, 25.58, 26.03, 23.54, 26.60, 28.15, 28.17, 26.17, 26.10),
        "Ours-A": (26.06, 25.75, 25.64, 26.10, 23.59, 26.66, 28.27, 28.27, 26.18, 26.16),
    },
    6: {
        "MLE": (17.94, 17.27, 17.67, 17.61, 17.29, 18.22, 17.22, 17.62, 18.00, 17.65),
        "Chan-Lu": (23.97, 26.25, 25.53, 26.26, 24.47, 26.66, 26.75, 27.32, 26.58, 26.40),
        "Ours-M": (28.34, 27.76, 27.60, 27.91, 25.66, 28.30, 30.34, 30.06, 27.75, 28.15),
        "Ours-A": (28.34, 27.72, 27.61, 27.84, 25.62, 28.25, 30.28, 29.86, 27.71, 28.16),
    },
    8: {
        "MLE": (20.28, 19.68, 20.00, 20.05, 19.53, 20.64, 19.49, 19.99, 20.42, 19.97),
        "Chan-Lu": (25.14, 27.09, 26.56, 27.24, 25.75, 27.55, 27.17, 27.89, 27.49, 27.07),
        "Ours-M": (29.79, 29.07, 29.14, 29.25, 27.19, 29.55, 31.70, 31.43, 28.99, 29.52),
        "Ours-A": (29.74, 29.00, 29.09, 29.16, 27.14, 29.51, 31.54, 31.35, 28.94, 29.43),
    },
    10: {
        "MLE": (22.14, 21.60, 21.89, 21.98, 21.32, 22.51, 21.32, 21.86, 22.35, 21.83),
        "Chan-Lu": (26.20, 27.57, 27.26, 27.70, 26.41, 27.99, 27.64, 28.16, 27.95, 27.66),
        "Ours-M": (30.88, 30.19, 30.34, 30.31, 28.29, 30.48, 32.68, 32.29, 29.97, 30.56),
        "Ours-A": (30.81, 30.12, 30.31, 30.22, 28.22, 30.41, 32.51, 32.17, 29.90, 30.47),
    },
}

# The printed column "Avg STD per image", where noise is averaged: by configuration and by K.
SUPER_RESOLUTION_SPREAD: Mapping[int, Mapping[str, float]] = {
    3: {
        "GPR": 0.0170,
        "SR": 0.0221,
        "DCNN": 0.0219,
        "SPSR": 0.0208,
        "TSE": 0.0238,
        "Ours-M": 0.0267,
        "Ours-M*": 0.0178,
    },
    4: {
        "GPR": 0.0313,
        "SR": 0.0212,
        "DCNN": 0.0232,
        "SPSR": 0.0217,
        "TSE": 0.0252,
        "Ours-M": 0.0223,
        "Ours-M*": 0.0253,
    },
}
SINGLE_PHOTON_SPREAD: Mapping[int, Mapping[str, float]] = {
    4: {"MLE": 0.0157, "Chan-Lu": 0.0425, "Ours-M": 0.0821, "Ours-A": 0.0801},
    6: {"MLE": 0.0147, "Chan-Lu": 0.0339, "Ours-M": 0.0451, "Ours-A": 0.0472},
    8: {"MLE": 0.0183, "Chan-Lu": 0.0325, "Ours-M": 0.0527, "Ours-A": 0.0520},
    10: {"MLE": 0.0198, "Chan-Lu": 0.0264, "Ours-M": 0.0386, "Ours-A": 0.0397},
}


def printed(row: Row | None, image: str, shape: tuple[int, ...]) -> float | None:
    """Return the paper's number for an image of this name and shape, or None if it has none.

    A name counts as one of the paper's ten with a number in front or a size behind, as in ``03_cameraman``,
    ``Cameraman256`` or ``cameraman.png``. The size must be the paper's.

    Examples
    --------
    >>> printed(SINGLE_PHOTON[4]["MLE"], "03_Cameraman256", (256, 256))
    14.68
    >>> printed(SINGLE_PHOTON[4]["MLE"], "cameraman", (512, 512)) is None
    True
    """
    plain = re.sub(r"^\d+[ _-]*|[ _-]*\d+$", "", re.sub(r"\.\w+$", "", image.casefold()))
    if row is None or plain not in IMAGES or shape != (SIDES[plain], SIDES[plain]):
        return None
    return row[IMAGES.index(plain)]
