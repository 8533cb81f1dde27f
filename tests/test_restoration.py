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
    if isinstance(model, pp.models.Inpainting):
        options = {}  # holes begin from a spline, which knows more of scattered ones than total variation does
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


def test_floats_far_outside_the_unit_range_get_a_range_from_the_data(blurred):
    result = pp.restore(blurred * 500 - 100, BLUR, denoiser="tv", noise=0.02 * 500)
    low, high = result.parameters.working_range
    same = pp.restore(blurred, BLUR, denoiser="tv", noise=0.02, data_range=((low + 100) / 500, (high + 100) / 500))
    assert low < -100 + 500 * blurred.min() + 5
    assert high > -100 + 500 * blurred.max() - 5
    assert np.std((result.image + 100) / 500 - same.image) < 0.01
    assert result.parameters.lam == pytest.approx(same.parameters.lam * 500**2, rel=0.05)
    assert "are not between 0 and 1" in result.warnings[0]


@pytest.mark.parametrize(("factor", "shift"), [(1.0, -0.5), (1.0, 0.3), (1e-15, 0.0), (1e20, 0.0)])
def test_floats_of_any_size_and_sign_are_restored_alike(camera, blurred, factor, shift):
    """Light below zero, or in units in which it is tiny, is neither clipped nor taken for a constant."""
    moved = pp.restore(blurred * factor + shift, BLUR, denoiser="tv", noise=0.02 * factor)
    back = (moved.image - shift) / factor
    low, high = moved.parameters.working_range
    same = pp.restore(
        blurred, BLUR, denoiser="tv", noise=0.02, data_range=((low - shift) / factor, (high - shift) / factor)
    )
    assert np.std(back - same.image) < 0.01
    assert moved.status.name == same.status.name
    usual = pp.restore(blurred, BLUR, denoiser="tv", noise=0.02)
    assert pp.psnr(back, camera) == pytest.approx(pp.psnr(usual.image, camera), abs=0.1)


def test_noise_beyond_black_and_white_is_no_light():
    """Noisy floats of a dark and bright image reach far beyond [0, 1], which stays their range."""
    image = np.repeat([0.0, 1.0], 32) * np.ones((64, 1))
    noisy = image + np.random.default_rng(0).normal(0, 0.2, image.shape)
    assert pp.denoise(noisy, denoiser="tv").parameters.working_range == (0.0, 1.0)
    assert pp.denoise(noisy - 0.4, denoiser="tv", data_range=(0, 1)).parameters.working_range == (0.0, 1.0)


def test_integers_that_are_lost_in_their_range_are_refused_with_what_to_do():
    """NumPy makes 64-bit integers of lists, and of sums of pixels."""
    counts = np.random.default_rng(0).integers(0, 256, (16, 16))
    with pytest.raises(ValueError, match=r"from 0 to 25\d, a tiny part of the range of int64: give data_range="):
        pp.denoise(counts.astype(np.int64))
    same = [
        pp.denoise(counts.astype(dtype), data_range=(0, 255), denoiser="tv").image for dtype in (np.int64, np.int32)
    ]
    np.testing.assert_array_equal(*same)


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
        ({"y": "image.png"}, "y must be an array of real numbers; got 'image.png'"),
        ({"y": np.zeros((4, 4), complex)}, "y must be an array of real numbers; got ndarray of dtype complex128"),
        ({"y": np.zeros((16, 16, 5))}, "channel_axis="),
        ({"y": np.zeros((16, 16, 5))}, "spatial_ndim=3"),
        ({"y": np.zeros(16)}, "2 axes are expected"),
        ({"y": np.full((16, 16), np.nan)}, "mask="),
        ({"y": np.where(np.eye(16) > 0, np.inf, 0.5)}, "16 NaN or infinite value(s) among 256"),
        ({"y": [[1.0, 2.0], [3.0]]}, "y is not a regular array"),
        ({"channel_axis": 0}, "with channel_axis 3 axes are expected"),
        ({"y": np.zeros((16, 16, 3)), "channel_axis": 7}, "channel_axis is 7"),
        ({"denoiser": "bm4d"}, "unknown denoiser 'bm4d'; available:"),
        ({"denoiser": 3}, "denoiser must be a name or a callable"),
        ({"noise": -0.1}, "noise must be >= 0; got -0.1"),
        (
            {"noise": np.full((16, 16), 0.1)},
            "noise must be a number, a PoissonGaussian, a ColouredNoise or 'auto'; got an",
        ),
        ({"noise": [0.1, 0.2]}, "got [0.1, 0.2] of type list"),
        ({"y": np.linspace(0, 1e-310, 256).reshape(16, 16)}, "below the smallest normal float"),
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


def test_denoising_by_hand_iterates(camera):
    y = np.clip(camera + 0.1 * np.random.default_rng(0).normal(size=camera.shape), 0, 1)
    by_hand = {"lam": 1e-2, "schedule": pp.Monotone(rho0=0.5, gamma=1.5)}
    result = pp.restore(y, pp.models.Denoising(), denoiser="tv", **by_hand)
    assert len(result.history) > 5
    dark = pp.denoise(y, denoiser="tv", start=np.zeros_like(y))
    assert dark.image.mean() == pytest.approx(y.mean(), abs=0.02)


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
def test_a_start_has_the_shape_of_the_image(boundary, blurred):
    result = pp.deblur(blurred, BLUR.kernel, boundary=boundary, denoiser="tv", start=blurred, max_iter=1)
    assert result.image.shape == blurred.shape


def test_what_lies_outside_the_mask_has_no_scale(camera):
    mask = np.random.default_rng(1).random(camera.shape) < 0.7
    options = {"denoiser": "tv", "max_iter": 2}
    plain = pp.inpaint(camera, mask, **options)
    np.testing.assert_array_equal(pp.inpaint(np.where(mask, camera, -9999.0), mask, **options).image, plain.image)


def test_masks_follow_the_channel_axis(astronaut):
    mask = np.random.default_rng(2).random(astronaut.shape) < 0.7
    last = pp.inpaint(astronaut, mask, denoiser="tv", channel_axis=-1, max_iter=2)
    moved = np.moveaxis(astronaut, -1, 0), np.moveaxis(mask, -1, 0)
    first = pp.inpaint(*moved, denoiser="tv", channel_axis=0, max_iter=2)
    np.testing.assert_array_equal(np.moveaxis(first.image, 0, -1), last.image)


@pytest.mark.parametrize(
    ("axis", "shape"), [(0, (3, 8, 9)), (1, (3, 8, 9)), (2, (8, 3, 9)), (3, (8, 9, 3)), (-1, (8, 9, 3))]
)
def test_channels_of_photon_cubes_stay_in_place(axis, shape):
    bits = np.random.default_rng(3).random((4, 16, 18, 3)) < 0.5
    cube, x = np.moveaxis(bits, -1, axis), np.zeros(shape)
    result = pp.single_photon(cube, oversampling=2, denoiser="tv", channel_axis=axis, max_iter=1, reference=x)
    assert result.image.shape == shape
    assert "noise" not in result.parameters.chosen


def test_a_cube_of_one_frame_is_that_frame():
    bits = np.random.default_rng(4).random((1, 16, 18)) < 0.5
    options = {"oversampling": 2, "denoiser": "tv", "max_iter": 2}
    frame = pp.single_photon(bits[0], **options)
    np.testing.assert_array_equal(pp.single_photon(bits, **options).image, frame.image)
    colour = np.stack([bits] * 3, axis=-1)
    assert pp.single_photon(colour, channel_axis=3, **options).image.shape == (8, 9, 3)


def test_references_of_another_depth_keep_their_own_range(camera):
    twelve_bits = np.round(camera * 4095).astype(np.uint16)
    eight_bits = np.round(camera * 255).astype(np.uint8)
    result = pp.denoise(twelve_bits, data_range=(0, 4095), noise=1e-6, denoiser="tv", reference=eight_bits)
    assert result.history.psnr[-1] > 45


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: pp.restore(y, "deblur"), "model must be a model such as"),
        (lambda y: pp.restore(y, pp.models.Denoising), "model must be a model such as"),
        (
            lambda y: pp.restore(np.ma.array(y, mask=y > 0.5), BLUR),
            "y is a masked array: give y.data, and mask=~y.mask",
        ),
        (lambda y: pp.restore(y, BLUR, tune="sure", rng=0, lam=1e-3), "give only one of them"),
        (lambda y: pp.restore(y, BLUR, noise=float("inf")), "noise must be finite and >= 0; got inf"),
        (lambda y: pp.restore(y, BLUR, schedule="monotone", denoiser="tv"), "schedule must be one such as Monotone"),
        (lambda y: pp.restore(y, BLUR, callback=3, denoiser="tv"), "callback must be callable"),
        (lambda y: pp.single_photon(y > 0.5, data_range=(0, 5)), "data_range is for intensities"),
        (lambda y: pp.pnp_admm(BLUR, print, schedule=pp.Constant(1.0), lam=1.0), "bind it with model.data_term(y)"),
    ],
)
def test_wrong_kinds_of_arguments(call, message, camera):
    with pytest.raises((ValueError, TypeError)) as caught:
        call(camera[:32, :32])
    assert message in str(caught.value)


def test_inpainting_with_a_mask_that_marks_nothing_is_questioned():
    scene = np.add.outer(np.arange(24), np.arange(20)) / 50
    options = {"denoiser": "tv", "max_iter": 2, "noise": 0.02}
    mask = np.ones(scene.shape, bool)
    (told,) = [text for text in pp.inpaint(scene, mask, **options).warnings if "the mask" in text]
    assert told.startswith("the mask marks nothing as missing, so nothing was filled in")
    mask[3, 4] = False
    assert pp.inpaint(scene, mask, **options).warnings == ()


@pytest.mark.parametrize(("given", "told"), [(0.01, True), (0.04, False), (0.08, False), (None, False)])
def test_a_level_far_below_the_noise_is_kept_with_a_warning(camera, given, told):
    noisy = (255 * np.clip(camera + np.random.default_rng(0).normal(0, 0.05, camera.shape), 0, 1)).astype(np.uint8)
    result = pp.denoise(noisy, denoiser="tv", noise=given)
    assert any("and only the given 0.01 was removed" in text for text in result.warnings) == told
    if told:
        assert result.parameters.noise == given
        assert result.status is not pp.Status.DOUBTFUL
        assert pp.denoise(noisy, denoiser="tv", noise=given, exact_noise=True).warnings == ()
