"""The built-ins that work on volumes: against other algorithms, against SciPy, and what they have in common."""

import itertools

import numpy as np
import pytest
import scipy.ndimage

import plugplay as pp
from plugplay.denoisers._tv_volumes import minimise_volume
from plugplay.denoisers.gaussian import blur_width
from plugplay.denoisers.median import Median, window_and_limit
from plugplay.denoisers.tv import STRIDE, TotalVariation, _momenta, weight
from plugplay.denoisers.wavelet import Wavelet, shrink, threshold_factor

NAMES = ("tv", "gaussian", "median", "wavelet")
family = pytest.mark.parametrize("name", NAMES)


def volumetric(name, **options):
    return pp.denoisers.get(name, spatial_ndim=3, **options)


@pytest.fixture(scope="module")
def blobs():
    """A volume with edges, as blurred as a microscope leaves them, and smooth parts; 24 x 28 x 32, on [0, 1]."""
    noise = scipy.ndimage.gaussian_filter(np.random.default_rng(0).standard_normal((24, 28, 32)), 2.5)
    return scipy.ndimage.gaussian_filter(0.3 + 0.4 * (noise > 0) + noise / np.abs(noise).max() * 0.2, 0.7)


# Total variation: the primal-dual algorithm of Chambolle and Pock, in double precision, for any number of axes.


def gradient(v):
    steps = np.zeros((3, *v.shape))
    for axis in range(3):
        ahead = (slice(None),) * axis + (slice(None, -1),)
        steps[axis][ahead] = np.diff(v, axis=axis)
    return steps


def adjoint(p):
    out = np.zeros(p.shape[1:])
    for axis in range(3):
        here, following = ((slice(None),) * axis + (part,) for part in (slice(None, -1), slice(1, None)))
        out[here] -= p[axis][here]
        out[following] += p[axis][here]
    return out


def length(p):
    return np.sqrt(np.sum(p**2, axis=(0,) if p.ndim == 4 else (0, 4), keepdims=True))


def objective(v, x, strength):
    return 0.5 * np.sum((v - x) ** 2) + strength * np.sum(length(gradient(v)))


def reference(x, strength, iterations=3000):
    tau = step = 1 / np.sqrt(12)
    v, ahead, p = x.copy(), x.copy(), np.zeros((3, *x.shape))
    for _ in range(iterations):
        p += step * gradient(ahead)
        p /= np.maximum(1, length(p) / strength)
        old, v = v, (v - tau * adjoint(p) + tau * x) / (1 + tau)
        theta = 1 / np.sqrt(1 + 2 * tau)
        tau, step = theta * tau, step / theta
        ahead = v + theta * (v - old)
    return v


@pytest.mark.parametrize("shape", [(5, 6, 7), (4, 5, 6, 3), (1, 9, 8), (9, 1, 8), (8, 9, 1), (1, 1, 12)])
@pytest.mark.parametrize("sigma", [0.03, 0.2])
def test_tv_against_another_algorithm(shape, sigma):
    x = np.random.default_rng(0).random(shape)
    strength = weight(sigma, 1 if len(shape) == 3 else shape[3], 3)
    exact = reference(x, strength)
    for accuracy in (0.1, 0.01):
        smooth = TotalVariation(accuracy=accuracy, max_iterations=10000, spatial_ndim=3)(x, sigma)
        # The reference itself is within 1e-3 sigma of the minimiser.
        assert np.sqrt(np.mean((smooth - exact) ** 2)) <= (accuracy + 1e-3) * sigma
    best = TotalVariation(accuracy=1e-4, max_iterations=10000, spatial_ndim=3)(x, sigma)
    assert objective(best, x, strength) <= objective(exact, x, strength) * (1 + 1e-8)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_step_has_a_known_answer(axis):
    """Each side moves towards the other by the weight over its thickness, whatever the other sides."""
    sigma, thickness = 0.05, 6
    step = np.repeat([0.2, 0.8], thickness).reshape([2 * thickness if a == axis else 1 for a in range(3)])
    step = step + np.zeros([2 * thickness if a == axis else 4 for a in range(3)])
    smooth = TotalVariation(accuracy=1e-6, max_iterations=20000, spatial_ndim=3)(step, sigma)
    move = weight(sigma, 1, 3) / thickness
    np.testing.assert_allclose(smooth, np.where(step < 0.5, 0.2 + move, 0.8 - move), atol=1e-5)


@pytest.mark.parametrize("sigma", [1e-4, 0.1, 3.0])
@pytest.mark.parametrize("iterations", [1, 3, 400])
def test_tv_moves_no_voxel_further_than_the_bound(sigma, iterations):
    x = np.random.default_rng(0).random((9, 10, 11)).round()
    move = np.abs(TotalVariation(max_iterations=iterations, spatial_ndim=3)(x, sigma) - x)
    assert 0 < move.max() <= (3 + np.sqrt(3)) * weight(sigma, 1, 3) * (1 + 1e-12) <= 4 * sigma


def test_one_slice_is_an_image(blobs):
    """Across a single slice there is nothing to compare with."""
    image = blobs[5]
    one = minimise_volume(image[None, None], 0.05, 1e-5, momenta=_momenta(20000), stride=STRIDE, workers=1)[0, 0]
    np.testing.assert_allclose(
        one, TotalVariation(max_iterations=20000)._minimise(image[None], 0.05, 1e-5)[0], atol=1e-3
    )


# The Gaussian and the median: SciPy.


@pytest.mark.parametrize("shape", [(7, 9, 12), (3, 4, 5, 2), (2, 30, 1)])
@pytest.mark.parametrize("sigma", [1e-4, 0.02, 0.1, 0.5])
def test_gaussian_against_scipy(shape, sigma):
    x = np.random.default_rng(0).random(shape)
    widths = [0.8 * blur_width(sigma)] * 3 + [0] * (len(shape) - 3)
    expected = scipy.ndimage.gaussian_filter(x, widths, mode="reflect", truncate=4.0)
    np.testing.assert_allclose(volumetric("gaussian")(x, sigma), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(6, 7, 40), (3, 4, 5, 2), (2, 9, 1)])
@pytest.mark.parametrize(("sigma", "radius", "limit"), [(0.05, 1, 1.35), (0.1, 1, 1.7), (0.3, 2, 3.0), (2.0, 2, 3.0)])
@pytest.mark.parametrize("levels", [3, 10**6], ids=["ties", "no ties"])
def test_median_against_scipy(shape, sigma, radius, limit, levels):
    x = np.random.default_rng(0).integers(levels, size=shape) / levels
    size = [2 * radius + 1] * 3 + [1] * (len(shape) - 3)
    median = scipy.ndimage.median_filter(x, size, mode="reflect")
    expected = x + np.clip(median - x, -limit * sigma, limit * sigma)
    np.testing.assert_allclose(Median(spatial_ndim=3)(x, sigma), expected, atol=1e-15)


def test_a_cube_holds_as_many_values_as_the_square():
    for sigma in (0.01, 0.1, 0.3, 1.0):
        square, cube = (window_and_limit(sigma, ndim)[0] for ndim in (2, 3))
        assert (2 * cube + 1) ** 3 >= (2 * square + 1) ** 2 > (2 * cube - 1) ** 3


# Wavelets: cut the volume into cells in every possible way, threshold each, and average.


def haar(x):
    """One level: the sums and differences of every cell of 2 x 2 x 2, scaled by 1/8, in all combinations of axes."""
    bands = {(): x}
    for axis in range(3):
        split = {}
        for key, band in bands.items():
            first, second = np.moveaxis(band, axis, 0)[::2], np.moveaxis(band, axis, 0)[1::2]
            split[(*key, 0)] = np.moveaxis((first + second) / 2, 0, axis)
            split[(*key, 1)] = np.moveaxis((first - second) / 2, 0, axis)
        bands = split
    return bands


def inverse_haar(bands):
    for axis in (2, 1, 0):
        joined = {}
        for key in {key[:-1] for key in bands}:
            total, difference = (np.moveaxis(bands[(*key, k)], axis, 0) for k in (0, 1))
            both = np.stack([total + difference, total - difference], axis=1)
            joined[key] = np.moveaxis(both.reshape(-1, *total.shape[1:]), 0, axis)
        bands = joined
    return bands[()]


def soft(y, threshold):
    return np.sign(y) * np.maximum(np.abs(y) - threshold, 0)


def thresholded(x, thresholds):
    if not thresholds:
        return x
    bands = haar(x)
    kept = {key: soft(band, thresholds[0][key]) for key, band in bands.items() if any(key)}
    return inverse_haar({(0, 0, 0): thresholded(bands[0, 0, 0], thresholds[1:]), **kept})


def thresholds_of(extended, sigma, levels, factor):
    """BayesShrink's thresholds from the coefficients of all shifts, level by level."""
    result, coarse = [], extended
    for level in range(levels):
        s = 2**level
        bands = {(): coarse}
        for axis in range(3):
            split = {}
            for key, band in bands.items():
                first, second = np.moveaxis(band, axis, 0)[:-s], np.moveaxis(band, axis, 0)[s:]
                split[(*key, 0)] = np.moveaxis((first + second) / 2, 0, axis)
                split[(*key, 1)] = np.moveaxis((first - second) / 2, 0, axis)
            bands = split
        noise = sigma**2 / 8 ** (level + 1)
        power = {key: max(np.mean(band**2) - noise, 0) for key, band in bands.items()}
        result.append({key: factor * noise / np.sqrt(p) if p else np.inf for key, p in power.items()})
        coarse = bands[0, 0, 0]
    return result


@pytest.mark.parametrize("shape", [(4, 7, 6), (5, 3, 9)])
@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("sigma", [0.05, 0.3])
def test_wavelets_are_averaged_over_all_shifts(shape, levels, sigma):
    x = np.random.default_rng(0).random(shape)
    cell, reach = 2**levels, 2**levels - 1
    extended = np.pad(x, reach, mode="symmetric")
    limits = thresholds_of(extended, sigma, levels, 1.3)
    total = np.zeros(shape)
    for shift in itertools.product(range(cell), repeat=3):
        sides = [-(-(n + reach - s) // cell) * cell for n, s in zip(shape, shift, strict=True)]
        cut = np.pad(extended, (0, cell))[tuple(slice(s, s + side) for s, side in zip(shift, sides, strict=True))]
        inside = tuple(slice(reach - s, reach - s + n) for s, n in zip(shift, shape, strict=True))
        total += thresholded(cut, limits)[inside]
    fast = shrink(x[None], sigma, levels=levels, factor=1.3, workers=2)[0]
    np.testing.assert_allclose(fast, total / cell**3, atol=1e-12)


def test_the_oracle_inverts_itself():
    x = np.random.default_rng(0).random((4, 6, 8))
    np.testing.assert_allclose(inverse_haar(haar(x)), x, atol=1e-14)


def test_nothing_is_lost_without_thresholds():
    x = np.random.default_rng(0).random((1, 9, 12, 10))
    np.testing.assert_allclose(shrink(x, 1e-9, levels=4, factor=1.0, workers=1), x, atol=1e-14)


def test_wavelets_pass_the_rule_for_the_threshold_on(blobs):
    direct = shrink(blobs[None], 0.1, levels=3, factor=threshold_factor(0.1), workers=1)[0]
    np.testing.assert_array_equal(Wavelet(levels=3, spatial_ndim=3)(blobs, 0.1), direct)


# What they have in common.


@family
def test_they_denoise_better_than_slice_by_slice(name, blobs):
    sigma = 0.1
    noisy = blobs + sigma * np.random.default_rng(1).standard_normal(blobs.shape)
    whole = volumetric(name)(noisy, sigma)
    plane = pp.denoisers.get(name)
    slices = np.stack([plane(part, sigma) for part in noisy])
    assert pp.psnr(whole, blobs) > pp.psnr(noisy, blobs) + 6
    assert pp.psnr(whole, blobs) > pp.psnr(slices, blobs)


@family
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 17), (5, 6, 7), (4, 5, 6, 2), (2, 3, 4, 1)])
@pytest.mark.parametrize("sigma", [0.0, 1e-4, 0.1, 3.0])
def test_any_size_any_channels_any_sigma(name, shape, sigma):
    for dtype in (np.float32, np.float64):
        x = np.random.default_rng(0).random(shape).astype(dtype)
        given = x.copy()
        x.setflags(write=False)
        smooth = volumetric(name)(x, sigma)
        np.testing.assert_array_equal(x, given)
        assert smooth.shape == shape
        assert smooth.dtype == dtype
        assert smooth.flags.writeable
        assert np.isfinite(smooth).all()
        assert smooth.min() > -0.5
        assert smooth.max() < 1.5
        if sigma == 0:
            np.testing.assert_array_equal(smooth, x)


@family
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_all_axes_are_alike(name, order, blobs):
    denoise = volumetric(name)
    turned = denoise(blobs.transpose(order), 0.1)
    np.testing.assert_allclose(turned, denoise(blobs, 0.1).transpose(order), atol=1e-5)


@family
def test_the_number_of_threads_does_not_change_a_bit(name):
    for shape in ((6, 200, 9), (40, 30, 5, 2)):
        x = np.random.default_rng(0).random(shape)
        one = volumetric(name, workers=1)(x, 0.1)
        for workers in (2, 5):
            np.testing.assert_array_equal(volumetric(name, workers=workers)(x, 0.1), one)


@family
@pytest.mark.parametrize("sigma", [1e-4, 1e-2])
def test_the_identity_is_approached_in_proportion(name, sigma, blobs):
    for x in (blobs, np.random.default_rng(0).random((16, 16, 16)).round()):
        assert np.sqrt(np.mean((volumetric(name)(x, sigma) - x) ** 2)) <= 5 * sigma


@family
@pytest.mark.parametrize("sigma", [1e-3, 0.1, 3.0])
def test_brightness_does_not_matter(name, sigma, blobs):
    denoise = volumetric(name)
    np.testing.assert_allclose(denoise(np.full((5, 6, 7, 2), 0.3), sigma), 0.3, atol=1e-12)
    np.testing.assert_allclose(denoise(blobs + 0.25, sigma), denoise(blobs, sigma) + 0.25, atol=1e-10)
    np.testing.assert_allclose(denoise(1 - blobs, sigma), 1 - denoise(blobs, sigma), atol=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "median"])
def test_channels_are_independent(name, blobs):
    both = np.stack([blobs, 1 - blobs**2], axis=-1)
    smooth = volumetric(name)(both, 0.1)
    for c in range(2):
        np.testing.assert_array_equal(smooth[..., c], volumetric(name)(np.ascontiguousarray(both[..., c]), 0.1))


@family
@pytest.mark.parametrize(
    ("volume", "message"),
    [
        (np.full((4, 4, 4), np.nan), "NaN or infinite"),
        (np.zeros((4, 4, 4), np.uint8), "floats on the scale"),
        (np.zeros((4, 4)), r"must have the shape \(D, H, W\) or \(D, H, W, C\); got the shape \(4, 4\)"),
        (np.zeros((4, 4, 0)), "image is empty"),
    ],
)
def test_bad_volumes(name, volume, message):
    with pytest.raises((ValueError, TypeError), match=message):
        volumetric(name)(volume, 0.1)


@family
def test_bad_numbers_of_axes(name):
    with pytest.raises(ValueError, match=r"spatial_ndim must be 2 \(images\) or 3 \(volumes\); got 4"):
        pp.denoisers.get(name, spatial_ndim=4)
    with pytest.raises(ValueError, match="spatial_ndim must be an integer >= 2; got 1"):
        pp.denoisers.get(name, spatial_ndim=1)
