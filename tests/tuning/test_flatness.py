"""A wall that was deblurred with a wrong kernel: stripes on its bricks, which were flat before."""

import numpy as np
import pytest
from scipy.ndimage import convolve

import plugplay as pp
from plugplay.tuning.flatness import structure_in_flat_places


@pytest.fixture(scope="module")
def wall():
    """Bright joints of three pixels between dark bricks of 32 x 61, whose rows are displaced."""
    rows, columns = np.mgrid[:144, :144]
    course = rows // 35
    joints = (rows % 35 < 3) | ((columns + 31 * (course % 2)) % 64 < 3)
    return np.where(joints, 0.7, 0.3)


def test_only_a_wrong_kernel_makes_structure_of_nothing(wall):
    right, wrong = pp.kernels.disk(4), pp.kernels.disk(4.4)
    y = convolve(wall, right, mode="reflect") + 0.008 * np.random.default_rng(0).normal(size=wall.shape)

    def inverse(kernel):  # Wiener's filter, which repeats no mistake of the loop
        term = pp.models.Deblurring(kernel, boundary="reflect").data_term(y)
        return term.crop(term.prox(np.full(term.shape, y.mean()), 3e-4))

    found = [structure_in_flat_places(y, image, 9, 0.012) for image in (wall, y, inverse(wrong))]
    assert found[0] < 1e-6
    assert found[1] < 0.012
    assert found[2] > 3 * 0.012


def test_a_wall_told_too_wide_a_kernel_does_not_end_in_stripes(wall):
    y = convolve(wall, pp.kernels.disk(4), mode="reflect") + 0.008 * np.random.default_rng(0).normal(size=wall.shape)
    result = pp.deblur(y, pp.kernels.disk(4.4))
    assert pp.psnr(result.image, wall) > pp.psnr(y, wall)
    assert structure_in_flat_places(y, result.image, 9, 0.012) < 0.012


def test_too_little_to_tell():
    rng = np.random.default_rng(0)
    assert structure_in_flat_places(rng.random((64, 64)), rng.random((64, 64)), 9, 0.01) == -np.inf
    assert structure_in_flat_places(np.zeros((9, 9)), np.zeros((9, 9)), 9, 0.01) == -np.inf
