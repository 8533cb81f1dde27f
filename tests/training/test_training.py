"""Same seed, same steps; a killed run goes on as if nothing had happened."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from training.leaves import dead_leaves  # noqa: E402
from training.optimizer import nearest_orthogonal  # noqa: E402
from training.patches import Patches  # noqa: E402
from training.train import Curve, Trainer  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    """Steps on tiny patches take far longer with threads that wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def patches():
    rng = np.random.default_rng(0)
    leaves = [dead_leaves(64, rng.random((20, 3)), rng, leaves=60) for _ in range(2)]
    return Patches([np.rint(65535 * image).astype(np.uint16) for image in leaves], seed=3, size=16, count=2)


def weights(trainer):
    return torch.cat([weight.detach().flatten() for weight in trainer.network.parameters()]).numpy().copy()


def trained(trainer, patches, steps):
    losses = [trainer.take(patches.batch(trainer.step)) for _ in range(steps)]
    return losses, weights(trainer)


def test_the_first_hundred_steps_are_bit_identical_even_if_interrupted(patches, tmp_path):
    losses, expected = trained(Trainer.new(3), patches, 100)
    again = Trainer.new(3)
    first, _ = trained(again, patches, 60)
    again.save(tmp_path / "net.pt")
    other = Trainer.new(4)
    other.restore(tmp_path / "net.pt")
    second, found = trained(other, patches, 40)
    assert first + second == losses
    np.testing.assert_array_equal(found, expected)
    assert np.mean(losses[-20:]) < np.mean(losses[:20])


def test_another_seed_is_another_run(patches):
    assert not np.array_equal(weights(Trainer.new(3)), weights(Trainer.new(4)))
    other = Patches(patches.images, seed=4, size=16, count=2)
    assert not np.array_equal(other.batch(0).noise, patches.batch(0).noise)


def test_batches_have_the_noise_they_claim(patches):
    batches = [patches.batch(step) for step in range(200)]
    gray = np.concatenate([batch.switches[:, 1, 0, 0] == 0 for batch in batches])
    clean, noise, sigma = (
        np.concatenate([getattr(batch, name) for batch in batches]) for name in ("clean", "noise", "sigma")
    )
    assert 0.35 < gray.mean() < 0.65
    assert not clean[gray, 1:].any()
    assert not noise[gray, 1:].any()
    assert noise[~gray].std() == pytest.approx(1, abs=0.01)
    assert np.abs(clean[gray, 0]).max() <= 0.5 + 1e-6
    assert sigma.min() >= 1 / 255
    assert (sigma > 60 / 255).mean() < 0.2


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
