"""Plans: what is decided before the first iteration, and running it anywhere, in pieces, or not to the end."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.fft

import plugplay as pp

BLUR = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=1.0))


@pytest.fixture(scope="module")
def blurred(camera):
    return BLUR.simulate(camera[:48, :40], noise=0.02, rng=0)


def test_restoring_is_preparing_and_running(blurred):
    plan = pp.prepare(blurred, BLUR, denoiser="tv")
    result = pp.restore(blurred, BLUR, denoiser="tv")
    once, again = plan.run(), plan.run()
    assert once.image.tobytes() == again.image.tobytes() == result.image.tobytes()
    assert once.parameters == result.parameters
    assert plan.parameters == result.parameters


def test_a_plan_iterates_state_by_state(blurred):
    plan = pp.prepare(blurred, BLUR, denoiser="tv")
    states = plan.iterate()
    seen = []
    while True:
        try:
            seen.append(next(states))
        except StopIteration as end:
            result = end.value
            break
    assert [state.iteration for state in seen] == list(range(1, len(seen) + 1))
    assert result.image.tobytes() == plan.run().image.tobytes()
    np.testing.assert_array_equal(plan.image(seen[-1]), result.image)


def test_integers_are_shown_on_their_scale_in_the_middle_of_a_run(camera):
    stored = np.moveaxis(np.stack([np.round(camera[:32, :32] * 255)] * 3), 0, 0).astype(np.uint8)
    plan = pp.prepare(stored, pp.models.Deblurring(pp.kernels.box(3)), denoiser="tv", channel_axis=0)
    state = next(plan.iterate())
    assert plan.image(state).shape == (3, 32, 32)
    assert 0 <= plan.image(state).mean() <= 1


def test_states_cannot_be_changed_from_outside(blurred):
    for boundary in ("circular", "unknown"):
        model = pp.models.Deblurring(pp.kernels.box(3), boundary=boundary)
        state = next(pp.prepare(blurred, model, denoiser="tv").iterate())
        for array in (state.x, state.v, state.u, state.image):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 1.0


def test_a_callback_stops_a_run(blurred):
    def stop(state):
        if state.iteration == 3:
            raise StopIteration

    result = pp.prepare(blurred, BLUR, denoiser="tv").run(callback=stop)
    assert result.status is pp.Status.STOPPED
    assert len(result.history) == 3
    resumed = pp.restore(blurred, BLUR, denoiser="tv", start=result.state)
    assert resumed.image.tobytes() == pp.restore(blurred, BLUR, denoiser="tv").image.tobytes()


class Telling:
    """A denoiser that tells its progress in four steps."""

    name = "telling"

    def __call__(self, image, sigma):
        return image / (1 + sigma)

    def session(self, progress=None):
        def denoise(image, sigma):
            for quarter in (0.25, 0.5, 0.75, 1.0):
                if progress is not None:
                    progress(quarter)
            return self(image, sigma)

        return denoise


def test_a_run_is_cancelled_inside_the_denoiser(blurred):
    told = []

    def progress(share):
        told.append(share)
        if len(told) == 10:  # the second step of the third iteration
            raise pp.Cancelled

    result = pp.prepare(blurred, BLUR, denoiser=Telling()).run(progress=progress)
    assert result.status is pp.Status.STOPPED
    assert len(result.history) == 2
    assert len(told) == 10


def test_the_search_for_lambda_is_cancelled(blurred):
    shares = []

    def progress(share):
        shares.append(share)
        if len(shares) == 5:
            raise pp.Cancelled

    plan = pp.prepare(blurred, BLUR, denoiser="tv", tune="sure", rng=0)
    result = plan.run(progress=progress)
    assert result.status is pp.Status.STOPPED
    assert len(result.history) == 0
    assert result.image.shape == blurred.shape
    assert 0 < shares[0] < shares[-1] < 1


def test_a_search_finds_the_same_lambda_each_time(blurred):
    plan = pp.prepare(blurred, BLUR, denoiser="tv", tune="sure", rng=np.random.default_rng(3))
    assert plan.run().parameters.lam == plan.run().parameters.lam


def test_other_errors_of_progress_are_the_callers(blurred):
    def progress(share):
        raise OSError("the pipe is closed")

    with pytest.raises(RuntimeError, match="the pipe is closed"):
        pp.prepare(blurred, BLUR, denoiser=Telling()).run(progress=progress)


@pytest.mark.parametrize("options", [{}, {"tune": "sure", "rng": 1}])
def test_another_process_makes_the_same_bits(blurred, tmp_path, options):
    plan = pp.prepare(blurred, BLUR, denoiser="tv", **options)
    (tmp_path / "plan").write_bytes(pickle.dumps(plan))
    code = (
        "import pickle, sys, pathlib; folder = pathlib.Path(sys.argv[1]); "
        "(folder / 'image').write_bytes(pickle.loads((folder / 'plan').read_bytes()).run().image.tobytes())"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert (tmp_path / "image").read_bytes() == plan.run().image.tobytes()


def test_a_denoiser_that_cannot_be_pickled_is_named(blurred):
    def local(image, sigma):
        return image

    with pytest.raises(TypeError, match="its denoiser 'local' cannot"):
        pickle.dumps(pp.prepare(blurred, BLUR, denoiser=local))


def test_the_callers_threads_are_left_alone(blurred):
    with scipy.fft.set_workers(1):
        states = pp.prepare(blurred, BLUR, denoiser="tv", workers=2).iterate()
        next(states)
        assert scipy.fft.get_workers() == 1


def test_what_was_used_is_recorded(blurred):
    used = pp.prepare(blurred, BLUR).parameters
    assert used.prepared.purpose == "restoration"
    assert used.iteration == "admm"
    assert used.working_range == used.data_range == (0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iteration": "sgd"}, "iteration must be one of 'admm', 'hqs'"),
        ({"iteration": object()}, "iteration must be a name or have name, init, step and image"),
        ({"strength": 0}, "strength must be > 0"),
        ({"noise": 5}, "for 8-bit images write 5/255"),
        ({"noise": 1e300}, "for 8-bit images write 5/255"),
        ({"noise": "loud"}, "noise must be a number, a PoissonGaussian, a ColouredNoise or 'auto'; got 'loud'"),
        ({"clip": "hard"}, "clip must be one of 'auto'; got 'hard'"),
        ({"clip": (1, 0)}, "low < high"),
        ({"spatial_ndim": 3}, "spatial_ndim is 3, but Deblurring works on 2"),
        ({"spatial_ndim": 4}, "spatial_ndim must be 2 (images) or 3 (volumes); got 4"),
        ({"data_range": (0, 1e39)}, "data_range must be a range that float32 can hold"),
        ({"max_iter": -1}, "max_iter must be an integer >= 0"),
    ],
)
def test_bad_options(blurred, options, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        pp.prepare(blurred.astype(np.float32), BLUR, denoiser="tv", **options)
    assert message in str(caught.value)


def test_misspelt_options_blame_the_function_that_was_called(blurred):
    with pytest.raises(TypeError, match="denoise: .*'denoisr'"):
        pp.denoise(blurred, denoisr="tv")


def test_signatures_show_every_option():
    import inspect

    for verb in (pp.denoise, pp.deblur, pp.inpaint, pp.super_resolve, pp.single_photon):
        assert {"denoiser", "strength", "iteration", "channel_axis"} <= set(inspect.signature(verb).parameters)


def test_colour_without_a_channel_axis_is_guessed_and_said(astronaut):
    result = pp.denoise(astronaut, denoiser="tv", noise=0.05)
    told = pp.denoise(astronaut, denoiser="tv", noise=0.05, channel_axis=-1)
    assert result.image.tobytes() == told.image.tobytes()
    assert "taken to be colour" in result.warnings[0]
    assert told.warnings == ()


def test_counts_in_a_corner_of_their_range_are_restored(camera):
    """16-bit counts from 86 to 250: a black image on the scale of the type."""
    counts = np.rint(86 + 164 * camera + np.random.default_rng(0).normal(0, 12, camera.shape)).astype(np.uint16)
    result = pp.denoise(counts, denoiser="tv")
    restored = result.image * 65535
    truth = 86 + 164 * camera
    assert np.std(restored - truth) < 0.6 * np.std(counts - truth)
    low, high = result.parameters.working_range
    assert 0 < low < 90 < 240 < high < 400
    assert result.parameters.data_range == (0, 65535)
