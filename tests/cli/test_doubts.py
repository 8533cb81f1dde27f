"""A result that is not good is not called good."""

import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import plugplay as pp
from plugplay import io
from plugplay.cli.app import app
from plugplay.io import ImageFile
from plugplay.plan import Plan
from plugplay.pnp.results import Status

CHEAP = ("--denoiser", "tv", "--max-iter", "2", "--noise", "0.02")


@pytest.fixture
def folder(tmp_path, noisy):
    """An image, and masks of all sorts."""
    scene = (noisy * 255).astype(np.uint8)
    io.write(tmp_path / "a.png", ImageFile.of(scene))
    hole = np.full(noisy.shape, 255, np.uint8)
    hole[8:14, 8:14] = 0
    soft = hole.copy()
    soft[7, 7:15], soft[14, 7:15], soft[7:15, 7], soft[7:15, 14] = 200, 250, 120, 240
    few = np.zeros_like(hole)
    few[::4, ::4] = 255
    shades = scene.copy()
    shades[:, :6] = 255
    for name, pixels in {"hard": hole, "soft": soft, "few": few, "scene": scene, "shades": shades[::-1]}.items():
        io.write(tmp_path / f"{name}.png", ImageFile.of(pixels))
    return tmp_path


def test_soft_edges_of_masks_are_missing(run, folder):
    """The rim of a soft mask was touched: with a true rim or a ruined one, the result must be the same."""
    scene = io.read(folder / "a.png").pixels.copy()
    rim = (io.read(folder / "soft.png").pixels < 255) & (io.read(folder / "hard.png").pixels == 255)
    scene[rim] = 255
    io.write(folder / "ruined.png", ImageFile.of(scene))
    for name in ("a", "ruined"):
        done = run("inpaint", f"{name}.png", "-o", f"{name}.tif", "--mask", "soft.png", *CHEAP, cwd=folder)
        assert (done.returncode, "warning" in done.stderr) == (0, False), done.stderr
    np.testing.assert_array_equal(io.read(folder / "a.tif").pixels, io.read(folder / "ruined.tif").pixels)


@pytest.mark.parametrize("ending", ["jpg", "webp"])
def test_masks_survive_compression(run, folder, ending):
    """Ringing around a hole in a compressed mask leaves white white, and the hole a hole."""
    hard = io.read(folder / "hard.png").pixels
    Image.fromarray(hard).save(folder / f"mask.{ending}", quality=80)
    done = run("inpaint", "a.png", "-o", "b.png", "--mask", f"mask.{ending}", *CHEAP, "--strict", cwd=folder)
    assert (done.returncode, "warning" in done.stderr) == (0, False), done.stderr
    observed, _ = io.mask_from(io.read(folder / f"mask.{ending}"), "mask")
    assert not observed[0][hard == 0].any()
    assert observed[0][hard == 255].mean() > 0.9


def test_transparent_parts_of_a_mask_are_missing(run, folder):
    """An eraser leaves white that is transparent."""
    hard = io.read(folder / "hard.png").pixels
    Image.fromarray(np.stack([np.full_like(hard, 255), hard], axis=-1)).save(folder / "erased.png")
    for name in ("hard", "erased"):
        done = run("inpaint", "a.png", "-o", f"{name}.tif", "--mask", f"{name}.png", *CHEAP, cwd=folder)
        assert (done.returncode, "warning" in done.stderr) == (0, False), done.stderr
    np.testing.assert_array_equal(io.read(folder / "hard.tif").pixels, io.read(folder / "erased.tif").pixels)


def test_files_that_are_no_masks_are_questioned_in_python_too(folder):
    result = pp.inpaint(folder / "a.png", folder / "shades.png", denoiser="tv", max_iter=2, noise=0.02)
    assert any("shades.png does not look like a mask" in text for text in result.warnings)


@pytest.mark.parametrize(
    ("how", "mask", "words"),
    [
        ("--json", "few", "94 % of the pixels are missing according to the mask"),
        ("--quiet", "shades", "does not look like a mask: "),
        ("--verbose", "shades", "does not look like a mask: "),
    ],
)
def test_odd_masks_are_questioned(run, folder, mask, words, how):
    arguments = ("inpaint", "a.png", "-o", f"{how}.png", "--mask", f"{mask}.png", *CHEAP, how)
    done = run(*arguments, cwd=folder)
    assert done.returncode == 0
    warned = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert sum(words in line for line in warned) == 1
    if how == "--json":
        record = json.loads(done.stdout)
        assert record["doubtful"]
        assert any(words in text for text in record["warnings"])
    assert (done.stdout == "") == (how == "--quiet")
    assert ("DOUBTFUL" in done.stdout) == (how == "--verbose")
    if how == "--quiet":
        assert run(*arguments, "--strict", "--overwrite", cwd=folder).returncode == 3
    assert (folder / f"{how}.png").is_file()


def test_masks_that_mark_nothing_are_questioned_one_by_one(run, folder, noisy):
    """In a folder, one such mask does not stop the others; pixels that are NaN are holes without any mask."""
    gaps = np.where(io.read(folder / "hard.png").pixels > 0, noisy, np.nan).astype(np.float32)
    (folder / "frames").mkdir()
    (folder / "masks").mkdir()
    for number in range(3):
        io.write(folder / f"frames/{number}.tif", ImageFile.of(gaps if number == 2 else noisy.astype(np.float32)))
        mask = np.full(noisy.shape, 255, np.uint8)
        mask[4:6, 4:6] = 0 if number == 0 else 255
        io.write(folder / f"masks/{number}.png", ImageFile.of(mask))
    done = run("inpaint", "frames", "-o", "filled", "--mask", "masks", *CHEAP, "--strict", "--json", cwd=folder)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 3, done.stderr
    assert [record["doubtful"] for record in records] == [False, True, False]
    assert any("the mask marks nothing as missing" in text for text in records[1]["warnings"])
    assert all((folder / f"filled/{number}.tif").is_file() for number in range(3))


def test_references_that_do_not_fit_only_cost_the_psnr(run, folder, noisy):
    colour = np.repeat((noisy * 255).astype(np.uint8)[..., None], 3, axis=-1)
    io.write(folder / "colour.png", ImageFile.of(colour, colour=True))
    io.write(folder / "small.png", ImageFile.of(colour[:9, :, 0]))
    for name, what in (("colour", "20 x 24 pixels in 3 channels"), ("small", "20 x 9 pixels in 1 channel")):
        done = run(
            "denoise", "a.png", "-o", f"of-{name}.png", *CHEAP, "--reference", f"{name}.png", "--json", cwd=folder
        )
        record = json.loads(done.stdout)
        assert (done.returncode, record["doubtful"], "psnr" in record["pages"][0]) == (0, False, False), done.stderr
        told = f"no PSNR: the reference has {what}, but the result has 20 x 24 pixels in 1 channel"
        assert told in record["warnings"]


def test_formats_that_cannot_be_written_are_refused_with_others(run, folder):
    done = run("denoise", "a.png", "-o", "b.bmp", cwd=folder)
    assert done.returncode == 2
    assert "files that end in .bmp cannot be written; choose .png or .tif" in done.stderr


def test_doubtful_results_and_complaints_of_the_run(folder, monkeypatch):
    """What the loop says about its result is shown, whatever else is."""
    finished = Plan._finished

    def doubted(plan, driver, mixed=None):
        doubtful = replace(finished(plan, driver, mixed), status=Status.DOUBTFUL)
        return replace(doubtful, warnings=(*doubtful.warnings, "the image is nearly constant"))

    monkeypatch.setattr(Plan, "_finished", doubted)
    words = ["deblur", str(folder / "a.png"), "-o", str(folder / "b.png"), "-k", "box:3", *CHEAP]
    done = CliRunner().invoke(app, [*words, "--strict"])
    assert done.exit_code == 3
    assert done.stderr.count("warning: a.png: the image is nearly constant") == 1
    assert "DOUBTFUL after 2 iterations" in done.stdout
    assert "converged" not in done.stdout
    assert done.stdout.count("DOUBTFUL") == 1
    single = CliRunner().invoke(app, ["denoise", str(folder / "a.png"), "-o", str(folder / "c.png"), *CHEAP[:2]])
    assert single.stdout.count("DOUBTFUL") == 1
    assert "denoised, " in single.stdout
    assert "tol " not in single.stdout
    done = CliRunner().invoke(app, [*words, "--overwrite", "--json"])
    record = json.loads(done.stdout)
    assert (done.exit_code, record["doubtful"], record["pages"][0]["result"]) == (0, True, "DOUBTFUL")
    assert record["pages"][0]["warnings"][-1] == "the image is nearly constant"


def test_denoising_does_not_speak_of_convergence(run, folder):
    done = run("denoise", "a.png", "-o", "b.png", "--denoiser", "tv", "-v", cwd=folder)
    assert "denoised, " in done.stdout
    for word in ("converge", "iteration", "settled", "tol"):
        assert word not in done.stdout.partition("used:")[0].lower(), word


def test_one_summary_for_a_stack(run, folder, noisy):
    pages = np.stack([noisy, noisy[::-1], noisy.T[:20, :20].repeat(2, 0)[:24]]) * 200
    io.write(folder / "stack.tif", ImageFile.of(pages.astype(np.uint16)))
    done = run("deblur", "stack.tif", "-o", "out.tif", "-k", "box:3", "--denoiser", "tv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    assert ", 3 pages, " in done.stdout
    # Pages of nearly empty files each have a range of their own; it is said once.
    assert sum("do not fill their range" in line for line in done.stderr.splitlines()) == 1
    done = run(
        "deblur", "stack.tif", "-o", "out.tif", "-k", "box:3", "--denoiser", "tv", "--json", "--overwrite", cwd=folder
    )
    record = json.loads(done.stdout)
    (told,) = (text for text in record["warnings"] if "do not fill their range" in text)
    lowest, highest = (edge(page["parameters"]["working_range"][1] for page in record["pages"]) for edge in (min, max))
    assert f"{lowest:.6g}..{highest:.6g} as black to white (the lowest and highest of its pages)" in told
    assert not any("fill" in text for page in record["pages"] for text in page["warnings"])


# A denoiser that finds nothing worth keeping.
PLUGIN = """
import numpy as np

def make():
    return lambda image, sigma: np.full_like(image, image.mean())
"""


@pytest.fixture
def with_nothing(tmp_path, environment):
    """An environment with that denoiser."""
    folder = tmp_path / "plugin"
    (folder / "nothing-1.0.dist-info").mkdir(parents=True)
    (folder / "nothing.py").write_text(PLUGIN)
    (folder / "nothing-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n")
    (folder / "nothing-1.0.dist-info/entry_points.txt").write_text("[plugplay.denoisers]\nnothing = nothing:make\n")
    return {**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}:{folder}"}


def signs(camera):
    """Return files on which something goes wrong, with the options that make it so and the words that tell."""
    scene = camera[:64, :64]
    blurred = pp.models.Deblurring(pp.kernels.box(5), boundary="reflect").simulate(scene, noise=0.01, rng=0)
    stored = (np.clip(blurred, 0, 1) * 255).astype(np.uint8)
    bright = 0.6 * scene
    bright[10:40, 10:40] = 1.8  # beyond white, where the denoiser's input is clipped
    glare = pp.models.Deblurring(pp.kernels.box(5), boundary="reflect").simulate(bright, noise=0.01, rng=0)
    flat = np.random.default_rng(0).poisson(200, scene.shape).astype(np.uint16)
    return {
        "constant": (stored, ("-k", "box:5", "--denoiser", "nothing"), "is nearly constant; give"),
        "saturated": (stored, ("-k", "motion:15,30", "--noise", "1e-4", "--strength", "1e-9"), "is black or white; "),
        "unexplained": (stored, ("-k", "motion:21,0"), "does not explain the data: they differ by "),
        "flux": (glare.astype(np.float32), ("-k", "box:5", "--data-range", "0,1"), "% of the light was lost; give"),
        "flat": (flat, ("-k", "box:5"), "the observation varies no more than its noise"),
        "sound": (stored, ("-k", "box:5"), None),
    }


@pytest.mark.parametrize("sign", ["constant", "saturated", "unexplained", "flux", "flat", "sound"])
def test_every_sign_is_told_with_what_to_try(command, with_nothing, tmp_path, camera, sign):
    pixels, options, words = signs(camera)[sign]
    io.write(tmp_path / "a.tif", ImageFile.of(pixels))
    # In the numbers of the file, in which it was blurred.
    given = ("--denoiser", "tv", "--linear", "off", *options)
    arguments = [*command, "deblur", "a.tif", "-o", "b.tif", *given, "--strict", "--json"]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, env=with_nothing, timeout=300)
    record = json.loads(done.stdout)
    assert done.returncode == (0 if words is None else 3), done.stderr
    assert record["doubtful"] == (words is not None)
    assert record["pages"][0]["result"] == ("CONVERGED" if words is None else "DOUBTFUL")
    if words is not None:
        assert sum(words in text for text in record["warnings"]) == 1
        assert sum(words in line for line in done.stderr.splitlines()) == 1
        # In the same words for the file and for its only page.
        assert sum(words in text for text in record["pages"][0]["warnings"]) == 1
        assert set(record["pages"][0]["warnings"]) <= set(record["warnings"])


def test_counts_that_are_denoised_as_photons_are_looked_at_too(run, tmp_path):
    """Even light is nothing but its own noise; half as much of it in one corner is an image."""
    rng = np.random.default_rng(0)
    light = np.full((64, 64), 120.0)
    scene = np.where(np.add.outer(np.arange(64), np.arange(64)) < 64, 0.5, 1.0) * light
    for name, mean in (("flat", light), ("scene", scene)):
        io.write(tmp_path / f"{name}.tif", ImageFile.of(rng.poisson(mean).astype(np.uint16)))
    words = ("--noise", "poisson", "--denoiser", "gaussian", "--json", "--strict")
    flat = run("denoise", "flat.tif", "-o", "a.tif", *words, cwd=tmp_path)
    assert flat.returncode == 3
    record = json.loads(flat.stdout)
    assert record["doubtful"]
    assert any("varies no more than its noise" in text for text in record["warnings"])
    done = run("denoise", "scene.tif", "-o", "b.tif", *words, cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["doubtful"]) == (0, False), done.stderr
