import numpy as np
import pytest
from skimage import data

from plugplay import psnr
from plugplay.models import SuperResolution
from plugplay_paper.baselines.back_projection import bicubic
from plugplay_paper.baselines.gaussian_process import (
    _LENGTHS,
    _NOISES,
    _intervals,
    best_share,
    gaussian_process_regression,
    predicted,
)
from plugplay_paper.baselines.regression import Process, likeliest_parameters


@pytest.fixture(scope="module")
def coins():
    return data.coins()[20:100, 60:140] / 255


def test_edges_become_better_than_bicubic(coins):
    y = SuperResolution(2).simulate(coins)
    better = psnr(gaussian_process_regression(y, 2), coins, border=4)
    assert better > psnr(bicubic(y, 2), coins, border=4) + 0.3


def test_stripes_do_not_come_out_worse_than_interpolated():
    """What is learned from stripes near the limit of resolution is wrong for the large image, and must be noticed."""
    rows, columns = np.mgrid[:80, :80]
    stripes = 0.5 + 0.4 * np.sin(2 * np.pi * (rows + 2 * columns) / 10)
    y = SuperResolution(2).simulate(stripes)
    better = psnr(gaussian_process_regression(y, 2), stripes, border=4)
    assert better > psnr(bicubic(y, 2), stripes, border=4)


def test_the_share_is_the_best_one():
    rng = np.random.default_rng(0)
    plain, changed, truth = rng.random((3, 20, 20))  # a single window
    truth += 0.5 * (changed - plain)
    share = best_share(plain, changed, truth)[10, 10]
    assert 0 < share < 1
    tried = [np.square(plain + s * (changed - plain) - truth).sum() for s in (share - 1e-3, share, share + 1e-3)]
    assert tried[1] < min(tried[0], tried[2])


def test_one_patch_is_the_textbooks_regression():
    """An image of a single patch, one of whose pixels is predicted by hand."""
    rng = np.random.default_rng(0)
    target, large = rng.random((12, 12)), rng.random((24, 24))
    result = predicted(large, 2, seen=target, target=target, with_centre=False)

    def around(image, i, j):
        h, w = image.shape
        ring = [image[(i + a) % h, (j + b) % w] for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
        return np.mean(ring), np.array(ring) - np.mean(ring)

    pairs = [around(target, i, j) for i in range(12) for j in range(12)]
    inputs = np.array([ring for _, ring in pairs])
    targets = target.ravel() - np.array([mean for mean, _ in pairs])
    scale = inputs.std()
    length, noise = likeliest_parameters(inputs[::4] / scale, targets[::4] / scale, lengths=_LENGTHS, noises=_NOISES)
    process = Process.fit(inputs / scale, targets / scale, length=length, noise=noise)
    for i, j in ((0, 0), (5, 17), (23, 8)):
        mean, ring = around(large, i, j)
        assert result[i, j] == pytest.approx(mean + scale * process.mean(ring[None] / scale)[0], abs=1e-4)


@pytest.mark.parametrize("side", [4, 19, 20, 21, 30, 47, 128])
def test_the_middles_of_patches_cover_every_pixel(side):
    covered = np.zeros(side, int)
    for patch, middle in _intervals(side):
        assert patch.start <= middle.start < middle.stop <= patch.stop
        covered[middle] += 1
    assert covered.min() >= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_image_stays_constant(dtype):
    result = gaussian_process_regression(np.full((10, 12), 0.4, dtype), 2)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, 0.4, rtol=1e-5)


@pytest.mark.parametrize(("shape", "factor"), [((4, 7), 2), ((9, 5), 3), ((6, 8), 4), ((5, 5), 6)])
def test_small_and_odd_shapes(shape, factor):
    y = np.random.default_rng(0).random(shape)
    result = gaussian_process_regression(y, factor)
    assert result.shape == (factor * shape[0], factor * shape[1])
    assert np.isfinite(result).all()


def test_a_turned_image_gives_the_turned_result(coins):
    y = SuperResolution(2).simulate(coins[:40, :40])  # a single patch: the order of patches does not matter
    turned = gaussian_process_regression(np.rot90(y, 2), 2)
    assert psnr(turned, np.rot90(gaussian_process_regression(y, 2), 2)) > 35  # other pixels enter the likelihood


def test_the_same_bits_every_time_and_the_input_untouched(coins):
    y = SuperResolution(2).simulate(coins[:64, :64])
    before = y.copy()
    np.testing.assert_array_equal(gaussian_process_regression(y, 2), gaussian_process_regression(y, 2))
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize(
    ("y", "factor", "message"),
    [
        (np.zeros((8, 8, 3)), 2, "gray"),
        (np.zeros((3, 8)), 2, "4 x 4"),
        (np.zeros((8, 8)), 1, "factor must be an integer >= 2"),
        (np.full((8, 8), np.nan), 2, "NaN"),
    ],
)
def test_bad_input_is_named(y, factor, message):
    with pytest.raises(ValueError, match=message):
        gaussian_process_regression(y, factor)
