"""Microscopy through the installed command: counts in a corner of 16 bits, cells, volumes, what files say."""

import json

import numpy as np
import pytest
import tifffile
from scipy import ndimage
from skimage.restoration import richardson_lucy

import plugplay as pp

OFFSET, READ = 100, 1.5


def cell(size=96, seed=3):
    """Return smooth nuclei and thin filaments on a dim background, about 0 to 1."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size].astype(float)
    image = np.full((size, size), 0.03)
    for _ in range(3):
        (row, column), radius = rng.uniform(20, size - 20, 2), rng.uniform(9, 14)
        image += rng.uniform(0.3, 0.6) / (1 + np.exp(12 * (np.hypot(rows - row, columns - column) / radius - 1)))
    for _ in range(4):
        angle, place = rng.uniform(0, np.pi), rng.uniform(30, size - 30, 2)
        away = (rows - place[0]) * np.cos(angle) - (columns - place[1]) * np.sin(angle)
        image = np.maximum(image, rng.uniform(0.5, 1) * np.exp(-(away**2) / 2))
    return image


def camera(light, peak, dtype=np.uint16, seed=1):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(peak * np.maximum(light, 0)) + READ * rng.normal(size=light.shape) + OFFSET
    return np.round(counts).astype(dtype)


def restored(run, verb, source, *options):
    out = source.with_name("out" + source.suffix)
    done = run(verb, source, "-o", out, "--json", *options)
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.parametrize("dtype", [np.uint16, np.int16])
def test_counts_in_a_corner_of_their_range(dtype, tmp_path, run):
    clean = cell()
    tifffile.imwrite(tmp_path / "cells.tif", camera(clean, 150, dtype))
    out, record, _ = restored(run, "denoise", tmp_path / "cells.tif")
    image = tifffile.imread(out)
    assert image.dtype == dtype
    assert record["pages"][0]["parameters"]["noise"]["kind"] == "PoissonGaussian"
    before = pp.psnr((tifffile.imread(tmp_path / "cells.tif") - float(OFFSET)) / 150, clean)
    assert pp.psnr((image - float(OFFSET)) / 150, clean) > before + 5
    assert image.mean() == pytest.approx(OFFSET + 150 * clean.mean(), rel=0.01)
    assert np.ptp(image.astype(float)) > 100


@pytest.mark.parametrize("options", [(), ("--offset", OFFSET)])
def test_cells_are_deblurred_as_photons(options, tmp_path, run):
    clean, kernel = cell(), pp.kernels.gaussian(11, sigma=1.5)
    y = camera(ndimage.convolve(clean, kernel, mode="reflect"), 60)
    tifffile.imwrite(tmp_path / "cells.tif", y)
    tifffile.imwrite(tmp_path / "psf.tif", (30 + 4000 * kernel).astype(np.float32))
    out, record, said = restored(run, "deblur", tmp_path / "cells.tif", "--kernel", tmp_path / "psf.tif", *options)
    assert "its background of 30" in said
    noise = record["pages"][0]["parameters"]["noise"]
    assert noise["kind"] == "PoissonGaussian"
    if options:
        assert 65535 * noise["offset"] == pytest.approx(OFFSET)
    padded = np.pad(np.maximum(y - float(OFFSET), 1e-6) / 60, 11, mode="symmetric")
    peers = (richardson_lucy(padded, kernel, num_iter=n, clip=False)[11:-11, 11:-11] for n in (3, 6, 10, 16, 25, 40))
    best = max(pp.psnr(peer, clean) for peer in peers)
    assert pp.psnr((tifffile.imread(out) - float(OFFSET)) / 60, clean) > best + 0.5


def test_volumes_with_a_psf_of_three_axes_keep_what_the_file_says(tmp_path, run):
    rng = np.random.default_rng(0)
    volume = np.zeros((12, 24, 24))
    volume[3:9, 6:18, 8:16] = 0.6
    volume[6, 12, 3:21] = 1.0
    kernel = pp.kernels.gaussian((5, 7, 7), sigma=(1.0, 1.3, 1.3))
    y = ndimage.convolve(volume, kernel, mode="reflect") + 0.01 * rng.normal(size=volume.shape)
    about = {"spacing": 0.5, "unit": "um", "Labels": [f"slice {n}" for n in range(12)], "Info": "lens 40x"}
    tifffile.imwrite(tmp_path / "stack.tif", y.astype(np.float32), imagej=True, metadata={"axes": "ZYX", **about})
    np.save(tmp_path / "psf.npy", kernel)
    options = ("--kernel", tmp_path / "psf.npy", "--denoiser", "tv", "--boundary", "reflect", "--noise", "0.01")
    out, record, said = restored(run, "deblur", tmp_path / "stack.tif", *options)
    assert "12 pages are restored as a volume" in said
    assert len(record["pages"]) == 1
    with tifffile.TiffFile(out) as file:
        image, kept = file.asarray(), file.imagej_metadata
    assert image.shape == y.shape
    assert pp.psnr(image.astype(float), volume) > pp.psnr(y, volume) + 1
    assert kept["spacing"] == 0.5
    assert kept["Labels"] == about["Labels"]
    assert kept["Info"] == "lens 40x"
    tifffile.imwrite(tmp_path / "flat.tif", y[0].astype(np.float32), description="bead 7", metadata=None)
    done = run("deblur", tmp_path / "flat.tif", "-o", tmp_path / "x.tif", *options)
    assert "the file is not a stack" in done.stderr
    done = run("denoise", tmp_path / "flat.tif", "-o", tmp_path / "y.tif", "--denoiser", "tv")
    with tifffile.TiffFile(tmp_path / "y.tif") as file:
        assert file.pages[0].description == "bead 7"


def spots(seed):
    """Return a small volume of blurred points."""
    rng = np.random.default_rng(seed)
    volume = np.zeros((5, 24, 20))
    volume[rng.integers(0, 5, 12), rng.integers(3, 21, 12), rng.integers(3, 17, 12)] = 1.0
    return (200 + 3000 * ndimage.gaussian_filter(volume, (0.7, 1.2, 1.2))).astype(np.uint16)


@pytest.mark.parametrize("kind", ["ome", "imagej"])
@pytest.mark.parametrize("axes", ["ZCYX", "CZYX", "TZCYX"])
def test_each_channel_of_a_hyperstack_is_a_volume_whatever_the_order_of_its_axes(kind, axes, tmp_path, run):
    """A channel comes out as it does from a file of its own."""
    if kind == "imagej" and axes == "CZYX":
        pytest.skip("ImageJ stores slices before channels")
    order = [axes[-4:-2].index(axis) for axis in "ZC"]
    times = 2 if "T" in axes else 1
    volumes = np.stack([np.stack([spots(10 * time + channel) for channel in range(2)]) for time in range(times)])
    stored = np.moveaxis(volumes, 2, 1 + order[0])[slice(None) if "T" in axes else 0]
    name = tmp_path / ("stack.ome.tif" if kind == "ome" else "stack.tif")
    tifffile.imwrite(name, stored, **{kind: True}, metadata={"axes": axes})
    np.save(tmp_path / "psf.npy", pp.kernels.gaussian((3, 5, 5), sigma=(0.7, 1.2, 1.2)))
    mask = np.ones(stored.shape, np.uint8)
    mask[..., 4, 5] = 0
    tifffile.imwrite(tmp_path / "mask.tif", 255 * mask)
    words = ("-k", tmp_path / "psf.npy", "--denoiser", "tv", "--noise", "0.001", "--exact-kernel", "--max-iter", "3")
    words = (*words, "--boundary", "reflect", "--exact-noise", "--depth", "float")
    out, record, said = restored(run, "deblur", name, *words, "--mask", tmp_path / "mask.tif")
    assert f"{10 * times} pages are restored as {2 * times} volumes of 5 slices" in said
    assert record["shape"] == list(stored.shape)
    image = tifffile.imread(out)
    assert image.shape == stored.shape
    tifffile.imwrite(tmp_path / "one.tif", volumes[-1, 1], metadata={"axes": "ZYX"})
    tifffile.imwrite(tmp_path / "mask.tif", np.broadcast_to(255 * mask.reshape(-1, 24, 20)[:1], (5, 24, 20)))
    alone, _, _ = restored(run, "deblur", tmp_path / "one.tif", *words, "--mask", tmp_path / "mask.tif")
    slices = np.moveaxis(image.reshape(times, *image.shape[-4:]), 1 + order[0], 2)[-1, 1]
    np.testing.assert_array_equal(slices, tifffile.imread(alone))


def test_what_a_file_calls_channels_or_does_not_call_slices_is_told(tmp_path, run):
    np.save(tmp_path / "psf.npy", pp.kernels.gaussian((3, 5, 5), sigma=(0.7, 1.2, 1.2)))
    words = ("-k", "psf.npy", "--denoiser", "tv", "--max-iter", "2", "--strict", "--overwrite")
    tifffile.imwrite(tmp_path / "a.tif", spots(0), imagej=True, metadata={"axes": "CYX"})
    done = run("deblur", "a.tif", "-o", "b.tif", *words, cwd=tmp_path)
    assert done.returncode == 3
    assert "the file calls its 5 pages channels" in done.stderr
    both = np.stack([spots(0), spots(1)])
    tifffile.imwrite(tmp_path / "a.tif", both, imagej=True, metadata={"axes": "TCYX"})
    done = run("deblur", "a.tif", "-o", "b.tif", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert "no axis of the file is called Z: its axes are TCYX" in done.stderr
    tifffile.imwrite(tmp_path / "a.tif", spots(0)[:3], photometric="rgb", planarconfig="separate")
    done = run("deblur", "a.tif", "-o", "b.tif", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert 'photometric="minisblack"' in done.stderr


def test_a_psf_of_three_slices_may_be_stored_as_colours(tmp_path):
    """As tifffile stores an array of three images unless it is told that they are gray."""
    psf = pp.kernels.gaussian((3, 5, 7), sigma=(0.7, 1.0, 1.2)).astype(np.float32)
    tifffile.imwrite(tmp_path / "slices.tif", psf, photometric="minisblack")
    tifffile.imwrite(tmp_path / "colours.tif", psf, photometric="rgb", planarconfig="separate")
    expected = pp.kernels.from_file(tmp_path / "slices.tif")
    np.testing.assert_array_equal(pp.kernels.from_file(tmp_path / "colours.tif"), expected)
    alike = np.stack([psf[1]] * 3)
    tifffile.imwrite(tmp_path / "gray.tif", alike, photometric="rgb", planarconfig="separate")
    assert pp.kernels.from_file(tmp_path / "gray.tif").ndim == 2
    tifffile.imwrite(tmp_path / "mixed.tif", np.moveaxis(psf, 0, -1).copy(), photometric="rgb", planarconfig="contig")
    with pytest.raises(ValueError, match="minisblack"):
        pp.kernels.from_file(tmp_path / "mixed.tif")


@pytest.mark.parametrize("odd", [65535, 0])
def test_hot_pixels_and_numbers_for_missing_data_are_told_of(odd, tmp_path, run):
    """Which one cannot know from the file alone; with the mask that is advised, nothing is said."""
    rng = np.random.default_rng(0)
    counts = (1000 + 10 * rng.random((48, 48))).astype(np.uint16)
    places = rng.integers(0, 48, (5, 2)).T
    counts[tuple(places)] = odd
    tifffile.imwrite(tmp_path / "a.tif", counts)
    tifffile.imwrite(tmp_path / "mask.tif", np.where(counts == odd, 0, 255).astype(np.uint8))
    words = ("deblur", "a.tif", "-o", "b.tif", "-k", "box:3", "--denoiser", "tv", "--max-iter", "3")
    assert "5 pixels are far from all others, which are about 100" in run(*words, cwd=tmp_path).stderr
    assert "far from" not in run(*words, "--mask", "mask.tif", cwd=tmp_path).stderr


def test_floats_that_may_be_counts_are_told_the_option(tmp_path, run):
    kernel = pp.kernels.gaussian(7, sigma=1.0)
    y = camera(ndimage.convolve(cell(), kernel, mode="reflect"), 60).astype(np.float32)
    tifffile.imwrite(tmp_path / "cells.tif", y)
    _, record, said = restored(run, "deblur", tmp_path / "cells.tif", "-k", "gaussian:1,7", "--denoiser", "tv")
    assert "if these are counts, --noise poisson restores" in said
    assert any("--noise poisson restores" in text for text in record["pages"][0]["warnings"])
