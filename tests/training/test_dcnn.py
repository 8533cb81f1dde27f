"""The training of the small network: a function of its seed, and the same network as the one that ships."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plugplay_paper.baselines.back_projection import bicubic  # noqa: E402
from plugplay_paper.baselines.convolutional import enlarged  # noqa: E402
from training.dcnn import Trainer, weights_of  # noqa: E402
from training.decimated import Squares  # noqa: E402


@pytest.fixture(scope="module")
def material():
    rng = np.random.default_rng(0)
    truth = rng.random((6, 24, 24), dtype=np.float32)
    return Squares(interpolated=(truth + np.roll(truth, 1, axis=1)) / 2, truth=truth)


def trained(trainer, material, steps):
    return [trainer.take(material) for _ in range(steps)]


def test_the_first_steps_are_bit_identical_even_if_interrupted(material, tmp_path, flat_weights):
    whole = Trainer.new(seed=3, steps=100)
    losses = trained(whole, material, 60)
    again = Trainer.new(seed=3, steps=100)
    first = trained(again, material, 25)
    again.save(tmp_path / "dcnn.pt")
    resumed = Trainer.restored(tmp_path / "dcnn.pt")
    assert first + trained(resumed, material, 35) == losses
    np.testing.assert_array_equal(flat_weights(resumed), flat_weights(whole))
    assert losses[0] == 1  # the last layer is zero: interpolation
    assert np.mean(losses[-10:]) < 0.98
    assert losses[:5] != trained(Trainer.new(seed=4, steps=100), material, 5)


def test_what_ships_computes_what_was_trained(material):
    trainer = Trainer.new(seed=0, steps=100)
    trained(trainer, material, 20)
    y = np.random.default_rng(1).random((12, 10), dtype=np.float32)
    smooth = bicubic(y, 2)
    weights = weights_of(trainer.network)
    with torch.no_grad():
        padded = torch.from_numpy(np.pad(smooth, weights.reach, mode="wrap")[None, None]) - 0.5
        missing = trainer.network(padded)[0, 0].numpy()
    np.testing.assert_allclose(enlarged(y, 2, weights), smooth + missing, atol=1e-5)
