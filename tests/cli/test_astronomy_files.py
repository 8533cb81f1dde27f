"""FITS files with several extensions through the installed command: coordinates, errors, flags."""

import numpy as np
import pytest

fits = pytest.importorskip("astropy.io.fits")
wcs = pytest.importorskip("astropy.wcs")


def written(path, *, cd):
    rng = np.random.default_rng(0)
    image = (100 + 20 * rng.random((24, 32)) + rng.normal(size=(24, 32))).astype(np.float32)
    header = fits.Header({"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 10.5, "CRPIX2": 7.0})
    header.update({"CRVAL1": 150.0, "CRVAL2": 2.0, "OBJECT": "M 31"})
    if cd:
        header.update({"CD1_1": -2e-4, "CD1_2": 1e-5, "CD2_1": 1e-5, "CD2_2": 2e-4})
    else:
        header.update({"CDELT1": -2e-4, "CDELT2": 2e-4, "PC1_1": 0.9, "PC1_2": -0.1, "PC2_1": 0.1, "PC2_2": 0.9})
    flags = np.zeros(image.shape, np.int16)
    flags[10:12, 5:9] = 4
    image[10:12, 5:9] = 9e4
    table = fits.BinTableHDU.from_columns([fits.Column("flux", "E", array=np.arange(3.0))], name="CATALOG")
    parts = [fits.PrimaryHDU(), fits.ImageHDU(image, header, name="SCI")]
    parts += [fits.ImageHDU(np.ones_like(image), name="ERR"), fits.ImageHDU(flags, name="DQ"), table]
    fits.HDUList(parts).writeto(path)
    return image, flags


@pytest.mark.parametrize("cd", [True, False])
def test_coordinates_and_extensions_follow_an_enlargement(cd, tmp_path, run):
    written(tmp_path / "field.fits", cd=cd)
    options = ("--factor", 2, "--denoiser", "tv", "--max-iter", 3, "--mask", "dq")
    done = run("upscale", tmp_path / "field.fits", "-o", tmp_path / "out.fits", *options)
    assert done.returncode == 0, done.stderr
    assert "ERR" in done.stderr
    with fits.open(tmp_path / "field.fits") as before, fits.open(tmp_path / "out.fits") as after:
        assert [part.name for part in after] == ["PRIMARY", "SCI", "DQ", "CATALOG"]
        assert after["SCI"].data.shape == (48, 64)
        assert after["DQ"].data.shape == (48, 64)
        assert after["SCI"].header["OBJECT"] == "M 31"
        assert after["SCI"].data.max() < 200  # what the flags call bad was not used
        np.testing.assert_array_equal(after["CATALOG"].data["flux"], np.arange(3.0))
        small, large = wcs.WCS(before["SCI"].header), wcs.WCS(after["SCI"].header)
        # The middle of a pixel is the middle of the four that take its place.
        np.testing.assert_allclose(
            small.pixel_to_world_values(6, 9), large.pixel_to_world_values(12.5, 18.5), atol=1e-9
        )
        corner = large.pixel_to_world_values(-0.5, -0.5)
        np.testing.assert_allclose(small.pixel_to_world_values(-0.5, -0.5), corner, atol=1e-9)


def test_flags_of_the_file_are_a_mask_by_option(tmp_path, run):
    written(tmp_path / "field.fits", cd=True)
    done = run("inpaint", tmp_path / "field.fits", "-o", tmp_path / "out.fits", "--mask", "dq", "--denoiser", "tv")
    assert done.returncode == 0, done.stderr
    assert fits.getdata(tmp_path / "out.fits", "SCI").max() < 200
    fits.writeto(tmp_path / "bare.fits", np.ones((8, 8), np.float32))
    done = run("inpaint", tmp_path / "bare.fits", "-o", tmp_path / "x.fits", "--mask", "dq")
    assert done.returncode == 1
    assert "has no flags" in done.stderr
