r"""The inequalities behind Theorem 1, with their constants, for a run with recorded figures.

Norms are RMS, :math:`|a| = \|a\| / \sqrt n`. Step k makes :math:`x_{k+1}, v_{k+1}, u_{k+1}` with :math:`\rho_k` and
:math:`\sigma_k = \sqrt{\lambda/\rho_k}`. With :math:`w_k = x_{k+1} + u_k`, clipped to :math:`c_k`, the step is
:math:`v_{k+1} = D(c_k)` and :math:`u_{k+1} = w_k - v_{k+1}`. Two constants are enough:

* L, with :math:`|x_{k+1} - (v_k - u_k)| = |w_k - v_k| \le L / \rho_k`. By the optimality of the model's step the
  left side is :math:`|\nabla f(x_{k+1})| / \rho_k` where no constraint is active, so L bounds the gradient over
  the iterates.
* C, with :math:`|D(c_k) - c_k| \le \sqrt C \sigma_k`: Definition 1.

**The clip.** :math:`c_k` is the point of the box nearest to :math:`w_k`, and :math:`c_{k-1}` lies in the box, hence
:math:`|w_k - c_k| \le |w_k - c_{k-1}| \le |w_k - v_k| + |v_k - c_{k-1}| \le L/\rho_k + \sqrt C \sigma_{k-1}`.

**u.** :math:`|u_{k+1}| \le |w_k - c_k| + |c_k - D(c_k)| \le U_k = L/\rho_k + \sqrt{\lambda C}\,(\rho_k^{-1/2} +
\rho_{k-1}^{-1/2})` for k >= 1. (Without the clip :math:`\sqrt{\lambda C / \rho_k}` is enough, which is smaller.)

**The changes.** :math:`|v_{k+1} - v_k| \le |v_{k+1} - w_k| + |w_k - v_k| \le U_k + L/\rho_k`;
:math:`|u_{k+1} - u_k| \le U_k + U_{k-1}`; and from :math:`x_{k+1} = u_{k+1} - u_k + v_{k+1}`,
:math:`|x_{k+1} - x_k| \le |u_{k+1} - u_k| + |u_k - u_{k-1}| + |v_{k+1} - v_k|`. Their sum is

.. math:: \Delta_{k+1} \le 4 U_k + 3 U_{k-1} + U_{k-2} + 2 L / \rho_k, \qquad k \ge 3.

**One constant.** Let q be the largest ratio :math:`\rho_k / \rho_{k-1}` (at least 1), :math:`r = \sqrt q`,
:math:`a = L / \sqrt{\min \rho}` and :math:`s = \sqrt{\lambda C}`. Then :math:`\sqrt{\rho_k}\, U_{k-j} \le r^j (a + s
(1 + r))`, and

.. math:: \Delta_{k+1} \le C' / \sqrt{\rho_k}, \qquad C' = (4 + 3 r + r^2)(a + s (1 + r)) + 2 a.

**What follows.** For the monotone rule :math:`\rho_k = \rho_0 \gamma^k`, so the bound falls by
:math:`1/\sqrt\gamma` a step: geometric in k. For the adaptive rule the steps between two raises shrink by eta each, so
a stretch with the same rho adds at most :math:`C' \rho^{-1/2} (1 + 1/(1 - \eta))` to the sum of all changes, and rho
grows by gamma from stretch to stretch: the sum is finite and the iterates converge, but at no rate in k. If rho stays,
the bound stays, and nothing follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plugplay.pnp.state import History

__all__ = ["Bounds", "exponent", "measured_constants"]

# The first steps look back to steps that do not exist.
FIRST_DUAL, FIRST_DELTA = 1, 3


@dataclass(frozen=True)
class Bounds:
    """The right-hand sides for a run.

    Attributes
    ----------
    lam, constant, slope : float
        lambda, C and L.
    rho : array
        The recorded penalties.
    """

    lam: float
    constant: float
    slope: float
    rho: NDArray[np.float64]

    @property
    def denoiser_move(self) -> NDArray[np.float64]:
        """``sqrt(C) sigma`` for every step."""
        move: NDArray[np.float64] = math.sqrt(self.lam * self.constant) / np.sqrt(self.rho)
        return move

    @property
    def dual(self) -> NDArray[np.float64]:
        """U for the steps from `FIRST_DUAL` on."""
        noise = self.denoiser_move
        return self.slope / self.rho[1:] + noise[1:] + noise[:-1]

    @property
    def delta(self) -> NDArray[np.float64]:
        """The bound of delta for the steps from `FIRST_DELTA` on."""
        u = self.dual
        return 4 * u[2:] + 3 * u[1:-1] + u[:-2] + 2 * self.slope / self.rho[FIRST_DELTA:]

    @property
    def growth(self) -> float:
        """q, the largest ratio of two successive rho, at least 1."""
        return float(max(1.0, (self.rho[1:] / self.rho[:-1]).max(initial=1.0)))

    @property
    def c_prime(self) -> float:
        """C' in ``delta <= C' / sqrt(rho)``.

        Examples
        --------
        >>> Bounds(lam=1.0, constant=0.0, slope=2.0, rho=np.array([4.0, 4.0])).c_prime
        10.0
        """
        r = math.sqrt(self.growth)
        a = self.slope / math.sqrt(self.rho.min())
        s = math.sqrt(self.lam * self.constant)
        return (4 + 3 * r + r**2) * (a + s * (1 + r)) + 2 * a


def measured_constants(history: History, rounding: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each step says about C and about L; NaN where the step moved no more than rounding does."""
    c = np.where(history.denoiser_move > rounding, (history.denoiser_move / history.sigma) ** 2, np.nan)
    slope = np.where(history.model_move > rounding, history.model_move * history.rho, np.nan)
    return c, slope


def exponent(rho: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Fit p in ``values ~ rho^p`` to the upper half of the range of log rho; NaN if rho grew less than fourfold there.

    Examples
    --------
    >>> rho = 2.0 ** np.arange(12)
    >>> round(exponent(rho, 3 * rho**0.5), 3)
    0.5
    """
    known = np.isfinite(values) & (values > 0)
    x, y = np.log(rho[known]), np.log(values[known])
    if x.size == 0:
        return math.nan
    upper = x >= (x.min() + x.max()) / 2
    if np.count_nonzero(upper) < 3 or np.ptp(x[upper]) < math.log(4):
        return math.nan
    return float(np.polyfit(x[upper], y[upper], 1)[0])
