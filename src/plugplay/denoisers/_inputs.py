"""What every built-in does with its two arguments before it starts."""

from __future__ import annotations

from numpy.typing import ArrayLike

from plugplay._checks import FloatArray, check_number, float_image

__all__ = ["checked", "is_negligible"]

# A noise level this far below the rounding errors of an image on [0, 1] means that there is nothing to do;
# it also keeps 1 / sigma² within single precision.
NEGLIGIBLE = 1e-12


def checked(image: ArrayLike, sigma: object) -> tuple[FloatArray, float]:
    """Return the image and sigma, or raise."""
    return float_image(image, "image"), check_number(sigma, "sigma", minimum=0)


def is_negligible(sigma: float) -> bool:
    """Tell whether a denoiser should return its input as it is.

    Examples
    --------
    >>> is_negligible(0.0), is_negligible(1e-4)
    (True, False)
    """
    return sigma < NEGLIGIBLE
