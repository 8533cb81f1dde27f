"""Noise as users give it."""

from __future__ import annotations

from numbers import Real

from plugplay.noise.coloured import ColouredNoise
from plugplay.noise.growing import PoissonGaussian

__all__ = ["check_noise"]


def check_noise(noise: object) -> None:
    """Refuse what cannot be a noise, such as an array, which would raise a puzzling error when it is compared.

    Examples
    --------
    >>> import numpy as np
    >>> check_noise(np.full((4, 4), 0.1))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: noise must be a number, a PoissonGaussian, a ColouredNoise or 'auto'; got an array of ...
    """
    if noise is None or isinstance(noise, str | Real | PoissonGaussian | ColouredNoise):
        return
    shape = getattr(noise, "shape", None)
    what = f"an array of the shape {shape}" if shape else f"{noise!r} of type {type(noise).__name__}"
    raise TypeError(
        f"noise must be a number, a PoissonGaussian, a ColouredNoise or 'auto'; got {what}. "
        "Noise that is stronger where the image is brighter is PoissonGaussian()"
    )
