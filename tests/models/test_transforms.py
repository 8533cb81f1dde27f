"""FFTs of images in strips against those of whole images."""

import numpy as np
import pytest
import scipy.fft

from plugplay.models.operators import transforms

# An image, and the grid that it is continued to: strips inside, across and beyond its edge.
CASES = [
    ((5, 7), (5, 7)),
    ((5, 7), (8, 9)),
    ((300, 401), (301, 405)),
    ((90, 700), (400, 720)),
    ((150, 640), (150, 641)),
    ((3, 4, 5), (3, 4, 5)),
    ((3, 90, 200), (9, 96, 210)),
    ((2, 300, 301), (5, 300, 301)),
]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "grid"), CASES, ids=str)
def test_there_and_back(shape, grid, dtype, workers):
    colours = np.random.default_rng(0).normal(size=(*shape, 3))
    padded = np.pad(colours[..., 1], [(0, n - m) for n, m in zip(grid, shape, strict=True)])
    expected = scipy.fft.rfftn(padded.astype(dtype))
    scale = np.abs(expected).max()
    close = {"atol": scale * (1e-6 if dtype == np.float32 else 1e-14)}
    with scipy.fft.set_workers(workers):
        for image in (colours[..., 1], colours[..., 1].astype(dtype)):
            spectrum = transforms.half_spectrum(image, grid, dtype)
            assert spectrum.dtype == expected.dtype
            np.testing.assert_allclose(spectrum, expected, **close)
        made = np.full(grid, np.nan, dtype)
        calls = transforms.hand_over(spectrum.copy(), grid, lambda first, stop, rows: _put(made, first, stop, rows))
        whole = transforms.whole_image(spectrum, grid)
    assert calls == transforms.pieces_of(grid)
    for result in (made, whole):
        assert result.dtype == dtype
        np.testing.assert_allclose(result, padded, atol=1e-5 if dtype == np.float32 else 1e-13)


def _put(made, first, stop, rows):
    made[first:stop] = rows
    return first, stop
