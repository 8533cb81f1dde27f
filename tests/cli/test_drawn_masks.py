"""Masks as people draw them, through the installed command and in Python."""

import numpy as np
import pytest
from PIL import Image, ImageDraw
from skimage import data

import plugplay as pp
from plugplay import io

CHEAP = ("--denoiser", "tv", "--max-iter", "2", "--noise", "0.02")
STROKES = (((5, 0), (40, 63)), ((50, 10), (20, 50)))


def strokes(image, colour):
    drawing = ImageDraw.Draw(image)
    for ends in STROKES:
        drawing.line(ends, fill=colour, width=4)
    return image


@pytest.fixture(params=["gray", "colour"])
def folder(request, tmp_path):
    """A photograph, and the same mask drawn in several ways."""
    pixels = data.camera()[100:164, 200:264] if request.param == "gray" else data.astronaut()[40:104, 200:264]
    photograph, white = Image.fromarray(pixels), Image.new("L", (64, 64), 255)
    photograph.save(tmp_path / "photo.png")
    strokes(white, 0).save(tmp_path / "usual.png")
    strokes(photograph.convert("RGB"), (255, 0, 0)).save(tmp_path / "over.png")
    strokes(photograph.convert("RGB"), (255, 0, 0)).save(tmp_path / "over.jpg", quality=95)
    for name, colour in (("red", (255, 0, 0, 255)), ("black", (0, 0, 0, 255))):
        strokes(Image.new("RGBA", (64, 64), (0, 0, 0, 0)), colour).save(tmp_path / f"{name}.png")
    return tmp_path


@pytest.mark.parametrize("mask", ["over", "red", "black"])
def test_drawn_masks_mean_what_was_drawn(mask, folder, run):
    for name in ("usual", mask):
        done = run("inpaint", "photo.png", "-o", f"{name}.tif", "--mask", f"{name}.png", *CHEAP, cwd=folder)
        assert (done.returncode, "warning" in done.stderr) == (0, False), done.stderr
    usual, drawn = (io.read(folder / f"{name}.tif").pixels for name in ("usual", mask))
    np.testing.assert_array_equal(drawn, usual)


def test_drawn_masks_with_a_crop_in_python_and_compressed(folder, run):
    for name in ("usual", "over"):
        words = ("inpaint", "photo.png", "-o", f"out/{name}.tif", "--mask", f"{name}.png", "--crop", "4,2,40,40")
        done = run(*words, *CHEAP, cwd=folder)
        assert (done.returncode, "warning" in done.stderr) == (0, False), done.stderr
    np.testing.assert_array_equal(*(io.read(folder / f"out/{name}.tif").pixels for name in ("usual", "over")))
    options = {"denoiser": "tv", "max_iter": 2, "noise": 0.02}
    images = [pp.inpaint(folder / "photo.png", folder / f"{name}.png", **options).image for name in ("usual", "over")]
    np.testing.assert_array_equal(*images)
    usual = io.read(folder / "usual.png").pixels > 0
    found, doubts = io.mask_from(io.read(folder / "over.jpg"), "over", photograph=io.read(folder / "photo.png"))
    assert doubts == ()
    assert not found[0][~usual].any()
    assert found[0][usual].mean() > 0.8


def test_an_image_that_is_no_mask_is_refused(folder, run):
    """Another photograph, or the same without a stroke, by which nearly everything would be missing."""
    Image.fromarray(data.coins()[:64, :64]).save(folder / "other.png")
    for name in ("other", "photo"):
        done = run("inpaint", "photo.png", "-o", "out.png", "--mask", f"{name}.png", *CHEAP, cwd=folder)
        assert done.returncode == 1
        assert f"{name}.png is no mask: " in done.stderr
        assert "of its pixels are neither black nor white" in done.stderr
        assert "drawn on a transparent layer, or over a copy of the image itself" in done.stderr
        assert not (folder / "out.png").exists()
        with pytest.raises(ValueError, match=f"{name}.png is no mask"):
            pp.inpaint(folder / "photo.png", folder / f"{name}.png")


def test_masks_of_pages_in_black_and_white_are_masks(tmp_path):
    """A mask of letters equals its page nearly everywhere, and is a mask all the same."""
    page = np.full((64, 64), 255, np.uint8)
    page[10:50:8, 5:60] = 0
    mask = np.full((64, 64), 255, np.uint8)
    mask[30:34, 10:40] = 0
    found, doubts = io.mask_from(io.ImageFile.of(mask), "mask", photograph=io.ImageFile.of(page))
    assert doubts == ()
    np.testing.assert_array_equal(found[0], mask > 0)
