"""Denoising: y = x + noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from plugplay.arrays.checks import FloatArray, check_spatial_ndim, float_image, frozen
from plugplay.models.base import LinearGaussianModel, observation
from plugplay.models.likelihoods.gaussian import PointwiseTerm
from plugplay.traits import Traits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Denoising"]


@dataclass(frozen=True)
class Denoising(LinearGaussianModel):
    """The image itself, with noise.

    Parameters
    ----------
    spatial_ndim : {2, 3}
        Whether it is an image or a volume.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> camera = pp.models.Denoising()
    >>> y = camera.simulate(np.full((4, 4), 0.5), noise=0.1, rng=0)
    >>> camera.data_term(y).start().shape
    (4, 4)
    """

    _: KW_ONLY
    spatial_ndim: int = 2

    def __post_init__(self) -> None:
        check_spatial_ndim(self.spatial_ndim)

    def traits(self, y: FloatArray) -> Traits:  # noqa: ARG002
        """Return what this model says about itself."""
        return Traits(
            spatial_ndim=self.spatial_ndim, norm=1.0, constant_gain=1.0, pointwise=True, leaves="white", alike=True
        )

    def forward(self, x: ArrayLike) -> FloatArray:
        """Return x."""
        return float_image(x, "x", spatial_ndim=self.spatial_ndim).copy()

    def adjoint(self, y: ArrayLike) -> FloatArray:
        """Return y."""
        return float_image(y, "y", spatial_ndim=self.spatial_ndim).copy()

    def data_term(self, y: ArrayLike) -> PointwiseTerm:
        """Return ``f(x) = ½ ||x - y||²``."""
        return PointwiseTerm(frozen(observation(y, spatial_ndim=self.spatial_ndim)))
