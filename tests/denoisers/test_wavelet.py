import numpy as np
import pytest

import plugplay as pp
from plugplay.denoisers.wavelet import Wavelet, shrink


def haar(cell):
    """One level: the mean and the three differences of every 2 x 2 cell, scaled by 1/4."""
    a, b, c, d = cell[::2, ::2], cell[::2, 1::2], cell[1::2, ::2], cell[1::2, 1::2]
    return (a + b + c + d) / 4, (a - b + c - d) / 4, (a + b - c - d) / 4, (a - b - c + d) / 4


def inverse_haar(mean, h, v, x):
    out = np.empty((2 * mean.shape[0], 2 * mean.shape[1]))
    out[::2, ::2], out[::2, 1::2] = mean + h + v + x, mean - h + v - x
    out[1::2, ::2], out[1::2, 1::2] = mean + h - v - x, mean - h - v + x
    return out


def soft(y, threshold):
    return np.sign(y) * np.maximum(np.abs(y) - threshold, 0)


def thresholded(image, thresholds):
    """Decimated Haar thresholding; the sides of `image` are multiples of 2 to the number of levels."""
    if not thresholds:
        return image
    mean, *details = haar(image)
    kept = [soft(y, t) for y, t in zip(details, thresholds[0], strict=True)]
    return inverse_haar(thresholded(mean, thresholds[1:]), *kept)


def thresholds_of(extended, sigma, levels, factor):
    """BayesShrink's thresholds from the coefficients of all shifts, level by level."""
    result, coarse = [], extended
    for level in range(levels):
        s = 2**level
        a, b, c, d = coarse[:-s, :-s], coarse[:-s, s:], coarse[s:, :-s], coarse[s:, s:]
        bands = (a - b + c - d) / 4, (a + b - c - d) / 4, (a - b - c + d) / 4
        noise = (sigma / 2 ** (level + 1)) ** 2
        signal = [max(np.mean(y**2) - noise, 0) for y in bands]
        result.append([factor * noise / np.sqrt(power) if power else np.inf for power in signal])
        coarse = (a + b + c + d) / 4
    return result


@pytest.mark.parametrize("shape", [(8, 11), (13, 6)])
@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("sigma", [0.05, 0.3])
def test_it_is_the_average_over_all_shifts(shape, levels, sigma):
    """Cut the mirrored image into cells in every possible way, threshold each, and average."""
    x = np.random.default_rng(0).random(shape)
    cell, reach = 2**levels, 2**levels - 1
    extended = np.pad(x, reach, mode="symmetric")
    limits = thresholds_of(extended, sigma, levels, 1.3)
    total = np.zeros(shape)
    for top in range(cell):
        for left in range(cell):
            rows, columns = (-(-(n + reach - s) // cell) * cell for n, s in zip(shape, (top, left), strict=True))
            cut = np.pad(extended, ((0, cell), (0, cell)))[top : top + rows, left : left + columns]
            smooth = thresholded(cut, limits)
            total += smooth[reach - top : reach - top + shape[0], reach - left : reach - left + shape[1]]
    fast = shrink(x[None], sigma, levels=levels, factor=1.3, workers=2)[0]
    np.testing.assert_allclose(fast, total / cell**2, atol=1e-12)


def test_nothing_is_lost_without_thresholds():
    x = np.random.default_rng(0).random((1, 37, 50))
    np.testing.assert_allclose(shrink(x, 1e-9, levels=4, factor=1.0, workers=1), x, atol=1e-14)


def test_channels_are_decorrelated(astronaut):
    """A gray image in three channels has all its noise but none of its structure in the differences."""
    x = np.repeat(astronaut.mean(axis=2, keepdims=True), 3, axis=2)
    y = x + 0.1 * np.random.default_rng(0).standard_normal(x.shape)
    together = Wavelet()(y, 0.1)
    apart = np.stack([Wavelet()(np.ascontiguousarray(y[..., c]), 0.1) for c in range(3)], axis=-1)
    assert pp.psnr(together, x) > pp.psnr(apart, x) + 2


@pytest.mark.parametrize("sigma", [1e-4, 1e-2, 0.3, 3.0])
def test_the_move_is_bounded_in_every_band(sigma):
    rng = np.random.default_rng(0)
    sparse = (rng.random((64, 64)) < 0.01).astype(float)
    for x in (sparse, rng.random((64, 64)), 0.5 + sigma * rng.standard_normal((64, 64))):
        assert np.sqrt(np.mean((Wavelet()(x, sigma) - x) ** 2)) <= 2 * sigma


def test_options():
    with pytest.raises(ValueError, match="levels must be an integer >= 1; got 0"):
        pp.denoisers.get("wavelet", levels=0)
