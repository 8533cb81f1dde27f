"""Same seed, same steps; a killed run goes on as if nothing had happened."""

import numpy as np
import pytest
from scipy.ndimage import uniform_filter

torch = pytest.importorskip("torch")

from training.leaves import dead_leaves  # noqa: E402
from training.optimizer import nearest_orthogonal  # noqa: E402
from training.patches import Patches  # noqa: E402
from training.pilots import drawn  # noqa: E402
from training.train import Curve, Trainer, loss_of  # noqa: E402


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    leaves = [dead_leaves(256, rng.random((20, 3)), rng, leaves=200) for _ in range(2)]
    images = [np.rint(65535 * image).astype(np.uint16) for image in leaves]
    return drawn(images, 0, seed=3, count=3, workers=1), drawn(images, 0, seed=3, count=3, workers=2)


@pytest.fixture(scope="module")
def patches(pairs):
    return Patches([pairs[0]], seed=3, size=16, count=2)


def trained(trainer, patches, steps):
    return [trainer.take(patches.batch(trainer.step)) for _ in range(steps)]


def test_the_first_hundred_steps_are_bit_identical_even_if_interrupted(patches, tmp_path, flat_weights):
    whole = Trainer.new(3)
    losses = trained(whole, patches, 100)
    again = Trainer.new(3)
    first = trained(again, patches, 60)
    again.save(tmp_path / "net.pt")
    other = Trainer.new(4)
    other.restore(tmp_path / "net.pt")
    assert first + trained(other, patches, 40) == losses
    np.testing.assert_array_equal(flat_weights(other), flat_weights(whole))
    assert np.mean(losses[-20:]) < np.mean(losses[:20])


def test_another_seed_is_another_run(patches, flat_weights):
    assert not np.array_equal(flat_weights(Trainer.new(3)), flat_weights(Trainer.new(4)))
    other = Patches(patches.pairs, seed=4, size=16, count=2)
    assert not np.array_equal(other.batch(0).rest, patches.batch(0).rest)


def test_training_begins_at_bm3d(patches):
    """The loss is BM3D's squared error over its mean over the square, which a network of zeros leaves as it is."""
    batch = patches.batch(0)
    expected = np.mean(
        batch.weight[:, 0, 0, 0] * np.square(batch.error, dtype=np.float64).sum(axis=1).mean(axis=(1, 2))
    )
    assert float(loss_of(Trainer.new(0).network, batch).detach()) == pytest.approx(expected, rel=1e-5)


def test_pairs_are_what_bm3d_makes_of_noise(pairs):
    """Noisy = pilot + sigma rest and clean = pilot + sigma error: their difference is unit noise."""
    first, again = pairs
    np.testing.assert_array_equal(first.rest, again.rest)
    noise = first.rest.astype(np.float64) - first.error
    gray = ~first.colour
    assert gray.any()
    assert first.colour.any()
    assert not noise[gray, 1:].any()
    assert noise[first.colour].std() == pytest.approx(1, abs=0.01)
    assert noise[gray, 0].std() == pytest.approx(1, abs=0.02)
    left = np.square(first.error.astype(np.float64)).mean(axis=(2, 3))[:, 0]
    assert (left < 0.8).all()


def test_patches_are_cut_from_one_place_of_a_pair(patches):
    """Detail is the pilot minus its mean over 5 x 5 pixels, also where a patch ends."""
    chunk = patches.pairs[0]
    details = [uniform_filter(square.astype(np.float64), (0, 5, 5)) for square in chunk.pilot]
    details = [(square - mean) / s for square, mean, s in zip(chunk.pilot, details, chunk.sigma, strict=True)]
    batch = patches.batch(1)
    for rest, detail, error in zip(batch.rest, batch.detail, batch.error, strict=True):
        places = [
            (index, turns, mirrored)
            for index in range(len(chunk.sigma))
            for turns in range(4)
            for mirrored in (False, True)
            if _position(_turned(chunk.rest[index], turns, mirrored), rest) is not None
        ]
        ((index, turns, mirrored),) = places
        top, left = _position(_turned(chunk.rest[index], turns, mirrored), rest)
        window = (slice(None), slice(top, top + 16), slice(left, left + 16))
        np.testing.assert_allclose(
            detail, _turned(details[index], turns, mirrored)[window], atol=1e-3 / chunk.sigma[index]
        )
        np.testing.assert_array_equal(error, _turned(chunk.error[index], turns, mirrored)[window])


def _turned(planes, turns, mirrored):
    planes = np.rot90(planes, turns, axes=(1, 2))
    return planes[:, ::-1] if mirrored else planes


def _position(planes, patch):
    """Return where a patch lies in a plane, by the values of its first row, or None."""
    starts = np.argwhere(planes[0] == patch[0, 0, 0].astype(np.float16))
    for top, left in starts:
        if np.array_equal(planes[:, top : top + 16, left : left + 16].astype(np.float32), patch):
            return int(top), int(left)
    return None


def test_resuming_drops_the_rows_after_the_checkpoint(tmp_path):
    path = tmp_path / "curve.csv"
    curve = Curve(path, step=0)
    for step in (250, 500):
        curve.add([str(step)] + ["1"] * 8)
    resumed = Curve(path, step=300)
    resumed.add(["500"] + ["2"] * 8)
    lines = path.read_text().splitlines()
    assert [line.split(",")[:2] for line in lines[1:]] == [["250", "1"], ["500", "2"]]


@pytest.mark.parametrize("shape", [(8, 20), (20, 8)])
def test_muon_makes_singular_values_alike(shape):
    matrix = torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float32))
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    found = nearest_orthogonal(matrix)
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.6
    assert values.max() < 1.3
    # U and V are kept: the inner product with U Vᵀ is the sum of the singular values.
    assert torch.trace(found @ (left @ right).T) == pytest.approx(float(values.sum()), rel=0.02)
