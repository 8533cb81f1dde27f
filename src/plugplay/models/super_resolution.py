"""Super-resolution: y = every K-th pixel of h * x, with noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from plugplay.arrays.checks import check_integer
from plugplay.kernels import bicubic, check_kernel
from plugplay.models.blur import BlurModel, check_boundary, check_optional_mask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from plugplay.arrays.checks import BoolArray

__all__ = ["SuperResolution"]


@dataclass(frozen=True, eq=False, init=False)
class SuperResolution(BlurModel):
    r"""A low-resolution image, with noise; G = S H blurs with the kernel and keeps every K-th pixel.

    On a circular domain the proximal step has a closed form, because :math:`G G^T` is a convolution: see
    `plugplay.models.operators.polyphase`.

    Parameters
    ----------
    factor : int
        K, the ratio of the resolutions.
    kernel : 2-D or 3-D array, or "bicubic"
        The anti-aliasing filter; its centre is at index ``n // 2`` of each axis. ``"bicubic"`` is what image
        libraries do when they shrink an image.
    offset : int, optional
        Samples are taken at ``K i + offset``. The default is 0, and for ``"bicubic"`` the middle of each cell.
    boundary : {"circular", "reflect", "unknown"}
        What lies beyond the frame: the image again, its mirror image, or something unknown, which is then
        restored along with the image.
    mask : array of bool, optional
        True where y was observed, False for dead or saturated pixels.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> camera = pp.models.SuperResolution(2, "bicubic")
    >>> y = camera.simulate(np.eye(8))
    >>> y.shape, camera.data_term(y).start().shape
    ((4, 4), (8, 8))
    """

    factor: int
    kernel: NDArray[np.float64]
    _: KW_ONLY
    offset: int
    boundary: str
    mask: BoolArray | None

    def __init__(
        self,
        factor: int,
        kernel: ArrayLike | Literal["bicubic"] = "bicubic",
        *,
        offset: int | None = None,
        boundary: str = "circular",
        mask: ArrayLike | None = None,
    ) -> None:
        factor = check_integer(factor, "factor", minimum=1)
        if isinstance(kernel, str):
            if kernel != "bicubic":
                raise ValueError(f"kernel must be a 2-D array or 'bicubic'; got {kernel!r}")
            kernel = bicubic(factor)
            # Sample i of a bicubic decimation is centred at K i + (K-1)/2; for even K the kernel, whose length is
            # even, adds the missing half pixel.
            offset = (factor - 1) // 2 if offset is None else offset
        offset = check_integer(0 if offset is None else offset, "offset", minimum=0)
        if offset >= factor:
            raise ValueError(f"offset must be below the factor, {factor}; got {offset}")
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "kernel", check_kernel(kernel))
        object.__setattr__(self, "offset", offset)
        object.__setattr__(self, "boundary", check_boundary(boundary))
        object.__setattr__(self, "mask", check_optional_mask(mask, spatial_ndim=self.kernel.ndim))

    def _check_fits(self, shape: tuple[int, ...]) -> None:
        taps = self.kernel.shape
        if np.array_equal(self.kernel, bicubic(self.factor)) and any(n < taps[0] for n in shape):
            least = -(-taps[0] // self.factor)  # of the small image; nobody has to know of a kernel that was not given
            sizes = " x ".join(str(n // self.factor) for n in shape)
            raise ValueError(
                f"an image of {sizes} pixels is too small to be enlarged by {self.factor}: along each axis at least "
                f"{least} are needed"
            )
        super()._check_fits(shape)
