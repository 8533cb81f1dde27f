"""The photon step for one pixel, by bisection on the slope, in 60 digits."""

import mpmath


def slope(x, *, ones, zeros, rho, v, a, d, q):
    """Return the derivative of the objective with respect to x."""
    s = a * x + d
    density = s ** (q - 1) * mpmath.exp(-s) / mpmath.factorial(q - 1)
    none = mpmath.exp(-s) * mpmath.fsum(s**k / mpmath.factorial(k) for k in range(q))
    fires = density / mpmath.gammainc(q, 0, s, regularized=True) if ones else 0
    return a * (zeros * density / none - ones * fires) + rho * (x - v)


def prox(*, ones, zeros, rho, v, a, d, q):
    """Return the minimiser over x >= 0."""
    with mpmath.workdps(60):
        terms = {
            "ones": mpmath.mpf(ones), "zeros": mpmath.mpf(zeros), "rho": mpmath.mpf(rho), "v": mpmath.mpf(v),
            "a": mpmath.mpf(a), "d": mpmath.mpf(d), "q": q,
        }  # fmt: skip
        low = mpmath.mpf(10) ** -40
        if slope(low, **terms) >= 0:
            return 0.0
        high = mpmath.mpf(1)
        while slope(high, **terms) < 0:
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle, **terms) < 0 else (low, middle)
        return float(low)
