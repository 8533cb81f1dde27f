import concurrent.futures
import dataclasses

import numpy as np
import pytest

from plugplay_paper import images
from plugplay_paper.baselines import dictionaries as module
from plugplay_paper.baselines.dictionaries import (
    Training,
    learn_atoms,
    train_dictionaries,
    trained_dictionaries,
)
from plugplay_paper.baselines.pursuit import sparse_codes, unit_rows
from plugplay_paper.baselines.training_images import NAMES

TINY = Training(atoms=16, samples=400, rounds=2, features=8, images=("text",))


def test_atoms_that_made_the_samples_are_recovered():
    rng = np.random.default_rng(0)
    truth = unit_rows(rng.normal(size=(12, 16)))
    codes = np.zeros((2000, 12))
    for code in codes:
        code[rng.choice(12, 2, replace=False)] = rng.choice([-1, 1], 2) * rng.uniform(1, 2, 2)
    found = learn_atoms(codes @ truth, Training(atoms=12, samples=2000, sparsity=2, rounds=40), rng)
    closest = np.abs(truth @ found.T).max(axis=1)
    assert np.sort(closest)[2] > 0.98  # all but two at most


def test_rounds_lower_the_error():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 10)) + 0.1 * rng.normal(size=(500, 10))
    errors = []
    for rounds in (1, 3, 10):
        atoms = learn_atoms(samples, Training(atoms=20, samples=500, rounds=rounds), np.random.default_rng(1))
        np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1, rtol=1e-6)
        errors.append(np.square(samples - sparse_codes(samples, atoms, 3) @ atoms).sum())
    assert errors[0] > errors[1] > errors[2]


def test_training_is_deterministic_and_depends_on_its_parameters():
    first, again = train_dictionaries(2, TINY), train_dictionaries(2, TINY)
    other = train_dictionaries(2, dataclasses.replace(TINY, seed=1))
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


def test_dictionaries_have_the_promised_form():
    trained = train_dictionaries(3, TINY)
    assert trained.components.shape == (8, 36 * 9)
    assert trained.low.shape == (16, 8)
    assert trained.high.shape == (16, 9 * 9)
    np.testing.assert_allclose(trained.components @ trained.components.T, np.eye(8), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(trained.low, axis=1), 1, rtol=1e-5)
    assert not trained.low.flags.writeable


def test_they_are_trained_once(tmp_path, monkeypatch):
    first = trained_dictionaries(2, training=TINY, cache=tmp_path)
    monkeypatch.setattr(module, "train_dictionaries", None)  # calling it would fail
    again = trained_dictionaries(2, training=TINY, cache=tmp_path)
    assert first.fingerprint() == again.fingerprint()


def test_other_trainings_are_other_files(tmp_path):
    for training in (TINY, dataclasses.replace(TINY, rounds=1)):
        for factor in (2, 3):
            trained_dictionaries(factor, training=training, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def exchange(file):
    np.savez(file, components=np.zeros((2, 2)), low=np.zeros((2, 2)), high=np.zeros((2, 2)))


def leave_out(file):
    np.savez(file, components=np.zeros((2, 2)))


@pytest.mark.parametrize("damage", [cut, flip, exchange, leave_out, lambda file: file.write_bytes(b"")])
def test_damaged_files_are_replaced(tmp_path, damage):
    first = trained_dictionaries(2, training=TINY, cache=tmp_path)
    (file,) = tmp_path.iterdir()
    sound = file.read_bytes()
    damage(file)
    assert trained_dictionaries(2, training=TINY, cache=tmp_path).fingerprint() == first.fingerprint()
    assert len(file.read_bytes()) == len(sound)


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("in the way")
    found = trained_dictionaries(2, training=TINY, cache=tmp_path / "file" / "folder")
    assert found.low.shape == (16, 8)


def test_many_at_once(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: trained_dictionaries(2, training=TINY, cache=tmp_path).fingerprint(), range(4))
    assert len(set(found)) == 1
    assert [path.suffix for path in tmp_path.iterdir()] == [".npz"]


def test_the_cache_is_the_users(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "user_cache_path", lambda name, appauthor: tmp_path / name)
    trained_dictionaries(2, training=TINY)
    assert len(list((tmp_path / "plugplay").glob("sparse-coding-x2-*.npz"))) == 1


def test_nothing_is_trained_on_images_that_are_restored():
    assert not {image.name for image in images.bundled()} & set(NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"atoms": 0}, "atoms must be an integer >= 1; got 0"),
        ({"atoms": 2}, "sparsity must not exceed the number of atoms, 2; got 3"),
        ({"samples": 100}, "samples must be at least as many as atoms"),
        ({"contrast": -1.0}, "contrast must be >= 0"),
        ({"images": ()}, "images"),
        ({"images": ("lena",)}, "lena"),
    ],
)
def test_bad_trainings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Training(**options)


def test_too_few_patches_of_contrast():
    with pytest.raises(ValueError, match="lower contrast or atoms"):
        train_dictionaries(2, dataclasses.replace(TINY, contrast=10.0))
