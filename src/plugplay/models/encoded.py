"""A blur of light that is observed as encoded values, as in a photograph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugplay.arrays.checks import float_image
from plugplay.arrays.transfer import check_transfer, encode, linearise
from plugplay.models.deblurring import Deblurring
from plugplay.models.likelihoods.encoded import EncodedTerm

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from plugplay.arrays.checks import FloatArray
    from plugplay.models.operators.reshaping import Reshaping

__all__ = ["EncodedDeblurring"]


@dataclass(frozen=True, eq=False, init=False)
class EncodedDeblurring(Deblurring):
    r"""A photograph blurred in light: ``y = c(H g(x))`` with the transfer curve c, whose inverse is g.

    Both x and y are encoded values on [0, 1]. Near an image the model is close to H, so that its traits are those of
    `Deblurring`. `plugplay.models.likelihoods.encoded` has the data term.

    Parameters
    ----------
    kernel, boundary, mask, exact
        As `Deblurring` takes them.
    transfer : str
        The curve: ``"srgb"``, or ``"gamma:"`` and a number.

    Examples
    --------
    >>> import numpy as np, plugplay as pp
    >>> camera = EncodedDeblurring(pp.kernels.box(3), transfer="srgb")
    >>> point = np.zeros((8, 8))
    >>> point[4, 4] = 1
    >>> round(float(camera.forward(point).max()), 3)  # a ninth of the light
    0.367
    """

    transfer: str

    def __init__(
        self,
        kernel: ArrayLike,
        *,
        transfer: str,
        boundary: str = "circular",
        mask: ArrayLike | None = None,
        exact: bool = False,
    ) -> None:
        super().__init__(kernel, boundary=boundary, mask=mask, exact=exact)
        object.__setattr__(self, "transfer", check_transfer(transfer))

    @classmethod
    def of(cls, model: Deblurring, transfer: str) -> EncodedDeblurring:
        """Return the model of encoded values for a blur of light."""
        return cls(model.kernel, transfer=transfer, boundary=model.boundary, mask=model.mask, exact=model.exact)

    def forward(self, x: ArrayLike) -> FloatArray:
        """Return c(H g(x)); for an unknown boundary x is larger than the frame."""
        image = float_image(x, "x", spatial_ndim=self.spatial_ndim)
        return self._where_observed(encode(super().forward(linearise(image, self.transfer)), self.transfer))

    def data_term(self, y: ArrayLike) -> EncodedTerm:  # type: ignore[override]  # not a square
        """Return ``f(x) = ½ ||M (c(H g(x)) - y)||²``; values of y where the mask is False are ignored."""
        return EncodedTerm(self._masked_term(y), self.transfer)

    def coarsened(self, factor: int) -> EncodedDeblurring | None:
        """Return the model of the means of pixels, nearly exact where they differ little; None with a mask."""
        coarse = super().coarsened(factor)
        return None if coarse is None else self.of(coarse, self.transfer)

    def reshaped(self, reshaping: Reshaping) -> EncodedDeblurring | None:
        """Return the model with a kernel that is a little wider or turned; None if this one is exact."""
        other = super().reshaped(reshaping)
        return None if other is None else self.of(other, self.transfer)
