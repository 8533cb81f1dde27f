r"""The model's step by conjugate gradients, on nothing but the gradient of the data term.

For :math:`f(x) = \tfrac12 \|G x - y\|^2` the step solves :math:`(G^T G + \rho I)\, x = G^T y + \rho v`. The gradient
:math:`\nabla f(x) = G^T (G x - y)` has both: :math:`G^T y = -\nabla f(0)` and
:math:`G^T G x = \nabla f(x) - \nabla f(0)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugplay.models import DataTerm
    from plugplay_paper.arrays import FloatArray

__all__ = ["NormalEquations"]


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The equations of the step of a least-squares data term.

    Attributes
    ----------
    term : DataTerm
        f.
    observed : array
        :math:`G^T y`.

    Examples
    --------
    >>> from plugplay import kernels, models
    >>> term = models.Deblurring(kernels.box(3)).data_term(np.eye(8))
    >>> x = NormalEquations.of(term).solve(np.zeros((8, 8)), 0.1, rtol=1e-10)
    >>> bool(np.abs(x - term.prox(np.zeros((8, 8)), 0.1)).max() < 1e-8)
    True
    """

    term: DataTerm
    observed: FloatArray

    @classmethod
    def of(cls, term: DataTerm) -> NormalEquations:
        """Set up the equations."""
        return cls(term, -term.gradient(np.zeros_like(term.start())))

    def solve(
        self,
        v: FloatArray,
        rho: float,
        *,
        rtol: float,
        start: FloatArray | None = None,
        max_iter: int | None = None,
        callback: Callable[[FloatArray], None] | None = None,
    ) -> FloatArray:
        """Return the solution for v and rho.

        Parameters
        ----------
        v, rho
            As in ``term.prox(v, rho)``.
        rtol : float
            Where to stop: the residual, relative to the right-hand side.
        start : array, optional
            The first guess; zeros by default.
        max_iter : int, optional
            Limit of the number of iterations.
        callback : callable, optional
            Gets x, flat, after every iteration.
        """

        def normal(x: FloatArray) -> FloatArray:
            image = x.reshape(v.shape)
            product: FloatArray = (self.term.gradient(image) + self.observed + rho * image).ravel()
            return product

        operator = LinearOperator((v.size, v.size), normal, dtype=v.dtype)
        right = (self.observed + rho * v).ravel()
        first = None if start is None else start.ravel()
        x, _ = cg(operator, right, x0=first, rtol=rtol, maxiter=max_iter, callback=callback)
        solution: FloatArray = x.reshape(v.shape).astype(v.dtype)
        return solution
