"""Orthogonal matching pursuit against its definition, sample by sample."""

import numpy as np
import pytest

from plugplay_paper.baselines.pursuit import sparse_codes, unit_rows


@pytest.fixture
def dictionary():
    return unit_rows(np.random.default_rng(0).normal(size=(40, 12)))


def by_definition(sample, atoms, sparsity):
    support = []
    residual = sample
    for _ in range(sparsity):
        strength = np.abs(atoms @ residual)
        strength[support] = -1
        support.append(int(np.argmax(strength)))
        fit = np.linalg.lstsq(atoms[support].T, sample, rcond=None)[0]
        residual = sample - fit @ atoms[support]
    code = np.zeros(len(atoms))
    code[support] = fit
    return code


@pytest.mark.parametrize("sparsity", [1, 3, 5])
def test_codes_are_those_of_the_definition(dictionary, sparsity):
    samples = np.random.default_rng(1).normal(size=(300, 12))  # more than are coded together
    codes = sparse_codes(samples, dictionary, sparsity).toarray()
    expected = [by_definition(sample, dictionary, sparsity) for sample in samples]
    np.testing.assert_allclose(codes, expected, atol=1e-4)


def test_residuals_are_orthogonal_to_the_atoms_taken(dictionary):
    samples = np.random.default_rng(2).normal(size=(50, 12))
    codes = sparse_codes(samples, dictionary, 4)
    left = (samples - codes @ dictionary) @ dictionary.T
    assert np.abs(left[codes.toarray() != 0]).max() < 1e-5


def test_what_was_made_of_few_atoms_is_found(dictionary):
    truth = np.zeros((1, 40))
    truth[0, [3, 17]] = 2.0, -1.5
    np.testing.assert_allclose(sparse_codes(truth @ dictionary, dictionary, 2).toarray(), truth, atol=1e-4)


def test_equal_atoms_and_zero_samples_do_no_harm(dictionary):
    twice = np.vstack([dictionary, dictionary])
    samples = np.vstack([np.zeros(12), dictionary[0]]).astype(np.float32)
    codes = sparse_codes(samples, twice.astype(np.float32), 3)
    np.testing.assert_allclose(codes @ twice, samples, atol=1e-4)


def test_codes_grow_with_the_sample(dictionary):
    samples = np.random.default_rng(3).normal(size=(20, 12))
    once, thrice = (sparse_codes(scale * samples, dictionary, 3).toarray() for scale in (1, 3))
    np.testing.assert_allclose(3 * once, thrice, rtol=1e-9)
