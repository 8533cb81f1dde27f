import numpy as np
import pytest

from plugplay import kernels


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.gaussian(9, sigma=1.6),
        kernels.gaussian((4, 7), sigma=2.0),
        kernels.box(9),
        kernels.disk(5),
        kernels.disk(0.4),
        kernels.motion(15, 30),
        kernels.motion(1),
        kernels.bicubic(2),
        kernels.bicubic(3),
    ],
)
def test_kernels_sum_to_one_and_are_symmetric(kernel):
    assert kernel.sum() == pytest.approx(1)
    np.testing.assert_allclose(kernel, kernel[::-1, ::-1], atol=1e-12)


def test_motion_has_its_length_and_direction():
    np.testing.assert_allclose(kernels.motion(5, 0), np.full((1, 5), 0.2))
    np.testing.assert_allclose(kernels.motion(5, 90), np.full((5, 1), 0.2))
    kernel = kernels.motion(21, 30)
    rows, columns = (np.arange(n) - n // 2 for n in kernel.shape)
    across, along = (kernel.sum(axis=1) * rows**2).sum(), (kernel.sum(axis=0) * columns**2).sum()
    assert along / across == pytest.approx(1 / np.tan(np.radians(30)) ** 2, rel=0.1)
    assert (kernel * rows[:, None] * columns[None, :]).sum() < 0  # up and to the right: rows fall as columns rise


def test_disk_has_its_area():
    kernel = kernels.disk(7.3)
    assert 1 / kernel.max() == pytest.approx(np.pi * 7.3**2, rel=0.01)


def test_bicubic_reproduces_the_definition():
    for factor in (2, 3, 4, 5):
        taps = kernels.bicubic(factor).sum(axis=0)
        t = np.arange(taps.size) - (taps.size - 1) / 2
        a = -0.5
        s = np.abs(t / factor)
        near = (a + 2) * s**3 - (a + 3) * s**2 + 1
        far = a * s**3 - 5 * a * s**2 + 8 * a * s - 4 * a
        np.testing.assert_allclose(taps, np.where(s <= 1, near, far) / factor, atol=1e-14)


def test_centroid_shift():
    assert kernels.centroid_shift(kernels.box((3, 4))) == pytest.approx((0, 0.5))
    assert kernels.centroid_shift(np.array([[1.0, -1.0]])) == (0.0, 0.0)


@pytest.mark.parametrize("ndim", [2, 3])
def test_measured_point_spread_functions_lose_their_background(ndim, tmp_path):
    spot = kernels.gaussian((15,) * ndim, sigma=1.5)
    rng = np.random.default_rng(0)
    np.save(tmp_path / "psf.npy", (1e5 * spot + 50 + rng.normal(size=spot.shape)).astype(np.float32))
    with pytest.warns(UserWarning, match="its background of (49|50)"):
        found = kernels.from_file(tmp_path / "psf.npy")
    inside = tuple(slice(7 - n // 2, 7 - n // 2 + n) for n in found.shape)
    np.testing.assert_allclose(found, spot[inside], atol=0.02 * spot.max())


@pytest.mark.parametrize("kernel", [kernels.box(9), kernels.gaussian(9, sigma=2.0), kernels.disk(4.0)])
def test_blurs_that_end_at_the_edge_have_no_background(kernel, tmp_path):
    np.save(tmp_path / "psf.npy", kernel)
    np.testing.assert_allclose(kernels.from_file(tmp_path / "psf.npy"), kernel, atol=1e-12)
