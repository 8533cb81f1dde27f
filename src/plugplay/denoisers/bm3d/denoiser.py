"""`BM3D`, the denoiser that users call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np

from plugplay.arrays.checks import FloatArray, check_choice, check_number, check_workers, float_image
from plugplay.denoisers.base import Denoiser, per_channel
from plugplay.denoisers.bm3d.images import denoise_image
from plugplay.denoisers.bm3d.pipeline import Groups
from plugplay.denoisers.bm3d.profiles import PROFILES, ProfileName, Purpose

__all__ = ["BM3D"]

LIFETIME = 12
"""Calls of a session after which groups are searched for anew: the image has become another one by then."""

NOISE_CHANGE = 2.2
"""The factor by which the noise may change before groups are searched for anew: the limit of similarity follows it."""


@dataclass(frozen=True, kw_only=True)
class BM3D:
    """Block-matching and 3-D filtering.

    Similar 8x8 blocks of the image are stacked into groups, and each group is denoised by shrinking its
    coefficients in a three-dimensional transform: first by a hard threshold, which gives an estimate of the image,
    then, with groups formed on this estimate, by the Wiener filter that the estimate calls for.

    Colour images ``(H, W, 3)`` are denoised in opponent colours, with the groups of the luminance for all three.
    Images with any other number of channels are denoised channel by channel.

    Parameters
    ----------
    profile : {"normal", "fast", "high"}, optional
        How much time to spend: ``"fast"`` places reference blocks further apart, ``"high"`` closer.
    purpose : {"denoising", "restoration", "photons"}, optional
        What is to be removed: white noise, or what the steps of a restoration leave, after a blur or among photons.
        `plugplay.restore` asks for the right one.
    workers : int, optional
        Number of threads, by default all cores. It does not change the result, not by a bit.

    Notes
    -----
    Computed in single precision, whatever the precision of the image. With ``sigma = 0`` the image comes back as
    it is.

    References
    ----------
    K. Dabov, A. Foi, V. Katkovnik, K. Egiazarian, "Image denoising by sparse 3-D transform-domain collaborative
    filtering", IEEE Transactions on Image Processing 16 (2007).

    M. Lebrun, "An analysis and implementation of the BM3D image denoising method", Image Processing On Line 2
    (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from plugplay.denoisers import BM3D
    >>> clean = np.tile(np.linspace(0, 1, 32), (32, 1))
    >>> noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    >>> denoised = BM3D()(noisy, 0.1)
    >>> bool(np.std(denoised - clean) < 0.4 * np.std(noisy - clean))
    True
    """

    name: ClassVar[str] = "bm3d"

    profile: ProfileName = "normal"
    purpose: Purpose = "denoising"
    workers: int | None = None

    def __post_init__(self) -> None:
        check_choice(self.profile, "profile", get_args(ProfileName))
        check_choice(self.purpose, "purpose", get_args(Purpose))
        check_workers(self.workers)

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Remove white Gaussian noise.

        Parameters
        ----------
        image : ndarray of float32 or float64, shape (H, W) or (H, W, C)
            The noisy image, of any size.
        sigma : float
            Standard deviation of the noise, on the scale of the image.

        Returns
        -------
        ndarray
            The denoised image, with the shape and dtype of `image`.
        """
        image = float_image(image, "image")
        if image.ndim == 3 and image.shape[2] != 3:
            return per_channel(self)(image, sigma)
        return self._denoise(image, sigma, None)

    def session(self) -> Denoiser:
        """Return a BM3D that remembers groups between the calls of one restoration.

        From call to call within a restoration the image changes little, and so do the groups: the session searches
        anew only now and then (see `LIFETIME` and `NOISE_CHANGE`), and the search is more than half of the work.
        Sessions share nothing.

        Examples
        --------
        >>> import numpy as np
        >>> denoise = BM3D().session()
        >>> image = np.zeros((16, 16))
        >>> for sigma in (0.2, 0.1, 0.05):
        ...     image = denoise(image, sigma)
        >>> image.shape
        (16, 16)
        """
        memories: dict[int, Memory] = {}
        shape: tuple[int, ...] = ()

        def denoise(image: FloatArray, sigma: float, /) -> FloatArray:
            nonlocal shape
            image = float_image(image, "image")
            if image.shape != shape:
                memories.clear()
                shape = image.shape
            if image.ndim == 2 or image.shape[2] == 3:
                return self._denoise(image, sigma, memories.setdefault(0, Memory()))
            # Channels must not share a memory: the groups of one are not those of another.
            channels = [
                self._denoise(channel, sigma, memories.setdefault(index, Memory()))
                for index, channel in enumerate(np.moveaxis(image, -1, 0))
            ]
            return np.stack(channels, axis=-1)

        return denoise

    def _denoise(self, image: FloatArray, sigma: float, memory: Memory | None) -> FloatArray:
        """Denoise a gray or colour image, with the groups in `memory` if there are any that are still good."""
        sigma = check_number(sigma, "sigma", minimum=0)
        workers = check_workers(self.workers)
        if sigma == 0:
            return image.copy()
        groups = memory.groups_for(sigma) if memory else None
        profile = PROFILES[self.profile].serving(self.purpose)
        return denoise_image(image, sigma, profile, workers=workers, groups=groups)


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
