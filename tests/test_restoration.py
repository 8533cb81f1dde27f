"""`restore`: scales, colour, threads, errors."""

import numpy as np
import pytest

import plugplay as pp

OPTIONS = {"denoiser": "tv", "lam": 1e-3, "schedule": pp.Monotone(rho0=0.05, gamma=1.5)}
BLUR = pp.models.Deblurring(pp.kernels.gaussian(7, sigma=1.5))


@pytest.fixture(scope="module")
def blurred(camera):
    return BLUR.simulate(camera, noise=0.02, rng=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: (pp.models.Denoising(), 0.1),
        lambda x: (BLUR, 0.02),
        lambda x: (pp.models.Deblurring(pp.kernels.box(5), boundary="reflect"), 0.02),
        lambda x: (pp.models.Inpainting(np.random.default_rng(0).random(x.shape[:2]) < 0.4), 0.02),
        lambda x: (pp.models.SuperResolution(2, "bicubic"), 0.0),
    ],
    ids=["denoise", "deblur", "reflect", "inpaint", "upscale"],
)
@pytest.mark.parametrize("colour", [False, True], ids=["gray", "colour"])
def test_every_model_gains(make, colour, camera, astronaut):
    x = astronaut if colour else camera
    model, noise = make(x)
    y = model.simulate(x, noise=noise, rng=1)
    options = {**OPTIONS, "lam": 1e-3 if noise else 1e-5}
    result = pp.restore(y, model, **options, reference=x, channel_axis=-1 if colour else None)
    term = model.data_term(y)
    assert result.image.shape == x.shape
    assert pp.psnr(result.image, x) > pp.psnr(term.crop(term.start()), x) + 0.3
    assert result.history.psnr[-1] == pytest.approx(pp.psnr(result.image, x), abs=1e-9)


def test_single_photon_gains(camera):
    sensor = pp.models.SinglePhoton(4)
    bits = sensor.simulate(camera, rng=2)
    result = pp.restore(
        bits, sensor, denoiser="tv", lam=0.2, schedule=pp.Monotone(rho0=4.0, gamma=1.3), reference=camera
    )
    assert result.image.shape == camera.shape
    assert result.history.psnr[-1] > pp.psnr(sensor.data_term(bits).start(), camera) + 6


def test_single_photon_frames_and_colour(astronaut):
    sensor = pp.models.SinglePhoton(2, frames=4)
    bits = sensor.simulate(astronaut, rng=3)
    assert bits.shape == (4, 128, 128, 3)
    result = pp.restore(
        bits, sensor, denoiser="tv", lam=0.5, schedule=pp.Monotone(rho0=10.0, gamma=1.5), channel_axis=3
    )
    assert result.image.shape == astronaut.shape


def test_an_unknown_boundary_leaves_no_ringing(camera):
    kernel = pp.kernels.motion(15, 30)
    rows, columns = kernel.shape
    model = pp.models.Deblurring(kernel, boundary="unknown")
    y = model.simulate(camera, noise=1 / 255, rng=4)
    frame = camera[rows // 2 : rows // 2 + y.shape[0], columns // 2 : columns // 2 + y.shape[1]]
    quality, options = {}, {"denoiser": "tv", "lam": 1e-4, "schedule": pp.Monotone(rho0=5e-3, gamma=1.3)}
    for boundary in ("circular", "reflect", "unknown"):
        guess = pp.models.Deblurring(kernel, boundary=boundary)
        quality[boundary] = pp.psnr(pp.restore(y, guess, **options).image, frame)
    assert quality["unknown"] > quality["reflect"] + 2
    assert quality["reflect"] > quality["circular"] + 2


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.uint32])
def test_integers_come_back_on_the_unit_scale(blurred, dtype):
    limits = np.iinfo(dtype)
    stored = np.round(limits.min + np.clip(blurred, 0, 1) * (float(limits.max) - limits.min)).astype(dtype)
    result = pp.restore(stored, BLUR, **OPTIONS)
    same = pp.restore(np.clip(blurred, 0, 1), BLUR, **OPTIONS)
    assert result.image.dtype == (np.float64 if np.dtype(dtype).itemsize == 4 else np.float32)
    assert np.abs(result.image - same.image).max() < 0.05
    assert result.parameters.data_range == (limits.min, limits.max)


def test_floats_come_back_in_their_own_units(blurred):
    same = pp.restore(blurred, BLUR, **OPTIONS)
    result = pp.restore(blurred * 500 - 100, BLUR, **OPTIONS, data_range=(-100, 400), reference=blurred * 500 - 100)
    np.testing.assert_allclose(result.image, same.image * 500 - 100, atol=1e-6)
    assert result.history.psnr[-1] == pytest.approx(pp.psnr(same.image, blurred), abs=1e-6)
    with pytest.raises(ValueError, match=r"far outside the range \(0, 1\); say which .* data_range="):
        pp.restore(blurred * 500, BLUR, **OPTIONS)


def test_single_precision_is_kept(blurred):
    assert pp.restore(blurred.astype(np.float32), BLUR, **OPTIONS).image.dtype == np.float32
    assert pp.restore(blurred, BLUR, **OPTIONS).image.dtype == np.float64


def test_the_channel_axis_may_be_anywhere(astronaut):
    y = BLUR.simulate(astronaut, noise=0.02, rng=5)
    last = pp.restore(y, BLUR, **OPTIONS, channel_axis=-1, reference=astronaut)
    first = pp.restore(np.moveaxis(y, -1, 0), BLUR, **OPTIONS, channel_axis=0, reference=np.moveaxis(astronaut, -1, 0))
    np.testing.assert_array_equal(np.moveaxis(first.image, 0, -1), last.image)
    np.testing.assert_array_equal(first.history.psnr, last.history.psnr)


@pytest.mark.parametrize(
    "model",
    [
        BLUR,
        pp.models.Deblurring(pp.kernels.disk(3), boundary="unknown"),
        pp.models.SuperResolution(2, "bicubic"),
    ],
    ids=["closed form", "conjugate gradients", "polyphase"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_does_not_change_a_bit(model, dtype):
    from skimage import data

    y = (data.camera()[:300, :277] / 255).astype(dtype)
    one, two, all_cores = (pp.restore(y, model, **OPTIONS, max_iter=2, workers=workers) for workers in (1, 2, None))
    assert one.image.tobytes() == two.image.tobytes() == all_cores.image.tobytes()
    np.testing.assert_array_equal(one.history.delta, two.history.delta)


def test_inputs_are_not_modified(blurred, camera):
    given = blurred.copy()
    pp.restore(given, BLUR, **OPTIONS, start=given, reference=camera)
    np.testing.assert_array_equal(given, blurred)


def test_everything_used_is_reported(blurred):
    result = pp.restore(blurred, BLUR, **OPTIONS, noise=0.02, max_iter=7, tol=1e-9)
    used = result.parameters
    assert (used.denoiser, used.lam, used.schedule, used.noise) == ("tv", 1e-3, OPTIONS["schedule"], 0.02)
    assert (used.max_iter, used.tol, used.model, used.chosen) == (7, 1e-9, BLUR, ())


def test_a_gray_only_denoiser_works_on_colour(astronaut):
    def gray_only(image, sigma):
        assert image.ndim == 2
        return image / (1 + sigma)

    options = {**OPTIONS, "denoiser": pp.denoisers.per_channel(gray_only)}
    result = pp.restore(astronaut, pp.models.Denoising(), **options, channel_axis=-1)
    assert result.parameters.denoiser == "gray_only"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros((0, 4))}, "y is empty: its shape is (0, 4)"),
        ({"y": "picture.png"}, "y must be an array of real numbers; got 'picture.png'"),
        ({"y": np.zeros((4, 4), complex)}, "y must be an array of real numbers; got ndarray of dtype complex128"),
        ({"y": np.zeros((16, 16, 3))}, "channel_axis="),
        ({"y": np.zeros(16)}, "2 axes are expected"),
        ({"y": np.full((16, 16), np.nan)}, "mask="),
        ({"y": np.where(np.eye(16) > 0, np.inf, 0.5)}, "16 NaN or infinite value(s) among 256"),
        ({"y": [[1.0, 2.0], [3.0]]}, "y is not a regular array"),
        ({"channel_axis": 0}, "with channel_axis 3 axes are expected"),
        ({"y": np.zeros((16, 16, 3)), "channel_axis": 7}, "channel_axis is 7"),
        ({"denoiser": "bm4d"}, "there is no denoiser called 'bm4d'; known are"),
        ({"denoiser": 3}, "denoiser must be a callable"),
        ({"noise": -0.1}, "noise must be >= 0; got -0.1"),
        ({"lam": -1.0}, "lam must be > 0"),
        ({"data_range": (1, 0)}, "low < high"),
        ({"data_range": "8bit"}, "data_range must be a pair"),
        ({"workers": 0}, "workers must be an integer >= 1"),
        ({"workers": "all"}, "workers must be an integer; got 'all'"),
        ({"reference": np.zeros((3, 3))}, "reference has the shape (3, 3)"),
        ({"start": np.zeros((3, 3))}, "start has the shape (3, 3)"),
    ],
)
def test_bad_input(change, message):
    arguments = {"y": np.full((16, 16), 0.5), **OPTIONS, **change}
    with pytest.raises((ValueError, TypeError)) as caught:
        pp.restore(arguments.pop("y"), BLUR, **arguments)
    assert message in str(caught.value)


def test_typos_are_refused(blurred):
    with pytest.raises(TypeError, match="gama"):
        pp.restore(blurred, BLUR, **OPTIONS, gama=2)
