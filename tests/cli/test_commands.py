"""End to end: files of every kind through the installed command."""

import json

import numpy as np
import pytest
import tifffile
from PIL import Image

import plugplay as pp
from plugplay import io
from plugplay.io import ImageFile

CHEAP = ("--denoiser", "tv", "--max-iter", "2")


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_files_of_every_kind_in_one_folder(run, tmp_path, noisy):
    folder = tmp_path / "in"
    (folder / "deeper").mkdir(parents=True)
    colour = np.stack([noisy, noisy[::-1], noisy * 0.5], axis=-1)
    bytes_, words = (noisy * 255).astype(np.uint8), (noisy * 65535).astype(np.uint16)
    files = {
        "gray8.png": ImageFile.of(bytes_),
        "gray16.png": ImageFile.of(words),
        "rgb8.png": ImageFile.of((colour * 255).astype(np.uint8), colour=True),
        "rgb16.png": ImageFile.of((colour * 65535).astype(np.uint16), colour=True),
        "rgba16.png": ImageFile.of((colour * 65535).astype(np.uint16), colour=True, alpha=words[::-1]),
        "photo.jpg": ImageFile.of((colour * 255).astype(np.uint8), colour=True),
        "photo.webp": ImageFile.of((colour * 255).astype(np.uint8), colour=True),
        "deeper/word.tif": ImageFile.of(words),
        "deeper/long.tif": ImageFile.of((noisy * 1e6).astype(np.int32)),
        "deeper/float.tif": ImageFile.of(noisy.astype(np.float32)),
        "deeper/stack.tif": ImageFile.of(np.stack([words, words // 2, words // 3])),
        "sky.fits": ImageFile.of((noisy * 3000 + 100).astype(np.float32)),
        "array.npy": ImageFile.of(noisy),
        "array.npz": ImageFile.of(colour.astype(np.float32), colour=True),
    }
    for name, image in files.items():
        io.write(folder / name, image)
    done = run("denoise", folder, "-o", tmp_path / "out", "--json", *CHEAP)
    assert done.returncode == 0, done.stderr
    records = {record["input"]: record for record in lines(done.stdout)}
    assert len(records) == len(files)
    for name, image in files.items():
        restored = io.read(tmp_path / "out" / name)
        assert restored.pixels.dtype == image.pixels.dtype, name
        assert restored.pixels.shape == image.pixels.shape, name
        assert not np.array_equal(restored.pixels, image.pixels), name
        # Close to what went in, on the scale of the file: neither shifted nor stretched.
        low, high = image.data_range
        assert np.abs(restored.pixels.astype(float) - image.pixels).mean() < 0.1 * (high - low), name
        if image.alpha is not None:
            np.testing.assert_array_equal(restored.alpha, image.alpha)
        record = records[str(folder / name)]
        assert (record["status"], record["error"]) == ("restored", None)
        assert len(record["pages"]) == image.pages.shape[0]
        assert record["pages"][0]["parameters"]["noise"] > 0
        assert "noise" in record["pages"][0]["parameters"]["chosen"]


def test_metadata_survives_a_restoration(run, tmp_path, noisy):
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "Maker", 8
    Image.fromarray((noisy * 255).astype(np.uint8)).save(tmp_path / "a.jpg", exif=exif, dpi=(300, 300))
    about = {"axes": "ZYX", "PhysicalSizeX": 0.5}
    tifffile.imwrite(tmp_path / "a.ome.tif", (np.stack([noisy] * 2) * 999).astype(np.uint16), metadata=about)
    done = run("upscale", tmp_path / "a.jpg", tmp_path / "a.ome.tif", "-o", tmp_path / "out", "-f", 2, *CHEAP)
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "out/a.jpg") as image:
        assert image.size == (2 * 24, 2 * 20)
        assert (image.getexif()[0x010F], image.getexif().get(0x0112, 1)) == ("Maker", 1)
        assert image.info["dpi"] == (600, 600)
    with tifffile.TiffFile(tmp_path / "out/a.ome.tif") as file:
        assert (file.series[0].axes, file.series[0].shape) == ("ZYX", (2, 48, 40))
        assert 'PhysicalSizeX="0.25"' in file.ome_metadata


def test_deblur_gains_with_words_files_masks_and_references(run, tmp_path, camera):
    kernel = pp.kernels.disk(2)
    blurred = pp.models.Deblurring(kernel, boundary="reflect").simulate(camera, noise=0.005, rng=0)
    observed = np.random.default_rng(1).random(camera.shape) > 0.02
    io.write(tmp_path / "true.png", ImageFile.of((camera * 255).round().astype(np.uint8)))
    io.write(tmp_path / "dead.png", ImageFile.of(observed))
    io.write(tmp_path / "kernel.png", ImageFile.of((kernel / kernel.max() * 65535).astype(np.uint16)))
    io.write(tmp_path / "y.tif", ImageFile.of(np.where(observed, blurred, 0.9).astype(np.float32)))
    common = ("--noise", "0.005", "--reference", tmp_path / "true.png", "--denoiser", "tv", "--json")
    quality = []
    for name, options in {"word": ("-k", "disk:2"), "file": ("-k", tmp_path / "kernel.png")}.items():
        masked = (*options, "--mask", tmp_path / "dead.png", "--boundary", "unknown")
        done = run("deblur", tmp_path / "y.tif", "-o", tmp_path / f"{name}.tif", *masked, *common)
        assert done.returncode == 0, done.stderr
        page = lines(done.stdout)[0]["pages"][0]
        quality.append(page["psnr"])
        assert 0.5 < page["ssim"] < 1
        assert page["parameters"]["noise"] == 0.005
    assert quality[0] > pp.psnr(blurred, camera) + 1
    assert quality[1] == pytest.approx(quality[0], abs=0.2)


def test_inpaint_takes_masks_folders_and_nan(run, tmp_path, camera):
    x = camera[:48, :40]
    observed = np.random.default_rng(0).random(x.shape) < 0.6
    for folder in ("in", "masks", "true"):
        (tmp_path / folder / "sub").mkdir(parents=True)
    io.write(tmp_path / "in/sub/a.png", ImageFile.of((np.where(observed, x, 0) * 255).astype(np.uint8)))
    io.write(tmp_path / "masks/sub/a.tif", ImageFile.of(observed))
    io.write(tmp_path / "true/sub/a.png", ImageFile.of((x * 255).astype(np.uint8)))
    common = ("--noise", "1/255", "--denoiser", "tv", "--max-iter", 20, "--json")
    folders = ("--mask", tmp_path / "masks", "--reference", tmp_path / "true")
    done = run("inpaint", tmp_path / "in", "-o", tmp_path / "out", *folders, *common)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout)[0]["pages"][0]["psnr"] > 22
    io.write(tmp_path / "nan.npy", ImageFile.of(np.where(observed, x, np.nan)))
    done = run("inpaint", tmp_path / "nan.npy", "-o", tmp_path / "filled.npy", *common)
    assert done.returncode == 0, done.stderr
    assert pp.psnr(np.load(tmp_path / "filled.npy"), x) > 22
    done = run("denoise", tmp_path / "nan.npy", "-o", tmp_path / "x.npy", *CHEAP)
    assert (done.returncode, "plugplay inpaint treats them as missing" in done.stderr) == (1, True)


def test_photon_reads_every_container(run, tmp_path, camera):
    import scipy.io

    x = camera[:48, :40]
    bits = pp.models.SinglePhoton(2, frames=6).simulate(x, rng=0)
    np.save(tmp_path / "unpacked.npy", bits)
    np.save(tmp_path / "packed.npy", np.packbits(bits, axis=2))
    (tmp_path / "raw.bin").write_bytes(np.packbits(bits, axis=2).tobytes())
    scipy.io.savemat(tmp_path / "matlab.mat", {"bits": np.moveaxis(bits, 0, -1)})
    io.write(tmp_path / "true.tif", ImageFile.of(x.astype(np.float32)))
    extra = {"packed.npy": ("--packed-axis", 2), "raw.bin": ("--frame-shape", "96,80")}
    images = []
    for name in ("unpacked.npy", "packed.npy", "raw.bin", "matlab.mat"):
        common = ("-K", 2, "--reference", tmp_path / "true.tif", "--denoiser", "tv", "--json", *extra.get(name, ()))
        done = run("photon", tmp_path / name, "-o", tmp_path / "out", *common)
        assert done.returncode == 0, done.stderr
        assert lines(done.stdout)[0]["pages"][0]["psnr"] > 15
        images.append(io.read((tmp_path / "out" / name).with_suffix(".png")).pixels)
        (tmp_path / "out" / name).with_suffix(".png").unlink()
    assert images[0].dtype == np.uint16
    assert all(np.array_equal(image, images[0]) for image in images)
    done = run("photon", tmp_path / "packed.npy", "-o", tmp_path / "no.png", "-K", 2, *CHEAP)
    assert (done.returncode, "packed" in done.stderr) == (1, True)


def test_what_people_read(run, tmp_path, noisy):
    io.write(tmp_path / "a.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    plot = tmp_path / "plots/report.png"
    done = run("deblur", "a.png", "-o", "b.tif", "-k", "box:3", *CHEAP, "--plot", plot, "-v", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = ("a.png -> b.tif", "20 x 24, gray, uint8", "chosen: ", "noise 0.", " ± 0.0", "used: denoiser tv", "lam ")
    for text in told:
        assert text in done.stdout
    assert "a.png: restoring 480 pixels" in done.stderr
    with Image.open(plot) as image:
        assert image.size[0] > 500


def test_depth_on_request_and_loss_announced(run, tmp_path, noisy):
    io.write(tmp_path / "a.png", ImageFile.of((noisy * 65535).astype(np.uint16), alpha=np.full(noisy.shape, 9, "u2")))
    for depth, dtype in (("8", np.uint8), ("16", np.uint16), ("float", np.float32)):
        assert (
            run("denoise", tmp_path / "a.png", "-o", tmp_path / f"{depth}.tif", "--depth", depth, *CHEAP).returncode
            == 0
        )
        assert io.read(tmp_path / f"{depth}.tif").pixels.dtype == dtype
    # Float files are read as light, so that is what they hold.
    light = io.linearise(io.read(tmp_path / "16.tif").pixels / 65535, "srgb")
    np.testing.assert_allclose(io.read(tmp_path / "float.tif").pixels, light, atol=1e-4)
    # What is gained by the restoration is not rounded to the old depth first.
    io.write(tmp_path / "b.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    assert run("denoise", tmp_path / "b.png", "-o", tmp_path / "b.tif", "--depth", "16", *CHEAP).returncode == 0
    assert np.unique(io.read(tmp_path / "b.tif").pixels % 257).size > 100
    done = run("denoise", tmp_path / "a.png", "-o", tmp_path / "a.jpg", *CHEAP)
    assert done.returncode == 0
    warned = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 2
    assert "no transparency" in warned[0]
    assert "cannot hold uint16" in warned[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("denoise", "a.png", "-o", "a.png"), "--output would overwrite an input, a.png"),
        (("denoise", "a.png", "-o", "b.png", "--noise", "much"), "--noise: auto, poisson, or a standard deviation"),
        (("denoise", "a.png", "-o", "b.png", "--data-range", "5"), "--data-range: two numbers"),
        (("denoise", "a.png", "-o", "b.png", "--denoiser", "bm9d"), "--denoiser: unknown denoiser 'bm9d'; available: "),
        (("deblur", "a.png", "-o", "b.png", "-k", "blob:3"), "neither a file nor one of gaussian:SIGMA"),
        (("deblur", "a.png", "-o", "b.png"), "--kernel is required"),
        (("denoise", "a.png"), "--output is required"),
        (("denoise", "a.png", "-o", "b.png", "--crop", "1,2,3"), "--crop: four numbers"),
        (("denoise", "a.png", "-o", "b.png", "--strength", "0"), "--strength: a number above 0"),
        (("denoise", "a.png", "-o", "b.png", "--weights", "a.png"), "--weights: the denoiser 'tv' takes none"),
        (("denoise", "a.png", "-o", "b.png", "--max-size", "big"), "--max-size: a size such as 500M"),
        (("denoise", "a.png", "-", "-o", "out"), "- is standard input, which cannot be combined"),
        (("photon", "a.npy", "-o", "b.png", "--data-range", "0,1"), "No such option"),
        (("denoise", "a.png", "c.png", "-o", "b.png"), "several inputs need a folder"),
        (("denoise", "*.gif", "-o", "out"), "no file matches *.gif"),
        (("denoise", "empty", "-o", "out"), "there is nothing to restore in empty"),
        (("photon", "a.npy", "-o", "b.png", "--bit-order", "up"), "'up' is not one of 'big', 'little'"),
        (("denoise", "a.png", "-o", "b.png", "--nois", "auto"), "No such option"),
    ],
)
def test_usage_errors(run, tmp_path, noisy, arguments, message):
    io.write(tmp_path / "a.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    io.write(tmp_path / "c.png", ImageFile.of((noisy * 255).astype(np.uint8)))
    (tmp_path / "empty").mkdir()
    rest = () if "--denoiser" in arguments else ("--denoiser", "tv")
    done = run(*arguments, *rest, cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "b.png").exists()


def test_errors_are_one_line_and_debug_shows_where(run, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    done = run("denoise", tmp_path / "bad.png", "-o", tmp_path / "b.png", *CHEAP)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "damaged" in done.stderr
    done = run("denoise", tmp_path / "bad.png", "-o", tmp_path / "b.png", "--debug", *CHEAP)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_help_has_examples_and_loads_nothing_heavy(run, command, environment):
    import subprocess
    import sys

    for name in ("denoise", "deblur", "inpaint", "upscale", "photon"):
        done = run(name, "--help")
        assert done.returncode == 0
        assert f"plugplay {name} " in done.stdout
        assert " -o " in done.stdout
    listing = (
        "import sys, plugplay.cli.app; print([m for m in ('numpy', 'scipy', 'skimage', 'PIL') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"
