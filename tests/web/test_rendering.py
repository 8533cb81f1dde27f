import numpy as np
import pytest

from plugplay.io import ImageFile
from plugplay.web.rendering import display_range, kernel_image, screen_image


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32])
def test_black_and_white_are_where_they_should_be(dtype):
    pixels = np.array([[10, 114, 210, 5, 250]]).astype(dtype)
    assert screen_image(pixels, (10.0, 210.0)).tolist() == [[0, 133, 255, 0, 255]]


def test_missing_pixels_are_black_and_large_images_are_made_smaller():
    image = np.ones((40, 60))
    image[0, 0] = np.nan
    assert screen_image(image, (0.0, 1.0))[0, 0] == 0
    small = screen_image(np.random.default_rng(0).random((40, 60, 3)), (0.0, 1.0), max_side=20)
    assert small.shape == (13, 20, 3)
    assert abs(small.mean() - 127) < 10
    assert screen_image(np.zeros((5, 5, 7)), (0.0, 1.0)).shape == (5, 5)


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        (np.linspace(0, 1, 100).reshape(10, 10), (0, 1)),
        (np.linspace(1000, 3000, 100).reshape(10, 10), (1002, 2998)),
        (np.full((4, 4), 7.0), (6.5, 7.5)),
        (np.full((4, 4), np.nan), (0, 1)),
        (np.linspace(0, 30, 100).astype(np.uint8).reshape(10, 10), (0, 255)),
    ],
)
def test_range_on_the_screen(pixels, expected):
    nominal = (0.0, 255.0) if pixels.dtype == np.uint8 else (0.0, 1.0)
    assert display_range(ImageFile.of(pixels, data_range=nominal)) == pytest.approx(expected, abs=1)


def test_kernel_is_centred_and_enlarged():
    shown = kernel_image(np.ones((3, 3)) / 9, side=50)
    rows, columns = np.nonzero(shown)
    assert rows.min() + rows.max() in (48, 49, 50)
    assert columns.min() + columns.max() in (48, 49, 50)
    assert rows.max() - rows.min() == 29
    assert kernel_image(np.ones((200, 300)), side=50).shape == (50, 50)
