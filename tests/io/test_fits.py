"""FITS files: coordinates follow an enlargement, and everything beside the image is kept."""

import warnings

import numpy as np
import pytest

from plugplay import io

fits = pytest.importorskip("astropy.io.fits")
wcs = pytest.importorskip("astropy.wcs")

CELESTIAL = {
    "CTYPE1": "RA---TAN",
    "CTYPE2": "DEC--TAN",
    "CRVAL1": 150.0,
    "CRVAL2": 20.0,
    "CRPIX1": 6.5,
    "CRPIX2": 3.25,
}
HEADERS = {
    "CDELT": {"CDELT1": -1e-3, "CDELT2": 2e-3},
    "CDELT and PC": {"CDELT1": -1e-3, "CDELT2": 2e-3, "PC1_1": 0.8, "PC1_2": -0.6, "PC2_1": 0.6, "PC2_2": 0.8},
    "PC alone": {"PC1_1": 1e-3, "PC2_2": 2e-3},
    "CD": {"CD1_1": -1e-3, "CD1_2": 1e-4, "CD2_1": 2e-4, "CD2_2": 1e-3},
    "SIP": {
        "CTYPE1": "RA---TAN-SIP",
        "CTYPE2": "DEC--TAN-SIP",
        "CD1_1": -1e-3,
        "CD2_2": 1e-3,
        "A_ORDER": 2,
        "B_ORDER": 2,
        "A_2_0": 1e-3,
        "A_1_1": 2e-3,
        "B_0_2": -1e-3,
    },
    "alternative": {"CD1_1": -1e-3, "CD2_2": 1e-3, "CTYPE1A": "X", "CTYPE2A": "Y", "CRPIX1A": 1.0, "CDELT1A": 5.0},
}


def written(path, header, shape=(8, 12), *extensions):
    pixels = np.random.default_rng(0).normal(100, 5, shape).astype(np.float32)
    fits.HDUList([fits.PrimaryHDU(pixels, fits.Header(header)), *extensions]).writeto(path)
    return pixels


def enlarged(image, factor):
    return image.restored([np.kron(page, np.ones((factor, factor))) for page in image.pages], factor=factor)


@pytest.mark.parametrize("kind", HEADERS)
@pytest.mark.parametrize("factor", [2, 3])
def test_coordinates_follow(tmp_path, kind, factor):
    written(tmp_path / "a.fits", CELESTIAL | HEADERS[kind])
    io.write(tmp_path / "b.fits", enlarged(io.read(tmp_path / "a.fits"), factor))
    before, after = (fits.getheader(tmp_path / name) for name in ("a.fits", "b.fits"))
    y, x = np.mgrid[:8, :12].astype(float)
    for key in " A" if kind == "alternative" else " ":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old, new = wcs.WCS(before, key=key), wcs.WCS(after, key=key)
        # The middle of a pixel is the middle of those that take its place.
        middle = (factor - 1) / 2
        sky = old.all_pix2world(x, y, 0)
        again = new.all_pix2world(factor * x + middle, factor * y + middle, 0)
        np.testing.assert_allclose(again, sky, rtol=0, atol=1e-9)


def test_axes_that_mix_with_a_third_one(tmp_path):
    cube = {"CTYPE3": "FREQ", "CRPIX3": 1.0, "CDELT3": 3.0, "PC3_1": 0.25, "PC1_1": 1.0, "CDELT1": -1e-3}
    pixels = np.zeros((2, 8, 12), np.float32)
    fits.PrimaryHDU(pixels, fits.Header(CELESTIAL | cube)).writeto(tmp_path / "a.fits")
    io.write(tmp_path / "b.fits", enlarged(io.read(tmp_path / "a.fits"), 2))
    old, new = (wcs.WCS(fits.getheader(tmp_path / name)) for name in ("a.fits", "b.fits"))
    np.testing.assert_allclose(new.all_pix2world(6.5, 4.5, 1, 0), old.all_pix2world(3, 2, 1, 0), rtol=1e-12)


def test_coordinates_follow_the_sampling_of_the_model(tmp_path):
    written(tmp_path / "a.fits", CELESTIAL | HEADERS["CD"])
    image = io.read(tmp_path / "a.fits")
    io.write(tmp_path / "b.fits", image.restored([np.zeros((16, 24))], factor=2, offset=0))
    old, new = (wcs.WCS(fits.getheader(tmp_path / name)) for name in ("a.fits", "b.fits"))
    np.testing.assert_allclose(new.all_pix2world(6, 4, 0), old.all_pix2world(3, 2, 0), rtol=0, atol=1e-9)


def test_headers_without_coordinates_get_none(tmp_path):
    written(tmp_path / "a.fits", {"OBJECT": "M 31"})
    io.write(tmp_path / "b.fits", enlarged(io.read(tmp_path / "a.fits"), 2))
    assert not [key for key in fits.getheader(tmp_path / "b.fits") if key.startswith(("CRPIX", "CDELT", "CD"))]


@pytest.fixture
def observed(tmp_path):
    """A file as observatories deliver them: headers, image, errors, flags, a table."""
    rng = np.random.default_rng(1)
    science = rng.normal(100, 5, (8, 12)).astype(np.float32)
    flags = (rng.random((8, 12)) < 0.2).astype(np.int16) * 4
    table = fits.BinTableHDU.from_columns([fits.Column("x", "E", array=np.arange(3.0))], name="CATALOG")
    parts = [
        fits.PrimaryHDU(header=fits.Header({"TELESCOP": "HST"})),
        fits.ImageHDU(science, fits.Header(CELESTIAL | HEADERS["CD"]), name="SCI"),
        fits.ImageHDU(np.full((8, 12), 5, np.float32), name="ERR"),
        fits.ImageHDU(flags, fits.Header(CELESTIAL | HEADERS["CD"]), name="DQ"),
        fits.ImageHDU(np.ones((8, 12), np.float32), name="WHT"),
        fits.ImageHDU(np.ones((3, 3), np.float32), name="PSF"),
        table,
    ]
    fits.HDUList(parts).writeto(tmp_path / "a.fits")
    return tmp_path / "a.fits", science, flags


def test_an_unchanged_file_keeps_every_part(observed, tmp_path):
    path, *_ = observed
    io.write(tmp_path / "b.fits", io.read(path))
    assert fits.FITSDiff(path, tmp_path / "b.fits").identical


def test_a_restored_file_keeps_what_still_holds(observed, tmp_path):
    path, science, flags = observed
    image = io.read(path)
    np.testing.assert_array_equal(image.pixels, science)
    with pytest.warns(io.ImageLossWarning, match="ERR has the errors of the pixels before restoration"):
        restored = image.restored([science + 1])
    io.write(tmp_path / "b.fits", restored)
    with fits.open(tmp_path / "b.fits") as hdus:
        hdus.verify("exception")
        assert [hdu.name for hdu in hdus] == ["PRIMARY", "SCI", "DQ", "WHT", "PSF", "CATALOG"]
        assert hdus[0].header["TELESCOP"] == "HST"
        np.testing.assert_array_equal(hdus["SCI"].data, science + 1)
        np.testing.assert_array_equal(hdus["DQ"].data, flags)
        assert hdus["CATALOG"].data["x"].tolist() == [0, 1, 2]


def test_an_enlarged_file_enlarges_its_flags(observed, tmp_path):
    path, _, flags = observed
    with pytest.warns(io.ImageLossWarning) as losses:
        larger = enlarged(io.read(path), 2)
    assert [word in str(loss.message) for loss, word in zip(losses, ("ERR", "WHT"), strict=True)] == [True, True]
    io.write(tmp_path / "b.fits", larger)
    with fits.open(tmp_path / "b.fits") as hdus:
        hdus.verify("exception")
        assert [hdu.name for hdu in hdus] == ["PRIMARY", "SCI", "DQ", "PSF", "CATALOG"]
        np.testing.assert_array_equal(hdus["DQ"].data, np.kron(flags, np.ones((2, 2), int)))
        assert hdus["DQ"].header["CRPIX1"] == hdus["SCI"].header["CRPIX1"] == 2 * (6.5 - 0.5) + 0.5


def test_flags_are_a_mask(observed, tmp_path):
    path, _, flags = observed
    mask = io.read(path).quality_mask
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, flags == 0)
    written(tmp_path / "b.fits", {})
    assert io.read(tmp_path / "b.fits").quality_mask is None


def test_compressed_images(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 500, (20, 30)).astype(np.int32)
    hdus = [fits.PrimaryHDU(), fits.CompImageHDU(pixels, name="SCI"), fits.CompImageHDU(pixels % 2, name="DQ")]
    fits.HDUList(hdus).writeto(tmp_path / "a.fits")
    image = io.read(tmp_path / "a.fits")
    np.testing.assert_array_equal(image.pixels, pixels)
    np.testing.assert_array_equal(image.quality_mask, pixels % 2 == 0)
    io.write(tmp_path / "b.fits", image)
    with fits.open(tmp_path / "b.fits") as again:
        np.testing.assert_array_equal(again["SCI"].data, pixels)
        np.testing.assert_array_equal(again["DQ"].data, pixels % 2)


def test_other_formats_say_that_they_cannot_hold_the_parts(observed, tmp_path):
    path, *_ = observed
    with pytest.warns(io.ImageLossWarning, match="cannot hold the other parts of the FITS file"):
        io.write(tmp_path / "a.tif", io.read(path))
