"""Non-local means: averages over pixels whose surroundings look alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from plugplay.arrays.checks import FloatArray, check_integer, check_workers
from plugplay.denoisers._inputs import checked, is_negligible
from plugplay.denoisers._pairs import radius_for, window_average
from plugplay.denoisers._prepared import Threaded

__all__ = ["NonLocalMeans"]


def patch_and_width(sigma: float, channels: int = 1) -> tuple[int, float]:
    """Return the radius of the patches, and h as a multiple of sigma.

    The best mean PSNR over crops of scikit-image's camera, coins, astronaut and coffee: patches must grow with the
    noise to tell likeness from chance, and the larger they are, the smaller h can be. What counts is the number of
    values in a patch, so that colour patches are smaller; with three channels, 0.85 to 1 times the h that is best for
    gray images is (astronaut, coffee and motorcycle).
    """
    narrower = math.pow(channels, -0.1)
    if sigma < 18 / 255:
        return radius_for(9, channels), narrower
    if sigma < 40 / 255:
        return radius_for(25, channels), 0.75 * narrower
    return radius_for(49, channels), 0.6 * narrower


@dataclass(frozen=True, kw_only=True)
class NonLocalMeans(Threaded):
    r"""Average with the weights :math:`w_{ij} = \exp(-\max(d_{ij} - 2\sigma^2, 0) / h^2)`.

    :math:`d_{ij}` is the mean squared difference of the patches around pixels i and j, of which noise alone makes
    up :math:`2\sigma^2`. Patches are 3 x 3 below :math:`\sigma = 18/255`, 5 x 5 below 40/255 and 7 x 7 above,
    with :math:`h = \sigma`, :math:`0.75\,\sigma` and :math:`0.6\,\sigma`. With C channels, patches
    are only as large as is needed to hold as many values, and h is multiplied by :math:`C^{-0.1}`.

    It is bounded in the sense of the paper, since weights vanish where pixels differ by much more than sigma, but
    it is not non-expansive.

    Parameters
    ----------
    window : int, optional
        Pixels are compared within ``window`` rows and columns of each other.
    workers : int, optional
        Number of threads, by default all cores. It does not change the result.

    References
    ----------
    A. Buades, B. Coll, J.-M. Morel, "A review of image denoising algorithms, with a new one", Multiscale Modeling
    and Simulation 4 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> stripes = np.tile([0.2, 0.2, 0.8, 0.8], (16, 4))
    >>> noisy = stripes + 0.1 * np.random.default_rng(0).standard_normal(stripes.shape)
    >>> bool(np.std(NonLocalMeans()(noisy, 0.1) - stripes) < 0.03)
    True
    """

    window: int = 7
    workers: int | None = None

    name: ClassVar[str] = "nlm"

    def __post_init__(self) -> None:
        check_integer(self.window, "window", minimum=1)
        check_workers(self.workers)

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise; colour channels share their weights."""
        noisy, sigma = checked(image, sigma)
        if is_negligible(sigma):
            return noisy.copy()
        patch, width = patch_and_width(sigma, noisy[0, 0].size)
        return window_average(
            noisy,
            window=self.window,
            patch=patch,
            width=width * sigma,
            slack=2 * sigma**2,
            workers=check_workers(self.workers),
        )
