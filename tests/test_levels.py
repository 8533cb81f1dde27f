"""Coarse to fine: the grids, what the history tells of them, and what a caller sees on the way."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.kernels import coarsened_kernel
from plugplay.pnp.driver import Cancelled

KERNEL = pp.kernels.motion(21, 30)  # wide enough for a coarse grid
MODEL = pp.models.Deblurring(KERNEL, boundary="unknown")


@pytest.fixture(scope="module")
def truth():
    return data.camera()[100:253, 150:310] / 255


@pytest.fixture(scope="module")
def blurred(truth):
    """141 x 142 pixels: an odd number of rows."""
    return MODEL.simulate(truth, noise=2 / 255, rng=0)


def deblurred(y, **options):
    return pp.prepare(y, MODEL, noise=2 / 255, denoiser="tv", **options)


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("shape", [(5, 7), (4, 6), (1, 3)])
def test_means_of_a_blurred_image_are_the_blurred_means(factor, shape):
    """Exact for images that are constant on the cells."""
    rng = np.random.default_rng(0)
    kernel, cells = rng.random(shape), rng.random((8, 9))
    image = np.kron(cells, np.ones((factor, factor)))
    blurred = pp.models.Deblurring(kernel).forward(image)
    means = blurred.reshape(8, factor, 9, factor).mean(axis=(1, 3))
    coarse = pp.models.Deblurring(kernel).coarsened(factor)
    np.testing.assert_allclose(coarse.forward(cells), means)
    assert coarsened_kernel(kernel, factor).sum() == pytest.approx(kernel.sum())


def test_the_history_tells_the_levels(blurred, truth):
    rows, columns = (n - m + 1 for n, m in zip(truth.shape, KERNEL.shape, strict=True))
    inside = truth[KERNEL.shape[0] // 2 :, KERNEL.shape[1] // 2 :][:rows, :columns]
    images = []
    result = deblurred(blurred, reference=inside).run(callback=lambda state: images.append(state.image.shape))
    level = result.history.level
    coarse = np.count_nonzero(level)
    assert 5 < coarse < len(level) - 5
    assert level.tolist() == [1.0] * coarse + [0.0] * (len(level) - coarse)
    assert set(images) == {blurred.shape}
    assert result.image.shape == blurred.shape
    assert len(images) == len(level) == result.state.iteration
    assert np.isfinite(result.history.psnr).all()
    # The full run begins with what the coarse one has found, and goes on from there.
    psnr = result.history.psnr
    assert psnr[-1] > psnr[coarse - 1] > pp.psnr(blurred, inside) + 1


def test_both_ways_lead_to_the_same_image(blurred, truth):
    levels, single = (deblurred(blurred, **options).run() for options in ({}, {"max_iter": 40}))
    assert single.history.level.max() == 0
    rows, columns = blurred.shape
    inside = truth[KERNEL.shape[0] // 2 :, KERNEL.shape[1] // 2 :][:rows, :columns]
    assert abs(pp.psnr(levels.image, inside) - pp.psnr(single.image, inside)) < 0.3


@pytest.mark.parametrize("last", [3, -2])
def test_a_run_resumes_on_either_grid(truth, last, tmp_path):
    """Bit-identical where the model's step is exact; conjugate gradients begin from their last solution."""
    model = pp.models.Deblurring(KERNEL)
    plan = pp.prepare(model.simulate(truth, noise=2 / 255, rng=0), model, noise=2 / 255, denoiser="tv")
    states = []
    whole = plan.run(callback=states.append)
    states[last].save(tmp_path / "state.npz")
    resumed = plan.resumed(type(whole.state).load(tmp_path / "state.npz")).run()
    assert resumed.image.tobytes() == whole.image.tobytes()
    np.testing.assert_array_equal(resumed.history.delta, whole.history.delta)
    np.testing.assert_array_equal(resumed.history.level, whole.history.level)


def test_stopping_on_the_coarse_grid_shows_what_there_is(blurred):
    def stop(state):
        if state.iteration == 3:
            raise StopIteration

    result = deblurred(blurred).run(callback=stop)
    assert result.status is pp.Status.STOPPED
    assert result.history.level.tolist() == [1.0] * 3
    assert result.image.shape == blurred.shape
    assert np.isfinite(result.image).all()


def test_cancelling_inside_the_denoiser_on_the_coarse_grid(blurred):
    calls = 0

    def progress(share):
        nonlocal calls
        calls += share == 1
        if calls == 4:
            raise Cancelled

    result = pp.prepare(blurred, MODEL, noise=2 / 255, denoiser=pp.denoisers.get("bm3d", workers=1)).run(
        progress=progress
    )
    assert result.status is pp.Status.STOPPED
    assert result.history.level.tolist() == [1.0] * 3
    assert result.image.shape == blurred.shape


def test_the_certificate_is_about_the_full_resolution(blurred):
    result = deblurred(blurred).run()
    certificate = pp.certify(result, MODEL.data_term(blurred))
    assert certificate.behaved
    assert certificate.promised_rate == pytest.approx(result.parameters.schedule.gamma**-0.5)


def test_colour(blurred):
    colour = np.stack([blurred, 0.8 * blurred, blurred**2], axis=-1).astype(np.float32)
    result = deblurred(colour, channel_axis=-1).run()
    assert result.history.level.max() == 1
    assert result.image.shape == colour.shape


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (MODEL, {"max_iter": 5}),
        (MODEL, {"lam": 1e-4, "max_iter": 5}),
        (MODEL, {"iteration": "hqs"}),
        (pp.models.Deblurring(KERNEL, mask=np.arange(141 * 142).reshape(141, 142) % 50 > 0), {}),
    ],
)
def test_other_runs_stay_on_one_grid(blurred, model, options):
    result = pp.restore(blurred, model, noise=2 / 255, denoiser="gaussian", **options)
    assert result.history.level.max() == 0
