"""Images in parts: the result of the whole image, in every format, after every interruption."""

import hashlib
import json
import os
import shutil

import numpy as np
import pytest
import tifffile
from skimage import data

import plugplay as pp
from plugplay import io
from plugplay.io import ImageFileError
from plugplay.scale import Serial
from plugplay.scale.large import journal
from plugplay.scale.stores import opened
from plugplay.scale.whole import Parts

zarr = pytest.importorskip("zarr")

NOISE = 0.1
RECIPE = "0" * 64
# A denoiser with a short reach, so that tiles with a halo can be compared with the whole image exactly.
OPTIONS = {"denoiser": "gaussian", "noise": NOISE}


@pytest.fixture(scope="module")
def noisy():
    ramp = np.add.outer(np.linspace(0, 1, 200), np.linspace(0, 1, 170)) / 2
    values = ramp + np.random.default_rng(0).normal(0, NOISE, ramp.shape)
    return (np.clip(values, 0, 1) * 65535).astype(np.uint16)


def store(path, pixels, *, chunk=32, shard=None, colour=False):
    last = (pixels.shape[-1],) if colour else ()
    ones = (1,) * (pixels.ndim - 2 - colour)
    shards = None if shard is None else (*ones, shard, shard, *last)
    made = zarr.create_array(
        str(path), shape=pixels.shape, dtype=pixels.dtype, chunks=(*ones, chunk, chunk, *last), shards=shards
    )
    made[...] = pixels
    return path


def parts_of(source, target, model=None, options=OPTIONS, core=64, **more):
    model = pp.models.Denoising() if model is None else model
    return Parts.of(opened(source), target, model, dict(options), core=core, **more)


def contents(path):
    found = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(p.read_bytes() for p in found)).hexdigest()


def within_one(found, whole):
    expected = np.clip(np.rint(whole.astype(np.float64) * 65535), 0, 65535)
    assert np.abs(found.astype(np.float64) - expected).max() <= 1


@pytest.mark.parametrize("shard", [None, 64])
def test_zarr_equals_the_whole_image(tmp_path, noisy, shard):
    source = store(tmp_path / "y.zarr", noisy, shard=shard)
    parts = parts_of(source, tmp_path / "x.zarr")
    reports = parts.run(Serial(1), RECIPE)
    made = zarr.open_array(str(tmp_path / "x.zarr"), mode="r")
    assert (made.dtype, made.shape, made.chunks) == (noisy.dtype, noisy.shape, (32, 32))
    assert made.shards == (None if shard is None else (64, 64))
    assert len(reports) == len(parts.grid) == 12
    assert {report.status for report in reports} <= {"FINISHED", "CONVERGED"}
    within_one(made[...], pp.denoise(noisy, **OPTIONS).image)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.zarr", "y.zarr"]


def test_tiles_begin_on_a_coarser_grid_as_the_whole_image_does(tmp_path):
    model = pp.models.Deblurring(pp.kernels.motion(20, 30), boundary="unknown")
    truth = data.camera()[90:316, 120:400] / 255
    y = model.simulate(truth, noise=4 / 255, rng=0).astype(np.float32)
    np.save(tmp_path / "y.npy", y)
    options = {"denoiser": "tv", "noise": 4 / 255}
    parts = parts_of(tmp_path / "y.npy", tmp_path / "x.npy", model, options, core=100)
    reports = parts.run(Serial(1), RECIPE)
    whole = pp.restore(y, model, **options)
    coarse = len(whole.history.at_level(1))
    assert coarse == parts.choices.options["pace"].max_iter > 0
    assert {report.iterations for report in reports} == {len(whole.history)}
    difference = 255 * (np.load(tmp_path / "x.npy") - whole.image)
    seam = difference[:, 92:108]
    assert np.sqrt(np.mean(difference**2)) < 0.3
    assert np.sqrt(np.mean(seam**2)) < 0.3


@pytest.mark.parametrize("ending", [".npy", ".tif"])
def test_colour_stacks_from_file_to_file(tmp_path, noisy, ending):
    stack = np.stack([noisy, 65535 - noisy, noisy // 2], axis=-1)[None].repeat(2, axis=0)
    stack[1] //= 2
    source = tmp_path / f"y{ending}"
    if ending == ".npy":
        np.save(source, stack)
    else:
        tifffile.imwrite(source, stack, tile=(64, 64), photometric="rgb", compression="zlib")
    parts_of(source, tmp_path / f"x{ending}", options={**OPTIONS, "data_range": (0, 65535)}).run(Serial(1), RECIPE)
    made = np.load(tmp_path / "x.npy") if ending == ".npy" else tifffile.imread(tmp_path / "x.tif")
    assert made.shape == stack.shape
    for page in range(2):
        within_one(made[page], pp.denoise(stack[page], **OPTIONS, channel_axis=-1).image)
    if ending == ".tif":
        with tifffile.TiffFile(tmp_path / "x.tif") as file:
            assert file.pages.first.is_tiled


def test_upscaling_and_masks(tmp_path, noisy):
    source = store(tmp_path / "y.zarr", noisy[:100, :90])
    model = pp.models.SuperResolution(2, pp.kernels.gaussian(5, sigma=1.0), boundary="unknown")
    parts_of(source, tmp_path / "x.zarr", model, {"denoiser": "gaussian", "noise": 0.02, "max_iter": 2}).run(
        Serial(1), RECIPE
    )
    assert zarr.open_array(str(tmp_path / "x.zarr"), mode="r").shape == (200, 180)
    seen = np.random.default_rng(1).random(noisy.shape) < 0.7
    mask = store(tmp_path / "mask.zarr", seen.astype(np.uint8) * 255)
    options = {"denoiser": "gaussian", "noise": 0.02, "max_iter": 3}
    inpainting = pp.models.Inpainting(np.ones((8, 8), bool))
    whole = store(tmp_path / "z.zarr", np.where(seen, noisy, 0).astype(np.uint16))
    parts = parts_of(whole, tmp_path / "w.zarr", inpainting, options, mask=opened(mask), always_masked=True)
    parts.run(Serial(1), RECIPE)
    made = zarr.open_array(str(tmp_path / "w.zarr"), mode="r")[...]
    assert abs(made[~seen].astype(float) - noisy[~seen]).mean() < 0.2 * 65535


def test_ome_zarr_keeps_its_metadata(tmp_path, noisy):
    group = zarr.create_group(str(tmp_path / "y.zarr"))
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    scale = [{"type": "scale", "scale": [1.0, 0.25, 0.25]}]
    levels = [{"path": name, "coordinateTransformations": scale} for name in ("full", "half")]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "cells", "axes": axes, "datasets": levels}]}
    store(tmp_path / "y.zarr" / "full", np.stack([noisy, noisy[::-1]]))
    parts_of(tmp_path / "y.zarr", tmp_path / "x.zarr").run(Serial(1), RECIPE)
    made = zarr.open_group(str(tmp_path / "x.zarr"), mode="r")
    (image,) = made.attrs["ome"]["multiscales"]
    assert (image["name"], image["axes"], [level["path"] for level in image["datasets"]]) == ("cells", axes, ["0"])
    assert image["datasets"][0]["coordinateTransformations"] == scale
    within_one(made["0"][1], pp.denoise(noisy[::-1], **OPTIONS).image)


def test_the_rest_is_done_after_an_interruption_with_the_same_bits(tmp_path, noisy):
    source = store(tmp_path / "y.zarr", noisy, shard=64)
    parts_of(source, tmp_path / "whole.zarr").run(Serial(1), RECIPE)
    parts = parts_of(source, tmp_path / "x.zarr")

    def stop(done, count):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parts.run(Serial(1), RECIPE, progress=stop)
    assert not (tmp_path / "x.zarr").exists()
    (work,) = tmp_path.glob(".plugplay-parts-*")
    before = [line for line in journal(work) if "tile" in line]
    with (work / "journal.jsonl").open("ab") as stream:
        stream.write(b'{"core": "000000-0')  # cut short by a kill
    reports = {report.name: report for report in parts.run(Serial(1), RECIPE)}
    assert len(reports) == 12
    for line in before:  # neither done again nor forgotten
        assert reports[line["tile"]["name"]].seconds == line["tile"]["seconds"]
    assert contents(tmp_path / "x.zarr") == contents(tmp_path / "whole.zarr")

    with pytest.raises(KeyboardInterrupt):
        parts.run(Serial(1), RECIPE, progress=stop)
    other = "1" * 64  # another recipe takes nothing up, and leaves nothing behind
    parts.run(Serial(1), other)
    assert not list(tmp_path.glob(".plugplay-parts-*"))


def test_the_command_restores_a_store_and_tells(run, tmp_path, noisy):
    store(tmp_path / "y.zarr", noisy, shard=64)
    words = ("denoise", tmp_path / "y.zarr", "-o", tmp_path / "x.zarr", "--denoiser", "gaussian", "--noise", "0.1")
    told = run(*words, "--dry-run", "--memory", "2G").stdout
    assert "170 x 200, uint16, 1 tile of 192 x 256 with a halo of 32" in told
    assert " GiB, about " in told
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert (record["status"], record["shape"], record["dtype"]) == ("restored", [200, 170], "uint16")
    within_one(zarr.open_array(str(tmp_path / "x.zarr"), mode="r")[...], pp.denoise(noisy, **OPTIONS).image)
    assert "exists, skipped" in run(*words).stdout


def test_one_clear_line_each(tmp_path, noisy):
    ones = store(tmp_path / "ones.zarr", noisy[:40, :40], chunk=1)
    with pytest.raises(ImageFileError, match=r"its chunks have 1 x 1 pixels, far too few to read tiles from; rechunk"):
        opened(ones)
    zarr.create_group(str(tmp_path / "group.zarr"))
    with pytest.raises(ImageFileError, match="a Zarr group without an OME-Zarr image"):
        opened(tmp_path / "group.zarr")
    (tmp_path / "text.zarr").mkdir()
    (tmp_path / "text.zarr" / "zarr.json").write_text("{")
    with pytest.raises(ImageFileError, match="damaged or unsupported"):
        opened(tmp_path / "text.zarr")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(ImageFileError, match="it cannot be read in parts; Zarr, TIFF and NPY can"):
        opened(tmp_path / "a.png")
    source = store(tmp_path / "y.zarr", noisy)
    with pytest.raises(ValueError, match=r"needs .* MiB, but --memory allows 128: allow more"):
        parts_of(source, tmp_path / "x.zarr", memory=2**27)
    small = store(tmp_path / "mask.zarr", np.ones((10, 10), np.uint8), chunk=16)
    with pytest.raises(ValueError, match=r"the mask has the shape \(10, 10\), but the image has \(200, 170\)"):
        parts_of(source, tmp_path / "x.zarr", mask=opened(small))
    missing = np.where(np.eye(200, 170) > 0, np.nan, noisy / 65535).astype(np.float32)
    with pytest.raises(ValueError, match="pixels are missing .* but Denoising does not support a mask"):
        parts_of(store(tmp_path / "nan.zarr", missing), tmp_path / "x.zarr")
    (tmp_path / "file").write_text("")
    with pytest.raises(ImageFileError, match=r"x.zarr: cannot be written \(File exists\)"):
        parts_of(source, tmp_path / "file" / "x.zarr").run(Serial(1), RECIPE)


def test_a_tile_that_fails_is_named_and_the_rest_is_kept(tmp_path, noisy):
    source = store(tmp_path / "y.zarr", noisy)
    parts = parts_of(source, tmp_path / "x.zarr")
    chunk = source / "c" / "5" / "4"
    shutil.copy(chunk, tmp_path / "chunk")
    chunk.write_bytes(os.urandom(50))
    with pytest.raises(RuntimeError, match=r"tile 000000-000002-000001: .*; the rest is kept: rerun to resume"):
        parts.run(Serial(1), RECIPE)
    assert not (tmp_path / "x.zarr").exists()
    shutil.copy(tmp_path / "chunk", chunk)
    parts.run(Serial(1), RECIPE)
    within_one(zarr.open_array(str(tmp_path / "x.zarr"), mode="r")[...], pp.denoise(noisy, **OPTIONS).image)


def test_pages_of_a_stack_are_tasks_with_their_own_or_shared_parameters(run, tmp_path, noisy):
    stack = np.stack([noisy, noisy // 2 + 9000, noisy[::-1]])
    tifffile.imwrite(tmp_path / "y.tif", stack, metadata={"axes": "ZYX"}, ome=True)
    done = run(
        "denoise", tmp_path / "y.tif", "--denoiser", "gaussian", "-o", tmp_path / "parts.tif", "--on", "processes:2"
    )
    assert done.returncode == 0, done.stderr
    # Told as if each had been restored here: all pages, one denoising each, and the noise of each.
    assert "170 x 200, gray, uint16, 3 pages" in done.stdout
    assert "  denoised, " in done.stdout
    levels = [pp.denoise(page, denoiser="gaussian").parameters.noise for page in stack]
    assert f"  chosen: noise {min(levels):.4g} to {max(levels):.4g}" in done.stdout
    made = tifffile.imread(tmp_path / "parts.tif")
    for page, found in zip(stack, made, strict=True):
        within_one(found, pp.denoise(page, denoiser="gaussian").image)
    with tifffile.TiffFile(tmp_path / "parts.tif") as file:
        assert file.is_ome
        assert file.series[0].axes == "ZYX"
    # Half the contrast has half the noise, unless all pages share one level.
    source = opened(tmp_path / "y.tif")
    target = tmp_path / "x.npy"
    shared = Parts.of(source, target, pp.models.Denoising(), {"denoiser": "gaussian"})
    shared.run(Serial(1), RECIPE)
    level = shared.choices.parameters.noise
    within_one(np.load(target)[1], pp.denoise(stack[1], denoiser="gaussian", noise=level).image)


def test_light_and_black_levels_mean_in_parts_what_they_mean_elsewhere(run, tmp_path, noisy):
    memory = ("--memory", "520M", "--on", "serial")  # for tiles of 32 pixels
    photograph = (noisy >> 8).astype(np.uint8)
    counts = np.random.default_rng(1).poisson(noisy / 400).astype(np.uint16) * 2 + 500
    black = pp.PoissonGaussian(offset=500 / 65535)
    for pixels, words, whole in (
        (photograph, ("--linear", "on", "--noise", NOISE), pp.denoise(photograph, transfer="srgb", **OPTIONS)),
        (counts, ("--offset", 500, "--noise", "poisson"), pp.denoise(counts, denoiser="gaussian", noise=black)),
    ):
        store(tmp_path / f"{pixels.dtype}.zarr", pixels)
        target = tmp_path / f"{pixels.dtype}-x.zarr"
        done = run(
            "denoise", tmp_path / f"{pixels.dtype}.zarr", "-o", target, "--denoiser", "gaussian", *words, *memory
        )
        assert done.returncode == 0, done.stderr
        white = np.iinfo(pixels.dtype).max
        expected = np.clip(np.rint(whole.image.astype(np.float64) * white), 0, white)
        found = zarr.open_array(str(target), mode="r")[...].astype(np.float64)
        assert np.abs(found - expected).max() <= 1
    # In the numbers as they are stored, a photograph is denoised otherwise.
    light, stored = (pp.denoise(photograph, transfer=curve, **OPTIONS).image for curve in ("srgb", "linear"))
    assert np.abs(light - stored).max() > 2 / 255


def test_parts_of_a_photograph_are_deblurred_in_light_as_the_whole_is(tmp_path):
    photograph, box = data.coffee()[150:330, 200:380], pp.models.Deblurring(pp.kernels.box(5), boundary="unknown")
    dark = io.linearise(photograph / np.float32(255), "srgb") / 4
    y = np.round(255 * io.encode(np.clip(box.simulate(dark, noise=0.001, rng=0), 0, 1), "srgb")).astype(np.uint8)
    options = {"denoiser": "tv", "transfer": "srgb"}
    store(tmp_path / "y.zarr", y, colour=True)
    parts_of(tmp_path / "y.zarr", tmp_path / "x.npy", box, options).run(Serial(1), RECIPE)
    found = np.load(tmp_path / "x.npy").astype(np.float64) / 255
    whole = np.clip(pp.restore(y, box, channel_axis=-1, **options).image, 0, 1)
    stored = np.clip(pp.restore(y, box, channel_axis=-1, denoiser="tv").image, 0, 1)
    assert np.abs(found - whole).mean() < 0.3 * np.abs(stored - whole).mean()


def test_shared_parameters_by_the_option(run, tmp_path, noisy):
    stack = np.stack([noisy, noisy // 4 + 9000])
    np.save(tmp_path / "y.npy", stack)
    found = {}
    for name, option in (("shared", ("--shared-parameters",)), ("own", ())):
        target = tmp_path / f"{name}.npy"
        done = run("denoise", tmp_path / "y.npy", "-o", target, "--denoiser", "gaussian", "--on", "serial", *option)
        assert done.returncode == 0, done.stderr
        assert "170 x 200, gray, uint16, 2 pages" in done.stdout
        found[name] = np.load(target)[1]
    # A page with a quarter of the contrast has a quarter of the noise; what all pages share is more.
    alone = pp.denoise(stack[1], denoiser="gaussian").image
    within_one(found["own"], alone)
    assert np.abs(found["shared"] - 65535 * alone).max() > 10


@pytest.mark.parametrize(
    ("source", "target", "words", "message"),
    [
        ("y.zarr", "file/x.zarr", (), "cannot be written (File exists)"),
        ("ones.zarr", "x.zarr", (), "its chunks have 1 x 1 pixels, far too few to read tiles from; rechunk it"),
        ("y.zarr", "x.zarr", ("--on", "tcp://127.0.0.1:1"), "no Dask scheduler answers at tcp://127.0.0.1:1 within"),
        ("y.zarr", "x.zarr", ("--on", "tcp://127.0.0.1"), "--on: a scheduler is named by its host and port"),
        ("broken.zarr", "x.zarr", (), "tile 000000-000000-000000: "),
        ("missing.zarr", "x.zarr", (), "missing.zarr: there is no such file or store"),
        ("y.zarr", "y.zarr/x.zarr", (), "--output would write into an input, "),
        ("y.zarr", "x.zarr", ("--memory", "9M"), "needs 258 MiB, but --memory allows 9: allow more, or use smaller"),
    ],
)
def test_the_command_says_one_clear_line_and_leaves_no_result(
    run, tmp_path, monkeypatch, noisy, source, target, words, message
):
    monkeypatch.setattr("plugplay.scale.cluster.PATIENCE", 0.5)
    store(tmp_path / "y.zarr", noisy[:64, :64])
    store(tmp_path / "ones.zarr", noisy[:20, :20], chunk=1)
    broken = store(tmp_path / "broken.zarr", np.tile(noisy, (6, 2)))
    (broken / "c" / "11" / "0").write_bytes(b"nothing that was ever compressed")
    (tmp_path / "file").write_text("")
    done = run(
        "denoise", tmp_path / source, "-o", tmp_path / target, "--denoiser", "gaussian", "--noise", NOISE, *words
    )
    assert done.returncode == (2 if "--o" in message else 1)
    (line,) = [text for text in done.stderr.splitlines() if text.startswith("plugplay: ")]
    assert message in line
    assert not (tmp_path / "x.zarr").exists()
    # What is finished is kept, and where nothing is, nothing stays.
    assert bool(list(tmp_path.glob(".plugplay-parts-*"))) == (source == "broken.zarr")


def test_chunks_that_fit_neither_the_image_nor_each_other(run, tmp_path, noisy):
    store(tmp_path / "y.zarr", noisy, chunk=37, shard=74)
    target = tmp_path / "x.zarr"
    words = ("--denoiser", "gaussian", "--noise", NOISE, "--memory", "520M", "--on", "serial")
    assert run("denoise", tmp_path / "y.zarr", "-o", target, *words).returncode == 0
    made = zarr.open_array(str(target), mode="r")
    assert (made.chunks, made.shards) == ((37, 37), (74, 74))
    within_one(made[...], pp.denoise(noisy, **OPTIONS).image)


def test_a_dry_run_counts_the_images_of_a_video(run, tmp_path):
    np.save(tmp_path / "cube.npy", np.random.default_rng(0).random((60, 24, 32)) < 0.4)
    words = ("photon", tmp_path / "cube.npy", "-o", tmp_path / "v.tif", "--window", 20, "--stride", 10)
    done = run(*words, "--denoiser", "gaussian", "--on", "processes:3", "--memory", "600M", "--dry-run")
    assert "5 images of 32 x 24, 2 at a time in 0.5 GiB, about 0 s" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cube.npy"]
