"""Statistical prediction, against its formula written patch by patch."""

import numpy as np
import pytest

from plugplay import psnr
from plugplay.models import SuperResolution
from plugplay_paper.baselines.back_projection import consistent_bicubic
from plugplay_paper.baselines.prediction import Level
from plugplay_paper.baselines.statistical import predicted, statistical_prediction, trained_levels


def orthonormal(rng, count, size):
    return np.linalg.qr(rng.standard_normal((size, count)))[0].T.astype(np.float32)


@pytest.fixture
def level():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((4, 6))
    return Level(
        low=orthonormal(rng, 6, 100),
        high=orthonormal(rng, 5, 36),
        threshold=rng.random(6).astype(np.float32),
        centres=(centres / np.linalg.norm(centres, axis=1, keepdims=True)).astype(np.float32),
        support=rng.standard_normal((4, 5, 7)).astype(np.float32),
        weights=rng.standard_normal((4, 5, 6)).astype(np.float32),
    )


def details_by_formula(level, patch):
    """Return the conditional mean: the sum over all patterns b_h of their probability times what they stand for."""
    code = level.low.astype(float) @ (patch - patch.mean())
    cluster = max(range(4), key=lambda k: abs(level.centres[k] @ code))
    signs = np.array(
        [1.0 if abs(weight) > limit else -1.0 for weight, limit in zip(code, level.threshold, strict=True)]
    )
    w, c = level.support[cluster].astype(float), level.weights[cluster].astype(float)
    chances = 1 / (1 + np.exp(-(w[:, :-1] @ signs + w[:, -1])))
    mean = np.zeros(36)
    for number in range(2**5):
        pattern = np.array([1 if number >> j & 1 else -1 for j in range(5)])
        probability = np.prod(np.where(pattern == 1, chances, 1 - chances))
        mean += probability * level.high.T.astype(float) @ ((1 + pattern) / 2 * (c @ code))
    return mean


def test_details_are_the_conditional_mean(level):
    rows = np.random.default_rng(1).standard_normal((30, 100)).astype(np.float32)
    expected = [details_by_formula(level, row.astype(float)) for row in rows]
    np.testing.assert_allclose(level.details(rows), expected, atol=1e-4)


def test_each_pixel_is_the_average_of_nine_predictions(level):
    image = np.random.default_rng(2).random((16, 12))
    found = predicted(image, level)
    total = np.zeros_like(image)
    for top in range(0, 16, 2):
        for left in range(0, 12, 2):
            # Five cells of 2 x 2 pixels a side are seen, the three in the middle are predicted.
            rows, columns = np.arange(top - 4, top + 6) % 16, np.arange(left - 4, left + 6) % 12
            details = details_by_formula(level, image[rows[:, None], columns].ravel()).reshape(6, 6)
            total[rows[2:8, None], columns[2:8]] += details / 9
    np.testing.assert_allclose(found, image + total, atol=1e-4)


@pytest.mark.parametrize(("factor", "gain"), [(2, 0.4), (4, 0.1)])
def test_it_beats_back_projection(camera, factor, gain):
    y = SuperResolution(factor).simulate(camera)  # not trained on
    result = statistical_prediction(y, factor)
    assert psnr(result, camera, border=4) > psnr(consistent_bicubic(y, factor), camera, border=4) + gain
    assert np.abs(SuperResolution(factor).forward(result) - y).max() < 0.01


def test_trained_dictionaries_are_orthonormal():
    for level in (*trained_levels(2), *trained_levels(4)):
        for atoms in (level.low, level.high):
            np.testing.assert_allclose(atoms @ atoms.T, np.eye(len(atoms)), atol=2e-3)  # half precision


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_shape_and_input_are_kept(dtype):
    y = np.random.default_rng(0).random((9, 7)).astype(dtype)
    before = y.copy()
    result = statistical_prediction(y, 2)
    assert result.dtype == dtype
    assert result.shape == (18, 14)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(result, statistical_prediction(y, 2))


def test_only_trained_factors_are_taken():
    with pytest.raises(ValueError, match="factors \\(2, 4\\); got 3"):
        statistical_prediction(np.zeros((8, 8)), 3)
