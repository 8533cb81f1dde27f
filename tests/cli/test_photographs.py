"""Photographs: numbers with a curve, blurred in light, rounded by JPEG, through the installed command."""

import json

import numpy as np
import pytest
from PIL import Image, ImageCms
from scipy.signal import fftconvolve
from skimage.restoration import richardson_lucy

import plugplay as pp
from plugplay import io
from plugplay.io import ImageFile

KERNEL = "motion:15,30"


def blurred_light(truth, kernel, transfer="srgb"):
    """Return what a moving camera records of an image, as numbers with a curve, without the frame's rim."""
    light = io.linearise(truth, transfer)
    record = fftconvolve(light, pp.kernels.parse(kernel), mode="same")
    record += np.random.default_rng(0).normal(size=record.shape) * np.sqrt(1e-5 * np.abs(record) + 1e-6)
    return io.encode(np.clip(record, 0, 1), transfer)[12:-12, 12:-12]


def bytes_of(image):
    return (np.clip(image, 0, 1) * 255).round().astype(np.uint8)


@pytest.fixture(scope="module")
def shaken(tmp_path_factory, camera):
    """A folder with a photograph as JPEG and PNG files, and the truth beside them."""
    folder = tmp_path_factory.mktemp("photographs")
    stored = bytes_of(blurred_light(camera, KERNEL))
    Image.fromarray(stored).save(folder / "photo.jpg", quality=92)
    Image.fromarray(stored).save(folder / "photo.png")
    Image.fromarray(bytes_of(camera[12:-12, 12:-12])).save(folder / "true.png")
    return folder


def quality(done):
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    return record["pages"][0]["psnr"], record


def before(folder, name="photo.jpg"):
    return pp.psnr(*(io.read(folder / file).unit_pages()[0] for file in (name, "true.png")))


def test_the_documented_example_ends_above_its_input(run, shaken, tmp_path):
    """``deblur photo.jpg --kernel motion:15,30``, nothing else: in light, with what JPEG lost in mind."""
    words = ("deblur", "photo.jpg", "-o", tmp_path / "sharp.jpg", "--kernel", KERNEL)
    found, record = quality(run(*words, "--reference", "true.png", "--json", cwd=shaken))
    assert found > before(shaken) + 4
    assert not record["doubtful"]
    used = record["pages"][0]["parameters"]
    assert used["transfer"] == "srgb"
    assert used["noise"] >= io.read(shaken / "photo.jpg").metadata.noise_floor > 2.5 / 255
    stored, record = quality(
        run(*words, "--reference", "true.png", "--json", "--linear", "off", "--overwrite", cwd=shaken)
    )
    assert record["pages"][0]["parameters"]["transfer"] == "linear"
    assert found > stored + 2


def test_a_kernel_that_is_a_tenth_too_long_is_replaced_unless_it_is_said_to_be_exact(run, shaken, tmp_path):
    """The peer of the promise, 30 iterations of Richardson and Lucy with the same kernel, comes nowhere near."""
    words = ("deblur", "photo.jpg", "-o", tmp_path / "sharp.png", "--reference", "true.png", "-k", "motion:16.5,30")
    found, record = quality(run(*words, "--json", cwd=shaken))
    said = [text for text in record["warnings"] if "the data fit a kernel that is" in text]
    assert len(said) == 1
    assert "% narrower better than the given one, so it was used" in said[0]
    kept, record = quality(run(*words, "--json", "--exact-kernel", cwd=shaken))
    assert record["status"] != "skipped"  # another option, another result
    assert not any("so it was used" in text for text in record["warnings"])
    true, record = quality(run(*words[:-1], KERNEL, "--json", cwd=shaken))
    assert not any("fit a kernel" in text for text in record["warnings"])
    y, truth = (io.read(shaken / name).unit_pages()[0] for name in ("photo.jpg", "true.png"))
    peer = pp.psnr(richardson_lucy(y, pp.kernels.parse("motion:16.5,30"), 30), truth)
    assert found > max(kept, peer) + 1
    assert found > true - 1.5


def test_a_given_level_of_noise_is_kept_if_it_is_exact(run, shaken, tmp_path):
    words = ("deblur", "photo.jpg", "-o", tmp_path / "s.png", "-k", KERNEL, "--denoiser", "tv", "--json")
    done = run(*words, "--noise", "0.001", "--exact-noise", cwd=shaken)
    assert json.loads(done.stdout)["pages"][0]["parameters"]["noise"] == 0.001
    refused = run(*words, "--exact-noise", "--overwrite", cwd=shaken)
    assert refused.returncode == 2
    assert "--exact-noise: which level is to be kept?" in refused.stderr


def test_denoising_stays_with_the_numbers_unless_told(run, shaken, tmp_path):
    words = ("denoise", "photo.png", "--denoiser", "tv", "--noise", "0.02", "--json", "--depth", "float")
    curves = []
    for linear in ("auto", "on"):
        done = run(*words, "-o", tmp_path / f"{linear}.tif", "--linear", linear, cwd=shaken)
        curves.append(json.loads(done.stdout)["pages"][0]["parameters"]["transfer"])
    assert curves == ["linear", "srgb"]
    images = [io.read(tmp_path / f"{linear}.tif").pixels for linear in ("auto", "on")]
    assert 0 < np.abs(images[0] - images[1]).mean() < 0.01  # the same image, in the numbers of the file


@pytest.mark.parametrize(("kernel", "curve"), [("bicubic", "linear"), ("gaussian:1", "srgb")])
def test_a_library_shrinks_numbers_and_a_lens_blurs_light(run, shaken, tmp_path, kernel, curve):
    words = ("upscale", "photo.png", "-o", tmp_path / "large.png", "-f", 2, "--kernel", kernel, "--max-iter", 2)
    done = run(*words, "--denoiser", "tv", "--json", cwd=shaken)
    assert json.loads(done.stdout)["pages"][0]["parameters"]["transfer"] == curve


def test_curves_of_files(run, tmp_path, camera):
    """Floats are light; a profile's curve is undone and done again; one that nobody knows is left alone, and said."""
    stored = blurred_light(camera[:64, :64], "box:5", "gamma:2")
    io.write(tmp_path / "float.tif", ImageFile.of(stored.astype(np.float32)))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(bytes_of(stored)).save(tmp_path / "known.png", icc_profile=gamma_profile(2))
    Image.fromarray(bytes_of(stored)).save(tmp_path / "unknown.png", icc_profile=profile[:200])
    words = ("--kernel", "box:5", "--denoiser", "tv", "--max-iter", "3", "--noise", "0.01", "--json")
    done = run("deblur", *sorted(tmp_path.iterdir()), "-o", tmp_path / "out", *words)
    assert done.returncode == 0, done.stderr
    curves = [json.loads(line)["pages"][0]["parameters"]["transfer"] for line in done.stdout.splitlines()]
    assert curves == ["linear", "gamma:2", "linear"]
    assert done.stderr.count("its transfer curve is unknown to plugplay") == 1
    done = run("deblur", tmp_path / "unknown.png", "-o", tmp_path / "on.png", "--linear", "on", *words[:-1])
    assert "restored in linear light (srgb)" in done.stdout
    # What the command writes is what Python restores from the same values.
    by_hand = pp.deblur(bytes_of(stored), "box:5", denoiser="tv", max_iter=3, noise=0.01, transfer="gamma:2").image
    written = io.read(tmp_path / "out/known.png")
    assert np.abs(written.pixels.astype(int) - bytes_of(by_hand)).max() <= 1
    assert written.transfer == "gamma:2"


def gamma_profile(exponent):
    """Return a gray profile that holds nothing but a power curve."""
    curve = b"curv" + bytes(4) + (1).to_bytes(4, "big") + round(exponent * 256).to_bytes(2, "big") + bytes(2)
    body = (1).to_bytes(4, "big") + b"kTRC" + (144).to_bytes(4, "big") + len(curve).to_bytes(4, "big") + curve
    size = 128 + len(body)
    header = bytearray(128)
    header[:4] = size.to_bytes(4, "big")
    header[8:12], header[12:16], header[16:20], header[20:24] = b"\x02\x10\0\0", b"mntr", b"GRAY", b"XYZ "
    header[36:40] = b"acsp"
    return bytes(header) + body
