"""Photon cubes through the installed command: exposure, defects, dark cubes, layouts, counts, videos."""

import json

import numpy as np
import pytest
import tifffile

import plugplay as pp

HEIGHT, WIDTH, FRAMES, GAIN = 64, 96, 300, 0.2


@pytest.fixture(scope="module")
def light():
    """A smooth scene with edges, on [0, 1]."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    scene = 0.15 + 0.5 * columns / WIDTH
    scene[(rows - 30) ** 2 + (columns - 60) ** 2 < 300] = 1.0
    scene[10:40, 8:30] = 0.05
    return scene * (0.85 + 0.15 * np.sin(columns / 2.3) * np.cos(rows / 3.1))


def cube_of(light, *, seed=0, frames=FRAMES, hot=(), dead=(), dark=0.0):
    rng = np.random.default_rng(seed)
    chance = 1 - np.exp(-(GAIN * light + dark))
    for place in hot:
        chance[place] = 0.9
    for place in dead:
        chance[place] = 0.0
    return (rng.random((frames, *light.shape)) < chance).astype(np.uint8)


def restored(run, path, *options, output="out.npy"):
    out = path.parent / output
    done = run("photon", path, "-o", out, "--json", "--overwrite", *options)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout.splitlines()[-1])
    image = np.load(out) if out.suffix == ".npy" else tifffile.imread(out)
    return image, record["warnings"]


def white(warnings):
    return next(float(text.split()[2]) for text in warnings if text.startswith("white is"))


def test_exposure_and_defects_come_from_the_counts(light, tmp_path, run):
    rng = np.random.default_rng(1)
    places = [tuple(place) for place in rng.integers(0, (HEIGHT, WIDTH), (30, 2))]
    hot, dead = set(places[:25]), set(places[25:]) - set(places[:25])
    np.save(tmp_path / "cube.npy", np.packbits(cube_of(light, hot=hot, dead=dead), axis=2))
    image, warnings = restored(run, tmp_path / "cube.npy", "--packed-axis", "2")
    told = next(text for text in warnings if "hot and" in text).split()
    assert 0.8 * len(hot) <= int(told[0]) <= len(hot) + 1
    assert int(told[3]) <= len(dead) + 1
    assert white(warnings) == pytest.approx(GAIN, rel=0.35)
    assert 0.65 < np.quantile(image, 0.99) <= 1.0  # it fills the range
    assert pp.psnr(image * white(warnings) / GAIN, light) > 27
    by_hand, none = restored(run, tmp_path / "cube.npy", "--packed-axis", "2", "--gain", GAIN, "--no-defects")
    assert not any("white is" in text or "hot and" in text for text in none)
    assert pp.psnr(by_hand, light) < pp.psnr(image * white(warnings) / GAIN, light) - 3


def test_dark_counts_come_from_a_dark_cube(light, tmp_path, run):
    hot = [(5, 5), (40, 70)]
    np.save(tmp_path / "cube.npy", cube_of(light, dark=0.1, hot=hot))
    np.save(tmp_path / "dark.npy", cube_of(np.zeros_like(light), seed=5, dark=0.1, hot=hot))
    options = ("--gain", GAIN, "--no-defects", "--dark", tmp_path / "dark.npy")
    image, warnings = restored(run, tmp_path / "cube.npy", *options)
    told = next(text for text in warnings if "dark counts" in text)
    assert float(told.split()[0]) == pytest.approx(0.1, rel=0.05)
    assert "2 hot jots" in told
    assert pp.psnr(image, light) > 26


@pytest.mark.parametrize(
    ("stored", "options", "question"),
    [
        (lambda bits: np.packbits(bits, axis=2, bitorder="little"), ("--packed-axis", 2), "is it --bit-order little"),
        (lambda bits: np.packbits(bits, axis=2), ("--packed-axis", 1), "is it another --packed-axis"),
        (lambda bits: np.packbits(bits, axis=2), ("--packed-axis", 0), "an axis of the frame"),
        (lambda bits: np.packbits(bits, axis=0), ("--packed-axis", 2), "is it another --packed-axis"),
        (lambda bits: np.packbits(bits, axis=0), ("--packed-axis", 1), "is it another --packed-axis"),
        (lambda bits: np.packbits(bits, axis=0), ("--packed-axis", 0), None),
        (lambda bits: bits, ("--packed-axis", 2), "do not seem to be packed"),
        (lambda bits: np.packbits(bits, axis=2), ("--packed-axis", 2), None),
    ],
)
def test_wrong_layouts_are_questioned(stored, options, question, light, tmp_path, run):
    hot = [tuple(place) for place in np.random.default_rng(3).integers(0, light.shape, (30, 2))]
    np.save(tmp_path / "cube.npy", stored(cube_of(light, frames=640, hot=hot)))
    out = tmp_path / "out.npy"
    done = run("photon", tmp_path / "cube.npy", "-o", out, "--denoiser", "gaussian", "--strict", *options)
    if question is None:
        assert done.returncode == 0, done.stderr
        assert "seem" not in done.stderr
    else:
        assert question in done.stderr
        assert done.returncode == 3


@pytest.mark.parametrize(
    ("stored", "options", "question"),
    [
        (lambda bits: bits, (), None),
        (lambda bits: np.moveaxis(bits, 0, -1), (), "is it --time-axis 2"),
        (lambda bits: np.moveaxis(bits, 0, 1), (), "is it --time-axis 1"),
        (lambda bits: np.moveaxis(bits, 0, -1), ("--time-axis", 2), None),
        (lambda bits: np.packbits(np.moveaxis(bits, 0, -1), axis=2), ("--packed-axis", 2), "is it --time-axis 2"),
        (lambda bits: np.packbits(bits, axis=2), ("--packed-axis", 1), "is it another --packed-axis"),
        (lambda bits: np.packbits(bits, axis=1), ("--packed-axis", 2), "is it another --packed-axis"),
        (lambda bits: np.packbits(bits, axis=1), ("--packed-axis", 1), None),
    ],
)
def test_frames_along_another_axis_are_questioned(stored, options, question, camera, tmp_path, run):
    """A few dim frames of four jots to a pixel, whose jots tell little about their neighbours one by one."""
    scene = np.kron(camera[:96, :96], np.ones((4, 4)))
    bits = np.random.default_rng(0).random((16, *scene.shape)) < 1 - np.exp(-2.0 / 16 * scene)
    np.save(tmp_path / "cube.npy", stored(bits.astype(np.uint8)))
    done = run(
        "photon",
        tmp_path / "cube.npy",
        "-K",
        4,
        "-o",
        tmp_path / "out.npy",
        "--denoiser",
        "gaussian",
        "--strict",
        *options,
    )
    if question is None:
        assert done.returncode == 0, done.stderr
        assert "seem" not in done.stderr
    else:
        assert question in done.stderr
        assert done.returncode == 3


def test_packed_bytes_are_not_taken_for_counts(light, tmp_path, run):
    np.save(tmp_path / "cube.npy", np.packbits(cube_of(light, frames=40), axis=2))
    done = run("photon", tmp_path / "cube.npy", "-o", tmp_path / "out.npy")
    assert done.returncode == 1
    assert "packed" in done.stderr


@pytest.mark.parametrize("limited", [False, True])
def test_counts_per_frame(limited, light, tmp_path, run):
    rng = np.random.default_rng(2)
    if limited:  # the sums of 15 binary exposures
        counts = rng.binomial(15, 1 - np.exp(-GAIN * light), (40, HEIGHT, WIDTH))
        options, gain = ("--max-count", 15), 15 * GAIN
    else:
        counts = rng.poisson(3 * light, (40, HEIGHT, WIDTH))
        options, gain = (), 3.0
    np.save(tmp_path / "cube.npy", counts.astype(np.uint8))
    image, warnings = restored(run, tmp_path / "cube.npy", *options)
    assert white(warnings) == pytest.approx(gain, rel=0.35)
    assert pp.psnr(image * white(warnings) / gain, light) > 28
    absolute, _ = restored(run, tmp_path / "cube.npy", *options, "--gain", gain)
    assert pp.psnr(absolute, light) > 26


def test_videos_are_windows_of_frames(light, tmp_path, run):
    moving = np.concatenate([cube_of(np.roll(light, 8 * n, axis=1), seed=n, frames=50) for n in range(4)])
    np.save(tmp_path / "cube.npy", moving)
    options = ("--start", 50, "--frames", 150, "--window", 50, "--stride", 50, "--denoiser", "gaussian")
    video, warnings = restored(run, tmp_path / "cube.npy", *options, output="video.tif")
    assert video.shape == (3, HEIGHT, WIDTH)
    for n, image in enumerate(video, start=1):
        errors = [np.mean(np.abs(image * white(warnings) / GAIN - np.roll(light, 8 * m, axis=1))) for m in range(4)]
        assert np.argmin(errors) == n
    apart, _ = restored(run, tmp_path / "cube.npy", *options, "--on", "processes:2", output="apart.tif")
    np.testing.assert_array_equal(apart, video)
    assert not list(tmp_path.glob(".plugplay-parts-*"))
    done = run("photon", tmp_path / "cube.npy", "-o", tmp_path / "v.tif", "--window", 500)
    assert "--window is 500" in done.stderr
    done = run("photon", tmp_path / "cube.npy", "-o", tmp_path / "v.tif", "--stride", 5)
    assert done.returncode == 2


@pytest.mark.parametrize(("photons", "doubted"), [(2.0, False), (15.0, True)])
def test_a_cube_that_is_mostly_saturated_is_doubtful(photons, doubted, run, tmp_path, camera):
    fired = -np.expm1(-photons * camera[:96, :96])
    cube = (np.random.default_rng(0).random((60, *fired.shape)) < fired).astype(np.uint8)
    np.save(tmp_path / "cube.npy", cube)
    done = run("photon", "cube.npy", "-o", "out.png", "--denoiser", "tv", "--json", "--strict", cwd=tmp_path)
    assert done.returncode == (3 if doubted else 0), done.stderr
    record = json.loads(done.stdout)
    assert record["doubtful"] == doubted
    assert any("of the image, which is white there" in text for text in record["warnings"]) == doubted
    for gain in ("auto", photons):
        told = pp.single_photon(cube, gain=gain, denoiser="tv").warnings
        assert any("every jot fired in" in text for text in told) == doubted


@pytest.mark.parametrize(
    "places", [[(40, 40), (40, 41), (41, 40)], [(0, 11), (1, 13)], [(40, 40), (40, 41), (41, 40), (41, 41)]]
)
def test_hot_jots_that_stand_together_do_not_set_the_exposure(places, run, tmp_path, camera):
    """They may pass for a part of the scene, but three of them must not turn the rest black."""
    chance = -np.expm1(-0.02 * camera[:128, :128])
    found = []
    for hot in ([], places):
        jots = chance.copy()
        for place in hot:
            jots[place] = 0.8
        cube = (np.random.default_rng(5).random((400, *jots.shape)) < jots).astype(np.uint8)
        np.save(tmp_path / "cube.npy", cube)
        done = run("photon", "cube.npy", "-o", "out.png", "--denoiser", "tv", "--json", "--overwrite", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (white,) = [text for text in json.loads(done.stdout)["warnings"] if text.startswith("white is ")]
        found.append(float(white.split()[2]))
    assert found[1] == pytest.approx(found[0], rel=0.1)


@pytest.mark.parametrize(
    ("value", "words"), [(0, "no photon was counted in all 5 frames"), (1, "every jot fired in all 5 frames")]
)
def test_a_cube_that_says_nothing_is_doubtful(value, words, run, tmp_path):
    cube = np.full((5, 32, 32), value, np.uint8)
    np.save(tmp_path / "cube.npy", cube)
    done = run("photon", "cube.npy", "-o", "out.png", "--json", "--strict", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert words in done.stderr
    assert json.loads(done.stdout)["doubtful"]
    result = pp.single_photon(pp.io.photons.count_ones(cube), gain=1.0, denoiser="tv")
    assert any(words in text for text in result.warnings)
    cube[2, 5, 7] = 1 - value
    assert pp.io.photons.count_ones(cube).doubts == ()
