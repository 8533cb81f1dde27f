"""What the training of the fourth stage's filters finds where the answer is known."""

import numpy as np

from plugplay.denoisers.bm3d.local import correct_rows, mirrored
from training.filters import Normal, fitted


def test_finds_what_the_estimate_lacks():
    rng, normal = np.random.default_rng(0), Normal()
    images = []
    for _ in range(6):
        estimate = np.cumsum(rng.standard_normal((160, 160)), axis=1).astype(np.float32)
        estimate = 0.02 * (estimate + estimate.T)
        noisy = estimate + 0.1 * rng.standard_normal(estimate.shape).astype(np.float32)
        # A third of what was removed, and some of the difference to the four neighbours.
        bent = sum(np.roll(estimate, move, axis) - estimate for move in (1, -1) for axis in (0, 1))
        clean = estimate + (noisy - estimate) / 3 + bent / 8
        normal.add(clean, noisy, estimate, 0.1, rng)
        images.append((clean, noisy, estimate))
    filters = mirrored(normal.solved().astype(np.float32))
    for clean, noisy, estimate in images:
        corrected = correct_rows(noisy, estimate, 0.1, slice(0, 160), filters)
        inside = np.s_[8:-8, 8:-8]
        left = np.square(corrected - clean)[inside].mean()
        assert left < 0.15 * np.square(estimate - clean)[inside].mean()


def test_is_a_function_of_its_seed():
    images = [np.random.default_rng(0).integers(0, 65535, (160, 170, 3)).astype(np.uint16)]
    first, again, other = (fitted(images, seed=seed, squares=1) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
