"""Deblurring and super-resolution against dense matrices, conjugate gradients and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import convolve2d
from scipy.sparse.linalg import LinearOperator, cg

import plugplay as pp
from oracles.dense import blur_matrix
from oracles.dense import prox as dense_prox

KERNELS = {"odd": (3, 3), "even": (4, 2), "row": (1, 3), "single": (1, 1)}


def make_kernel(rng, shape):
    kernel = rng.normal(size=shape)
    return kernel / np.abs(kernel).sum()


@pytest.mark.parametrize("kernel_shape", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("small", [(4, 3), (4, 5), (5, 3)])
@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_super_resolution_is_its_dense_matrix(factor, small, kernel_shape):
    rng = np.random.default_rng(factor)
    shape = (factor * small[0], factor * small[1])
    for offset in range(factor):
        kernel = make_kernel(rng, kernel_shape)
        model = pp.models.SuperResolution(factor, kernel, offset=offset)
        matrix = blur_matrix(kernel, shape, factor=factor, offset=offset)
        x, y = rng.normal(size=shape), rng.normal(size=small)
        np.testing.assert_allclose(model.forward(x).ravel(), matrix @ x.ravel(), atol=1e-13)
        np.testing.assert_allclose(model.adjoint(y).ravel(), matrix.T @ y.ravel(), atol=1e-13)
        term = model.data_term(y)
        residual = matrix @ x.ravel() - y.ravel()
        assert term.value(x) == pytest.approx(0.5 * residual @ residual)
        np.testing.assert_allclose(term.gradient(x).ravel(), matrix.T @ residual, atol=1e-13)
        for rho in (1e-4, 1.0, 1e4):
            np.testing.assert_allclose(term.prox(x, rho), dense_prox(matrix, y, x, rho), atol=1e-9)


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("small", [(4, 3), (4, 6), (5, 1), (3, 2)])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_steps_know_the_fidelity_of_what_they_return(factor, small, channels):
    rng = np.random.default_rng(factor)
    y, v = rng.normal(size=(*small, *channels)), rng.normal(size=(factor * small[0], factor * small[1], *channels))
    term = pp.models.SuperResolution(factor, make_kernel(rng, (3, 1))).data_term(y)
    steps = term.session()
    assert np.isnan(steps.fidelity())
    for rho in (1e-3, 1.0, 1e3):
        x = steps.prox(v, rho)
        np.testing.assert_array_equal(x, term.prox(v, rho))
        assert steps.fidelity() == pytest.approx(0.5 * np.sum((term.residual(x)) ** 2), rel=1e-9)
        assert steps.warnings() == ()


@pytest.mark.parametrize("kernel_shape", KERNELS.values(), ids=KERNELS)
def test_deblurring_is_the_paper_s_formula(kernel_shape):
    rng = np.random.default_rng(0)
    kernel = make_kernel(rng, kernel_shape)
    y, v, rho = rng.random((6, 7)), rng.random((6, 7)), 0.3
    padded = np.zeros((6, 7))
    padded[: kernel_shape[0], : kernel_shape[1]] = kernel
    h = np.fft.fft2(np.roll(padded, (-(kernel_shape[0] // 2), -(kernel_shape[1] // 2)), (0, 1)))
    paper = np.fft.ifft2((h.conj() * np.fft.fft2(y) + rho * np.fft.fft2(v)) / (np.abs(h) ** 2 + rho)).real
    term = pp.models.Deblurring(kernel).data_term(y)
    np.testing.assert_allclose(term.prox(v, rho), paper, atol=1e-13)
    np.testing.assert_array_equal(term.start(), y)


@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("kernel_shape", [(5, 3), (4, 6)])
def test_unknown_boundary_is_the_valid_convolution(factor, kernel_shape):
    rng = np.random.default_rng(1)
    kernel = make_kernel(rng, kernel_shape)
    model = pp.models.SuperResolution(factor, kernel, boundary="unknown")
    y = rng.random((8, 9))
    term = model.data_term(y)
    x = rng.random(term.shape)
    everything = convolve2d(x, kernel, mode="full")
    assert all((n - factor * m) % factor == 0 for n, m in zip(term.shape, y.shape, strict=True))
    # Sample (0, 0) of the frame sits at the frame's first pixel; the kernel's centre is n // 2.
    first = frame_origin(term)
    rows = first[0] + kernel_shape[0] // 2 + factor * np.arange(y.shape[0])
    columns = first[1] + kernel_shape[1] // 2 + factor * np.arange(y.shape[1])
    np.testing.assert_allclose(model.forward(x), everything[np.ix_(rows, columns)], atol=1e-13)
    assert term.crop(x).shape == (factor * y.shape[0], factor * y.shape[1])
    if factor == 1:
        np.testing.assert_allclose(model.forward(x), convolve2d(x, kernel, mode="valid"), atol=1e-13)


def frame_origin(term):
    """Return where the frame begins, found through `crop`."""
    index = np.arange(np.prod(term.shape)).reshape(term.shape)
    return np.unravel_index(term.crop(index)[0, 0], term.shape)


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("rho", [1e-3, 1e-1, 1e1])
def test_unknown_boundary_step_is_exact(factor, rho):
    rng = np.random.default_rng(2)
    kernel = make_kernel(rng, (3, 4))
    model = pp.models.SuperResolution(factor, kernel, boundary="unknown")
    y = rng.random((5, 6))
    term = model.data_term(y)
    first = frame_origin(term)
    after = tuple((n - factor * m - f) // factor for n, m, f in zip(term.shape, y.shape, first, strict=True))
    margin = ((first[0] // factor, first[1] // factor), after)
    matrix = blur_matrix(kernel, term.shape, factor=factor, margin=margin)
    v = rng.random(term.shape)
    np.testing.assert_allclose(model.forward(v).ravel(), matrix @ v.ravel(), atol=1e-13)
    np.testing.assert_allclose(model.adjoint(y).ravel(), matrix.T @ y.ravel(), atol=1e-13)
    np.testing.assert_allclose(term.prox(v, rho), dense_prox(matrix, y, v, rho), atol=1e-5)
    remembering = term.session()
    for _ in range(2):
        np.testing.assert_allclose(remembering.prox(v, rho), dense_prox(matrix, y, v, rho), atol=1e-5)


@pytest.mark.parametrize("rtol", [1e-7, 1e-4])
@pytest.mark.parametrize(("factor", "channels"), [(1, ()), (2, (3,))])
def test_steps_of_a_session_stay_exact_and_know_their_fidelity(factor, channels, rtol):
    # What is carried from step to step, M G G' w among it, must fit another v and another rho.
    rng = np.random.default_rng(5)
    model = pp.models.SuperResolution(factor, make_kernel(rng, (4, 5)), boundary="unknown")
    term = model.data_term(rng.random((9, 11, *channels)))
    steps = term.session(rtol)
    for rho in (1.0, 0.3, 0.2, 3.0, 3.0):
        v = rng.random(term.shape)
        x = steps.prox(v, rho)
        np.testing.assert_allclose(x, term.prox(v, rho), atol=20 * rtol)
        assert steps.fidelity() == pytest.approx(term.value(x), rel=1e-6)


@pytest.mark.parametrize("factor", [1, 2])
def test_reflect_boundary_mirrors_the_image(factor):
    rng = np.random.default_rng(3)
    kernel = make_kernel(rng, (4, 3))
    shape = (factor * 5, factor * 6)
    model = pp.models.SuperResolution(factor, kernel, boundary="reflect")
    matrix = blur_matrix(kernel, shape, factor=factor, boundary="reflect")
    x, y = rng.random(shape), rng.random((5, 6))
    np.testing.assert_allclose(model.forward(x).ravel(), matrix @ x.ravel(), atol=1e-13)
    np.testing.assert_allclose(model.adjoint(y).ravel(), matrix.T @ y.ravel(), atol=1e-13)
    term = model.data_term(y)
    assert term.crop(term.start()).shape == shape
    assert all((n - m) % factor == 0 for n, m in zip(term.shape, shape, strict=True))


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
def test_masked_samples_do_not_matter(boundary):
    rng = np.random.default_rng(4)
    mask = rng.random((12, 10)) < 0.7
    model = pp.models.Deblurring(pp.kernels.gaussian(3, sigma=1.0), boundary=boundary, mask=mask)
    y = rng.random((12, 10))
    spoiled = np.where(mask, y, np.nan)
    term, same = model.data_term(y), model.data_term(spoiled)
    v = rng.random(term.shape)
    np.testing.assert_array_equal(term.prox(v, 0.1), same.prox(v, 0.1))
    np.testing.assert_array_equal(term.start(), same.start())
    assert np.isfinite(same.start()).all()


def test_masked_step_on_a_circle_is_exact():
    rng = np.random.default_rng(5)
    mask = rng.random((6, 5)) < 0.6
    kernel = make_kernel(rng, (3, 3))
    model = pp.models.SuperResolution(2, kernel, mask=mask)
    matrix = blur_matrix(kernel, (12, 10), factor=2) * mask.reshape(-1, 1)
    y, v = rng.random((6, 5)) * mask, rng.random((12, 10))
    np.testing.assert_allclose(model.data_term(y).prox(v, 0.05), dense_prox(matrix, y, v, 0.05), atol=1e-6)
    np.testing.assert_allclose(model.forward(v).ravel(), matrix @ v.ravel(), atol=1e-13)


@pytest.mark.parametrize("factor", [2, 3])
def test_closed_form_agrees_with_conjugate_gradients_on_a_real_size(factor):
    rng = np.random.default_rng(6)
    model = pp.models.SuperResolution(factor, "bicubic")
    y, rho = rng.random((64, 50)), 1e-2
    term = model.data_term(y)
    v = rng.random(term.shape)
    n = v.size

    def normal(x):
        image = x.reshape(v.shape)
        return (model.adjoint(model.forward(image)) + rho * image).ravel()

    rhs = (model.adjoint(y) + rho * v).ravel()
    solution, info = cg(LinearOperator((n, n), normal, dtype=np.float64), rhs, rtol=1e-12, maxiter=2000)
    assert info == 0
    np.testing.assert_allclose(term.prox(v, rho).ravel(), solution, atol=1e-8)


@pytest.mark.parametrize("model", [pp.models.SuperResolution(2, "bicubic"), pp.models.Deblurring(np.ones((9, 9)) / 81)])
@pytest.mark.parametrize("rho", [1e-6, 1e-5, 1e-3, 1.0])
def test_single_precision_stays_accurate_for_small_rho(model, rho):
    rng = np.random.default_rng(7)
    x = rng.random((128, 96))
    y = model.simulate(x, noise=0.02, rng=rng)
    v = (x + 0.1 * rng.normal(size=x.shape)).astype(np.float32)
    exact = model.data_term(y.astype(np.float32).astype(np.float64)).prox(v.astype(np.float64), rho)
    single = model.data_term(y.astype(np.float32)).prox(v, rho)
    assert single.dtype == np.float32
    # The step itself may be long where rho is small: 1e-4 of it is far below one gray level of 8 bits.
    assert np.abs(single - exact).max() < 1e-4 * np.abs(exact).max()


def test_bicubic_is_the_resize_of_image_libraries():
    from PIL import Image

    rng = np.random.default_rng(8)
    image = rng.random((40, 48)).astype(np.float32)
    for factor in (2, 3, 4):
        size = (48 // factor, 40 // factor)
        if 40 % factor:
            continue
        resized = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BICUBIC))
        ours = pp.models.SuperResolution(factor, "bicubic").forward(image)
        inner = (slice(3, -3), slice(3, -3))  # Pillow does not treat the border circularly
        np.testing.assert_allclose(ours[inner], resized[inner], atol=1e-5)


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", ["bicubic", "gaussian", "even"])
def test_start_is_aligned_with_the_samples(factor, kernel):
    # One wave along each axis: its phase, in pixels, must be that of its own samples after enlarging.
    n = 24 * factor
    t = 2 * np.pi * np.arange(n) / n
    x = 0.5 + 0.2 * np.sin(t)[:, None] + 0.2 * np.cos(t)[None, :]
    taps = {"bicubic": "bicubic", "gaussian": pp.kernels.gaussian(5, sigma=1.0), "even": pp.kernels.box(2)}[kernel]
    model = pp.models.SuperResolution(factor, taps)
    start = model.data_term(model.forward(x)).start()
    before, after = np.fft.fft2(x), np.fft.fft2(start)
    for frequency in ((1, 0), (0, 1)):
        shift = np.angle(after[frequency] / before[frequency]) * n / (2 * np.pi)
        assert abs(shift) < 0.01


def test_colour_channels_are_independent():
    rng = np.random.default_rng(9)
    for model in (
        pp.models.SuperResolution(2, "bicubic"),
        pp.models.Deblurring(pp.kernels.disk(2), boundary="unknown"),
    ):
        y = rng.random((12, 10, 3))
        term = model.data_term(y)
        v = rng.random(term.shape)
        whole = term.prox(v, 0.1)
        for c in range(3):
            single = model.data_term(y[..., c]).prox(v[..., c], 0.1)
            np.testing.assert_allclose(whole[..., c], single, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    factor=st.integers(1, 5),
    height=st.integers(1, 7),
    width=st.integers(1, 7),
    taps=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    single=st.booleans(),
    rho=st.floats(1e-3, 1e3),
    seed=st.integers(0, 99),
)
def test_any_shape_gives_a_stationary_step(factor, height, width, taps, single, rho, seed):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    shape = (factor * height, factor * width)
    kernel = make_kernel(rng, (min(taps[0], shape[0]), min(taps[1], shape[1])))
    model = pp.models.SuperResolution(factor, kernel, offset=seed % factor)
    y, v = rng.random((height, width)).astype(dtype), rng.random(shape).astype(dtype)
    term = model.data_term(y)
    x = term.prox(v, rho)
    assert x.shape == shape
    assert x.dtype == dtype
    exact = model.data_term(y.astype(np.float64))
    slope = exact.gradient(x.astype(np.float64)) + rho * (x.astype(np.float64) - v)
    assert np.abs(slope).max() < (1e-4 if single else 1e-11) * max(1, rho)


@pytest.mark.parametrize(
    "model",
    [
        pp.models.SuperResolution(2, boundary="reflect"),
        pp.models.SuperResolution(3, boundary="reflect"),
        pp.models.SuperResolution(4, boundary="reflect"),
        pp.models.SuperResolution(3, pp.kernels.gaussian(9, sigma=1.0), offset=1, boundary="reflect"),
        pp.models.SuperResolution(2, pp.kernels.gaussian(9, sigma=1.0), boundary="reflect"),
        pp.models.SuperResolution(3, pp.kernels.motion(7, 30), offset=1, boundary="reflect"),
        pp.models.SuperResolution(2, np.pad(pp.kernels.bicubic(2), ((0, 0), (0, 2))), boundary="reflect"),
    ],
)
def test_x_is_mirrored_where_samples_of_a_mirror_image_are_mirrored(model):
    """Then all that lies beyond the frame follows from what is inside; otherwise it is not known."""
    x = np.random.default_rng(0).random((24, 36))
    y = model.forward(x)
    commutes = all(
        np.allclose(model.forward(np.flip(x, axis)), np.flip(y, axis), rtol=0, atol=1e-12) for axis in (0, 1)
    )
    assert model.data_term(y).mirrored == commutes
    circular = pp.models.SuperResolution(model.factor, model.kernel, offset=model.offset)
    assert not circular.data_term(y).mirrored
    blur = pp.models.Deblurring(pp.kernels.box(3), boundary="reflect")
    assert not blur.data_term(y).mirrored
