"""Deblurring photographs whose blur acted on light: dark ones, lamps, wrong kernels, through the public interface."""

import numpy as np
import pytest
import skimage.data

import plugplay as pp
from plugplay.arrays.transfer import encode, linearise

KERNEL = pp.kernels.parse("motion:9,120")


def shot(darker=1, gain=2e-4, lamps=(), name="coffee"):
    """Return the true values and an 8-bit photograph, blurred in light, with the noise of photons."""
    crop = getattr(skimage.data, name)()[110:262, 230:382] / 255
    light = linearise(crop, "srgb") / darker
    for row, column in lamps:
        light[row : row + 4, column : column + 4] = 20
    rng = np.random.default_rng(0)
    valid = pp.models.Deblurring(KERNEL, boundary="unknown")
    blurred = valid.forward(light)
    margins = [(a - b) for a, b in zip(light.shape, blurred.shape, strict=True)]
    top, left = KERNEL.shape[0] // 2, KERNEL.shape[1] // 2
    inner = (slice(top, top + light.shape[0] - margins[0]), slice(left, left + light.shape[1] - margins[1]))
    noisy = blurred + np.sqrt(np.maximum(blurred, 0) * gain + gain / 200) * rng.standard_normal(blurred.shape)
    return (
        np.clip(encode(light, "srgb"), 0, 1)[inner],
        np.round(255 * encode(np.clip(noisy, 0, 1), "srgb")).astype(np.uint8),
    )


def psnr(image, truth):
    return -10 * np.log10(np.mean((np.clip(image, 0, 1) - truth) ** 2))


def restored(photograph, kernel=KERNEL, **options):
    return pp.deblur(photograph, kernel, channel_axis=-1, transfer="srgb", **options)


@pytest.mark.parametrize("darker", [1, 12])
def test_noise_is_removed_alike_in_dark_and_in_bright_places(darker):
    truth, photograph = shot(darker)
    result = restored(photograph)
    assert result.parameters.transfer == "srgb"
    alone = pp.denoise(photograph, channel_axis=-1).image
    assert psnr(result.image, truth) > psnr(alone, truth) + 4
    # Without knowing the curve, rings remain around what is bright.
    assert psnr(result.image, truth) > psnr(pp.deblur(photograph, KERNEL, channel_axis=-1).image, truth) + 2


def test_a_given_noise_level_is_that_of_the_values():
    truth, photograph = shot(4)
    result = restored(photograph, noise=0.012, exact_noise=True)
    assert result.parameters.noise == pytest.approx(0.012)
    assert psnr(result.image, truth) > psnr(photograph / 255, truth) + 5


def test_lamps_spoil_nothing():
    truth, photograph = shot(4, lamps=[(40, 40), (90, 110), (120, 30)])
    assert (photograph == 255).any()
    result = restored(photograph)
    assert result.status is not pp.Status.DOUBTFUL
    assert result.image.max() <= 1
    assert result.parameters.noise < 0.03
    assert psnr(result.image, truth) > psnr(photograph / 255, truth) + 6


@pytest.mark.parametrize("wrong", ["motion:10,120", "motion:9,125"])
def test_a_kernel_that_is_a_little_wrong_does_no_harm(wrong):
    truth, photograph = shot(4)
    result = restored(photograph, pp.kernels.parse(wrong))
    assert psnr(result.image, truth) > psnr(photograph / 255, truth) + 2


def test_gray_and_wide_integers_are_alike():
    truth, photograph = shot(4)
    gray, wide = photograph[..., 1], photograph[..., 1].astype(np.uint16) * 257
    first = pp.deblur(gray, KERNEL, transfer="srgb").image
    second = pp.deblur(wide, KERNEL, transfer="srgb").image
    assert psnr(first, truth[..., 1]) > psnr(gray / 255, truth[..., 1]) + 4
    assert np.abs(first - second).max() < 0.02


def test_threads_change_no_bit():
    _, photograph = shot(4, lamps=[(40, 40)])
    one, two = (restored(photograph, workers=workers).image for workers in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_references_and_starts_are_values():
    truth, photograph = shot(4)
    result = restored(photograph, reference=truth, start=photograph / 255)
    assert result.history.psnr[-1] == pytest.approx(psnr(result.image, truth), abs=0.1)


def test_a_blur_of_the_stored_values_is_noticed():
    """An image editor blurs values, not light."""
    page = np.full((150, 150), 0.95)
    page[20:130:11, 20:130] = page[23:133:11, 15:120] = 0.05
    page[20:130, 70:74] = 0.2
    taps = pp.kernels.parse("gaussian:1.5")
    found = []
    for blurred in (page, linearise(page, "srgb")):
        seen = pp.models.Deblurring(taps, boundary="unknown").forward(blurred)
        seen = seen if blurred is page else encode(seen, "srgb")
        y = np.round(255 * np.clip(seen + np.random.default_rng(0).normal(0, 0.002, seen.shape), 0, 1))
        result = pp.deblur(y.astype(np.uint8), taps, transfer="srgb")
        found.append(any("--linear off" in text for text in result.warnings))
        assert (result.status is pp.Status.DOUBTFUL) >= found[-1]
    assert found == [True, False]
