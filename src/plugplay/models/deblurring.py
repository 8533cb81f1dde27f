"""Deblurring: y = h * x + noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from plugplay.kernels import check_kernel, coarsened_kernel
from plugplay.models.blur import BlurModel, check_boundary, check_optional_mask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from plugplay.arrays.checks import BoolArray
    from plugplay.models.encoded import EncodedDeblurring
    from plugplay.models.operators.reshaping import Reshaping

__all__ = ["Deblurring"]


@dataclass(frozen=True, eq=False, init=False)
class Deblurring(BlurModel):
    r"""A blurred image, with noise; G = H is the convolution with the kernel.

    On a circular domain the proximal step is

    .. math:: x = F^{-1}\left\{ \frac{\overline{\hat h}\, \hat y + \rho \hat v}{|\hat h|^2 + \rho} \right\},

    which is the closed form of super-resolution with K = 1: see `plugplay.models.operators.polyphase`.

    Parameters
    ----------
    kernel : 2-D or 3-D array
        The blur of an image or of a volume; its centre is at index ``n // 2`` of each axis. It is used as given,
        not normalised.
    boundary : {"circular", "reflect", "unknown"}
        What lies beyond the frame: the image again, its mirror image, or something unknown, which is then
        restored along with the image (the right choice for photographs).
    mask : array of bool, optional
        True where y was observed, False for dead or saturated pixels.
    exact : bool
        Whether `plugplay.restore` keeps the kernel of an image even if the data clearly fit one better that is up to a
        sixth wider or narrower, or turned by up to 12 degrees (`plugplay.tuning.evidence`); otherwise it uses that
        one, with a warning.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> camera = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=1.0))
    >>> y = camera.simulate(np.eye(8), noise=0.01, rng=0)
    >>> camera.data_term(y).prox(y, rho=0.1).shape
    (8, 8)
    """

    kernel: NDArray[np.float64]
    _: KW_ONLY
    boundary: str
    mask: BoolArray | None
    exact: bool
    factor: int = field(default=1, init=False, repr=False)
    offset: int = field(default=0, init=False, repr=False)

    def __init__(
        self, kernel: ArrayLike, *, boundary: str = "circular", mask: ArrayLike | None = None, exact: bool = False
    ) -> None:
        object.__setattr__(self, "kernel", check_kernel(kernel))
        object.__setattr__(self, "boundary", check_boundary(boundary))
        object.__setattr__(self, "mask", check_optional_mask(mask, spatial_ndim=self.kernel.ndim))
        object.__setattr__(self, "exact", bool(exact))

    def coarsened(self, factor: int) -> Deblurring | None:
        """Return the model of the means of ``factor`` x ``factor`` pixels, exact for images that are constant on them.

        The observation is then the means of the same pixels of y. None with a mask, for which there are no such means.
        """
        if self.mask is not None:
            return None
        return Deblurring(coarsened_kernel(self.kernel, factor), boundary=self.boundary, exact=self.exact)

    def reshaped(self, reshaping: Reshaping) -> Deblurring | None:
        """Return the model with a kernel that is a little wider or turned; None if this one is exact, or 3-D."""
        if self.exact or self.kernel.ndim != 2:
            return None
        return Deblurring(reshaping.of(self.kernel), boundary=self.boundary, mask=self.mask, exact=True)

    def encoded(self, transfer: str) -> EncodedDeblurring | None:
        """Return the model of values that were encoded with a transfer curve after light was blurred; None in 3-D."""
        from plugplay.models.encoded import EncodedDeblurring  # it is a Deblurring

        return EncodedDeblurring.of(self, transfer) if self.kernel.ndim == 2 else None

    def _position(self) -> tuple[float, ...]:
        return (0.0,) * self.spatial_ndim
