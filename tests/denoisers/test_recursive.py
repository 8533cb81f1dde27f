import math

import numpy as np
import pytest

from plugplay.denoisers.gaussian import Gaussian
from plugplay.denoisers.recursive import Recursive, recursive_filter


def along_rows(v, distance, feedback):
    """The recursion on every row, forth and back, as it is written in the paper."""
    v = v.copy()
    for row, d in zip(v, distance, strict=True):
        for n in range(1, len(row)):
            a = feedback ** d[n]
            row[n] = (1 - a) * row[n] + a * row[n - 1]
        for n in range(len(row) - 2, -1, -1):
            a = feedback ** d[n + 1]
            row[n] = (1 - a) * row[n] + a * row[n + 1]
    return v


def distances(guide, slope):
    d = np.ones(guide.shape[:2])
    d[:, 1:] += slope * np.abs(np.diff(guide, axis=1)).sum(axis=2)
    return d


def direct(x, guide, spatial, tonal, iterations):
    across = distances(guide, spatial / tonal)
    down = distances(guide.transpose(1, 0, 2), spatial / tonal)
    for k in range(1, iterations + 1):
        width = spatial * math.sqrt(3) * 2 ** (iterations - k) / math.sqrt(4**iterations - 1)
        feedback = math.exp(-math.sqrt(2) / width)
        x = along_rows(x, across, feedback)
        x = along_rows(x.transpose(1, 0, 2), down, feedback).transpose(1, 0, 2)
    return x


@pytest.mark.parametrize("shape", [(13, 9, 1), (10, 21, 3), (1, 5, 2), (5, 1, 1)])
@pytest.mark.parametrize("iterations", [1, 3])
def test_against_the_recursion_itself(shape, iterations):
    rng = np.random.default_rng(0)
    x, guide = rng.random(shape), rng.random(shape)
    fast = recursive_filter(
        np.ascontiguousarray(np.moveaxis(x, 2, 0)),
        np.ascontiguousarray(np.moveaxis(guide, 2, 0)),
        spatial=6.0,
        tonal=0.7,
        iterations=iterations,
        workers=2,
    )
    expected = direct(x, guide, 6.0, 0.7, iterations)
    np.testing.assert_allclose(np.moveaxis(fast, 0, 2), expected, atol=1e-5)


def test_the_guide_is_the_smoothed_image(astronaut):
    x = astronaut[:20, :16]
    guide = Gaussian()(x, 0.1)
    tonal = 0.1 * min(2.2, 0.85 / math.sqrt(0.74 + 0.12)) * 3**0.7
    np.testing.assert_allclose(Recursive()(x, 0.1), direct(x, guide, 10.0, tonal, 3), atol=1e-5)


def test_nothing_crosses_a_strong_edge():
    """Black and white halves stay apart, where a plain Gaussian of the same reach would mix them."""
    x = np.repeat([0.0, 1.0], 20)[None, :] * np.ones((20, 1))
    smooth = Recursive()(x, 0.02)
    assert np.abs(smooth - x).max() < 0.02
