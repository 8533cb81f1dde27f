"""Failures that are known and not mended yet: the title that the fuzzer gives them, and the shortest call that fails.

An entry goes when the call is mended, and the call becomes a test of the function.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

KNOWN = {
    "AttributeError in kernels.py:parse": "pp.kernels.parse(3)",
    "OSError in kernels.py:parse": "pp.kernels.parse('ü' * 300)",
    "MemoryError in kernels.py:*": "pp.kernels.box(10**6); disk(1e4); motion(1e6); bicubic(10**6)",
    "OverflowError in kernels.py:*": "pp.kernels.disk(1e300)",
    "kernels.disk: non-finite result": "pp.kernels.disk(1e-160)",
    "kernels.gaussian: non-finite result": "pp.kernels.gaussian(2, sigma=1e-20)",
    "OverflowError in checks.py:check_number": "pp.Constant(10**400)",
    "OverflowError in schedules.py:_raised": "pp.Monotone(0.5, 1.2).next_rho(10**400, 0.1, 0.2)",
    "OverflowError in rules.py:choose": "pp.denoise(np.eye(9), noise=1e160)",
    "OverflowError in *photon.py:*": "pp.models.SinglePhoton(2, gain=1e160).data_term(bits).prox(x, 0.3)",
    "ZeroDivisionError in *photon.py:prox": "pp.single_photon(bits, gain=1e-320)",
    "MemoryError in *photon.py:forward": "pp.models.SinglePhoton(10**6).forward(np.eye(12))",
    "OverflowError in photon_law.py:most_likely_rate": "pp.single_photon(bits, threshold=10**400)",
    "AttributeError in metrics.py:psnr": "pp.psnr([[0.1, 0.2]], np.full((1, 2), np.nan))",
    "hangs in photon_law.py:*": "pp.models.SinglePhoton(2, threshold=2**64 - 1).data_term(bits).prox(x, 0.3)",
    "models.SinglePhoton: non-finite result": "pp.models.SinglePhoton(2).data_term(bits).prox(x, 1e-320)",
    "models.Denoising: non-finite result": "pp.models.Denoising().data_term(y).prox(y, np.uint64(2**64 - 1))",
    "models.Inpainting: non-finite result": "pp.models.Inpainting(mask).data_term(y).prox(y, np.uint64(2**64 - 1))",
    "models.Deblurring: non-finite result": "pp.models.Deblurring(np.array([[0, 2**64 - 1]])).data_term(y).value(y)",
    "models.SuperResolution: non-finite result": "pp.models.SuperResolution(2).data_term(1e300 * y).value(x)",
}


def is_known(title: str) -> bool:
    """Tell whether a failure is one of these."""
    return any(fnmatchcase(title, pattern) for pattern in KNOWN)
