"""Kernels between two FFTs against formulas on whole spectra, and the same bits for any number of threads."""

import numpy as np
import pytest
import scipy.fft

import plugplay as pp
from plugplay.models.operators.aliases import Aliases
from plugplay.models.operators.polyphase import SampledBlur

SMALL = [(1, 1), (4, 1), (3, 2), (4, 5), (5, 4), (6, 6), (7, 9)]
DTYPES = {"single": (np.float32, 3e-6), "double": (np.float64, 1e-12)}


def whole_spectrum(half, shape):
    """Return all columns of a spectrum of which a real FFT keeps the half."""
    return scipy.fft.fftn(scipy.fft.irfftn(half.astype(np.complex128), s=shape))


def folded(spectrum, factor):
    """Return the sum of the aliases of each frequency of a small image."""
    for axis in range(spectrum.ndim):
        n = spectrum.shape[axis] // factor
        split = spectrum.reshape(*spectrum.shape[:axis], factor, n, *spectrum.shape[axis + 1 :])
        spectrum = split.sum(axis=axis)
    return spectrum


def half(spectrum):
    return spectrum[..., : spectrum.shape[-1] // 2 + 1]


def problem(small, factor, dtype):
    rng = np.random.default_rng(sum(small) + factor)
    shape = tuple(factor * n for n in small)
    kernel = rng.random(tuple(min(n, 3) for n in shape))
    blur = SampledBlur.build(kernel / kernel.sum(), shape, factor=factor, dtype=dtype)
    x, y = rng.normal(size=shape).astype(dtype), rng.normal(size=small).astype(dtype)
    return blur, x, y, whole_spectrum(blur.transfer, shape)


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("small", [*SMALL, (3, 2, 5), (2, 4, 4), (1, 3, 2)], ids=str)
@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_spectra_are_folded_and_unfolded(factor, small, precision):
    dtype, tolerance = DTYPES[precision]
    blur, x, y, transfer = problem(small, factor, dtype)
    seen, samples = folded(transfer * scipy.fft.fftn(x), factor), scipy.fft.fftn(y)
    scale = np.sqrt(x.size)
    np.testing.assert_allclose(blur._sampled(scipy.fft.rfftn(x)[None])[0], half(seen), atol=tolerance * scale)
    repeated = np.tile(samples, (factor,) * y.ndim) * factor**y.ndim
    expected = half(transfer.conj() * repeated)
    np.testing.assert_allclose(blur._unfolded(scipy.fft.rfftn(y)[None])[0], expected, atol=tolerance * scale)


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("small", [*SMALL, (3, 2, 5), (2, 4, 4)], ids=str)
@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_spectra_are_corrected_by_the_filtered_residual(factor, small, precision):
    dtype, tolerance = DTYPES[precision]
    blur, v, y, transfer = problem(small, factor, dtype)
    residual = scipy.fft.fftn(y) - folded(transfer * scipy.fft.fftn(v), factor)
    repeats = factor**y.ndim
    gram = folded(np.abs(transfer) ** 2, factor) * repeats
    for rho in (0.01, 1.0):
        filtered = residual / (gram + rho)
        expected = scipy.fft.fftn(v) + transfer.conj() * np.tile(filtered, (factor,) * y.ndim) * repeats
        spectrum = scipy.fft.rfftn(v)
        energy = blur._correct(spectrum[None], scipy.fft.rfftn(y)[None], rho)
        np.testing.assert_allclose(spectrum, half(expected), atol=tolerance * np.abs(expected).max())
        assert energy == pytest.approx(np.sum(np.abs(filtered) ** 2) / y.size, rel=10 * tolerance)


@pytest.mark.parametrize("shape", [(4, 6), (9, 3), (4, 6, 2), (6, 9, 3)], ids=str)
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_rows_are_found_by_their_frequencies(shape, factor):
    large = tuple(n // factor * factor for n in shape)
    aliases = Aliases.build(large, factor)
    small = tuple(n // factor for n in large[:-1])
    assert sorted(aliases.rows.ravel()) == list(range(np.prod(large[:-1])))
    for row, members in enumerate(aliases.rows):
        at = np.unravel_index(row, small)
        for member in members:
            assert all(np.mod(np.unravel_index(member, large[:-1]), small) == at)
    for one, other in aliases.pairs:
        assert all((np.add(np.unravel_index(one, small), np.unravel_index(other, small)) % small) == 0)
    assert sorted(set(aliases.pairs.ravel())) == list(range(np.prod(small)))


MODELS = {
    "circular": pp.models.Deblurring(pp.kernels.motion(7, 30)),
    "unknown": pp.models.Deblurring(pp.kernels.motion(7, 30), boundary="unknown"),
    "twice": pp.models.SuperResolution(2, boundary="reflect"),
    "thrice, unknown": pp.models.SuperResolution(3, pp.kernels.gaussian(5, sigma=1.0), boundary="unknown"),
    "volume": pp.models.Deblurring(np.ones((2, 3, 3)) / 18, boundary="unknown"),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("channels", [(), (3,)], ids=["gray", "colour"])
@pytest.mark.parametrize("name", MODELS)
def test_steps_have_the_same_bits_for_any_number_of_threads(name, channels, dtype):
    model = MODELS[name]
    rng = np.random.default_rng(0)
    shape = (11, 90, 101) if name == "volume" else (327, 303)  # several strips, of which the last one is shorter
    y = rng.random((*(n // model.factor for n in shape), *channels)).astype(dtype)
    term = model.data_term(y)
    v = term.start()
    outcomes = []
    for workers in (1, 2, 3):
        with scipy.fft.set_workers(workers):
            steps = term.session(1e-3)
            images = [steps.prox(v, rho) for rho in (0.1, 0.15)]
            outcomes.append([*(image.tobytes() for image in images), steps.fidelity(), term.value(v)])
            outcomes[-1].append(term.gradient(v).tobytes())
    assert outcomes[0] == outcomes[1] == outcomes[2]
