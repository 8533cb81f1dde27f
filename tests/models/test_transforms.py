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
    padded = np.pad(colours, [*((0, n - m) for n, m in zip(grid, shape, strict=True)), (0, 0)])
    expected = np.stack([scipy.fft.rfftn(padded[..., k].astype(dtype)) for k in range(3)])
    scale = np.abs(expected).max()
    close = {"atol": scale * (1e-6 if dtype == np.float32 else 1e-14)}
    planes = transforms.planes_of(colours, len(shape))
    with scipy.fft.set_workers(workers):
        for image in (planes, planes.astype(dtype)):
            for part in (slice(0, 3), slice(1, 2)):
                spectra = transforms.half_spectra(image[part], grid, dtype)
                assert spectra.dtype == expected.dtype
                np.testing.assert_allclose(spectra, expected[part], **close)
        for part in (slice(0, 3), slice(1, 2)):
            made = np.full((part.stop - part.start, *grid), np.nan, dtype)
            spectra = transforms.half_spectra(planes[part], grid, dtype)
            calls = transforms.hand_over(spectra.copy(), grid, lambda *strip, made=made: _put(made, *strip))
            whole = transforms.whole_planes(spectra, grid)
            assert calls == transforms.pieces_of(made.shape)
            for result in (made, whole):
                assert result.dtype == dtype
                close = {"atol": 1e-5 if dtype == np.float32 else 1e-13}
                np.testing.assert_allclose(result, np.moveaxis(padded, -1, 0)[part], **close)


def _put(made, first, stop, rows):
    made[:, first:stop] = rows
    return first, stop
