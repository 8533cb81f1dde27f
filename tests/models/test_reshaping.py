"""Kernels that are stretched and turned, against kernels that are drawn so, and against their spectra."""

import numpy as np
import pytest

import plugplay as pp
from plugplay.models.operators.reshaping import Reshaping


def spectrum(kernel):
    padded = np.zeros((64, 64))
    padded[: kernel.shape[0], : kernel.shape[1]] = kernel
    return np.fft.fft2(np.roll(padded, [-(n // 2) for n in kernel.shape], (0, 1)))


def difference(one, other):
    return np.sqrt(np.mean(np.abs(spectrum(one) - spectrum(other)) ** 2))


@pytest.mark.parametrize(
    ("given", "wanted", "reshaping"),
    [
        ("gaussian:2", "gaussian:1.8", Reshaping(0.9)),
        ("disk:4.4", "disk:4", Reshaping(1 / 1.1)),
        ("disk:3.6", "disk:4", Reshaping(1 / 0.9)),
        ("motion:16.5,30", "motion:15,30", Reshaping(1 / 1.1)),
        ("motion:15,30", "motion:15,24", Reshaping(1.0, 6.0)),
    ],
)
def test_it_comes_near_to_a_kernel_that_is_drawn_so(given, wanted, reshaping):
    given, wanted = pp.kernels.parse(given), pp.kernels.parse(wanted)
    changed = reshaping.of(given)
    assert difference(changed, wanted) < 0.5 * difference(given, wanted)
    assert changed.sum() == pytest.approx(1)
    assert changed.min() >= 0


def test_the_centre_of_a_lopsided_kernel_stays_where_it_is():
    """Weight at the place p comes to lie at t p, seen from the index n // 2, also of even lengths."""
    kernel = np.zeros((8, 9))
    kernel[4:7, 3:8] = np.hanning(5)[1:4, None] * np.hanning(7)[1:6]
    changed = Reshaping(1.1).of(kernel)
    given, found = (pp.kernels.centroid_shift(each) for each in (kernel, changed))
    assert found == pytest.approx([1.1 * n for n in given], abs=0.02)


def test_models_that_are_exact_keep_their_kernel():
    kernel = pp.kernels.disk(3)
    assert pp.models.Deblurring(kernel, exact=True).reshaped(Reshaping(1.1)) is None
    assert pp.models.Deblurring(np.ones((3, 3, 3)) / 27).reshaped(Reshaping(1.1)) is None
    other = pp.models.Deblurring(kernel, boundary="reflect").reshaped(Reshaping(1.1))
    assert other.exact
    assert other.boundary == "reflect"
    assert other.kernel.shape > kernel.shape
