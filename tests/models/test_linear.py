"""Any matrix as a model, against the same matrix solved densely."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

import plugplay as pp
from oracles.dense import blur_matrix, prox

SHAPE = (6, 7)


def random_matrix(samples, seed=0):
    return np.random.default_rng(seed).normal(0, 0.3, (samples, 42))


def as_operator(matrix):
    return LinearOperator(
        matrix.shape, matvec=lambda x: matrix @ x, rmatvec=lambda y: matrix.T @ y, dtype=np.dtype(np.float64)
    )


KINDS = {"dense": np.asarray, "sparse": scipy.sparse.coo_matrix, "operator": as_operator}


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(1).random(SHAPE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("samples", [13, 42, 60])
def test_it_is_a_model(kind, samples, image):
    pp.check_model(pp.models.Linear(KINDS[kind](random_matrix(samples)), shape=SHAPE), image).raise_if_failed()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("samples", [13, 42, 60])
@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e3])
def test_the_step_solves_the_normal_equations(kind, samples, rho, image):
    matrix, rng = random_matrix(samples), np.random.default_rng(2)
    model = pp.models.Linear(KINDS[kind](matrix), shape=SHAPE)
    y, v = rng.normal(size=model.observation_shape), rng.random(SHAPE)
    np.testing.assert_allclose(model.data_term(y).prox(v, rho), prox(matrix, y, v, rho), atol=1e-5)
    np.testing.assert_allclose(model.forward(image).ravel(), matrix @ image.ravel(), atol=1e-12)
    np.testing.assert_allclose(model.adjoint(y).ravel(), matrix.T @ y.ravel(), atol=1e-12)


def test_channels_are_treated_alike(image):
    model = pp.models.Linear(random_matrix(13), shape=SHAPE)
    colour = np.stack([image, 1 - image, image**2], axis=-1)
    seen = model.forward(colour)
    assert seen.shape == (13, 3)
    for c in range(3):
        np.testing.assert_allclose(seen[:, c], model.forward(colour[..., c]), atol=1e-12)
    step = model.data_term(seen).prox(colour, 0.1)
    np.testing.assert_allclose(step, colour, atol=1e-9)
    result = pp.restore(seen.T, model, noise=0.01, denoiser="tv", channel_axis=0, max_iter=3)
    assert result.image.shape == (3, *SHAPE)


def test_traits_are_measured(image):
    matrix = random_matrix(13)
    said = pp.models.Linear(matrix, shape=SHAPE).traits(np.zeros(13))
    assert np.linalg.norm(matrix, 2) == pytest.approx(said.norm, rel=0.06)
    assert said.observes == "projections"
    assert said.constant_gain is None
    assert said.unknowns_per_sample == pytest.approx(42 / 13)
    blur = blur_matrix(pp.kernels.gaussian(3, sigma=0.8), SHAPE)
    said = pp.models.Linear(2 * blur, shape=SHAPE).traits(image)
    assert said.observes == "intensities"
    assert said.constant_gain == pytest.approx(2.0)
    assert said.norm == pytest.approx(2.0, rel=0.06)
    assert pp.models.Linear(blur, shape=SHAPE, observation_shape=(42,)).traits(image).observes == "projections"


def test_a_blur_as_a_matrix_restores_like_deblurring(camera):
    kernel, small = pp.kernels.gaussian(5, sigma=1.0), camera[:24, :32]
    model = pp.models.Linear(scipy.sparse.csr_array(blur_matrix(kernel, small.shape)), shape=small.shape)
    y = model.simulate(small, noise=0.02, rng=0)
    options = {"denoiser": "tv", "noise": 0.02, "lam": 2e-4, "schedule": pp.Monotone(rho0=0.01, gamma=1.4)}
    mine = pp.restore(y, model, **options)
    built_in = pp.restore(y, pp.models.Deblurring(kernel), **options)
    np.testing.assert_allclose(mine.image, built_in.image, atol=5e-3)


def test_sessions_start_from_the_last_step(image):
    calls = 0
    matrix = random_matrix(60)

    def counted(x):
        nonlocal calls
        calls += 1
        return matrix @ x

    operator = LinearOperator(matrix.shape, matvec=counted, rmatvec=lambda y: matrix.T @ y, dtype=np.dtype(float))
    term = pp.models.Linear(operator, shape=SHAPE).data_term(matrix @ image.ravel())
    session = term.session(1e-6)
    calls = 0
    first = session.prox(np.zeros(SHAPE), 0.1)
    cold, calls = calls, 0
    again = session.prox(np.zeros(SHAPE), 0.1)
    assert calls < cold / 2
    np.testing.assert_allclose(again, first, atol=1e-5)
    assert session.warnings() == ()


def test_steps_that_do_not_converge_are_told(image):
    matrix = random_matrix(42)
    wrong = LinearOperator((42, 42), matvec=lambda x: matrix @ x, rmatvec=lambda y: matrix @ y, dtype=np.dtype(float))
    model = pp.models.Linear(wrong, shape=SHAPE)
    result = pp.restore(model.forward(image), model, noise=0.01, denoiser="tv", max_iter=2)
    assert any("conjugate gradients" in warning and "transpose" in warning for warning in result.warnings)


@pytest.mark.parametrize("iteration", ["admm", "hqs", "pgd", "fista", "red"])
def test_every_iteration_takes_it(iteration, image):
    model = pp.models.Linear(random_matrix(30), shape=SHAPE)
    result = pp.restore(model.forward(image), model, noise=0.01, denoiser="tv", iteration=iteration, max_iter=3)
    assert np.isfinite(result.image).all()


def test_volumes_and_frames(image):
    volume = np.random.default_rng(0).random((3, 2, 7))
    model = pp.models.Linear(random_matrix(30), shape=(3, 2, 7), observation_shape=(5, 6))
    pp.check_model(model, volume).raise_if_failed()
    assert model.spatial_ndim == 3
    frames = pp.models.Linear(random_matrix(84), shape=SHAPE, observation_shape=(2, *SHAPE))
    y = frames.forward(image)
    assert y.shape == (2, *SHAPE)
    assert pp.restore(y, frames, noise=0.01, denoiser="tv", max_iter=2).image.shape == SHAPE


def test_fingerprints_and_copies(image):
    matrix = random_matrix(13)
    model = pp.models.Linear(scipy.sparse.csr_array(matrix), shape=SHAPE)
    assert model.fingerprint() == pp.models.Linear(scipy.sparse.csr_array(matrix), shape=SHAPE).fingerprint()
    other = pp.models.Linear(scipy.sparse.csr_array(random_matrix(13, seed=9)), shape=SHAPE)
    assert model.fingerprint() != other.fingerprint()
    plan = pp.prepare(model.forward(image), model, noise=0.01, denoiser="tv", max_iter=2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan)).run().image, plan.run().image)
    dense = pp.models.Linear(matrix, shape=SHAPE)
    matrix[:] = 0
    assert dense.forward(image).any()


@pytest.mark.parametrize(
    ("operator", "options", "error", "message"),
    [
        (np.zeros((3, 4)), {"shape": (3, 3)}, ValueError, r"shape \(3, 3\) has 9 elements, but operator has 4 columns"),
        (np.ones((3, 4)), {"shape": (2, 2), "observation_shape": (2,)}, ValueError, "operator has 3 rows"),
        (np.ones((3, 4)), {"shape": (4,)}, ValueError, "spatial_ndim"),
        (np.ones(4), {"shape": (2, 2)}, ValueError, "operator must be a matrix"),
        (1j * scipy.sparse.eye(4), {"shape": (2, 2)}, TypeError, "operator must be real"),
        (np.full((4, 4), np.nan), {"shape": (2, 2)}, ValueError, "NaN or infinite"),
        (
            LinearOperator((4, 4), matvec=lambda x: x, dtype=np.dtype(float)),
            {"shape": (2, 2)},
            TypeError,
            "matvec and rmatvec",
        ),
    ],
)
def test_bad_operators(operator, options, error, message):
    with pytest.raises(error, match=message):
        pp.models.Linear(operator, **options)


def test_what_cannot_be_read_off_projections(image):
    model = pp.models.Linear(random_matrix(13), shape=SHAPE)
    y = model.forward(image)
    with pytest.raises(ValueError, match=r"noise cannot be estimated from what Linear observes.*noise="):
        pp.restore(y, model, denoiser="tv")
    with pytest.raises(ValueError, match=r"data_range must begin at 0"):
        pp.restore(y, model, noise=0.01, denoiser="tv", data_range=(-1, 1))
    with pytest.raises(ValueError, match="y has the shape"):
        model.data_term(np.zeros(14))
    with pytest.raises(TypeError, match="floats"):
        model.data_term(np.zeros(13, int))
    result = pp.restore(100 * y, model, noise=0.01, denoiser="tv", max_iter=2, data_range=(0, 100))
    np.testing.assert_allclose(result.image, 100 * pp.restore(y, model, noise=0.01, denoiser="tv", max_iter=2).image)
