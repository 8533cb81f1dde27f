"""Star fields in FITS files, restored by the installed command: photometry, dark rings, missing columns."""

import json
from pathlib import Path

import numpy as np
import pytest

fits = pytest.importorskip("astropy.io.fits")

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def fields(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import fields

    return fields


def written(folder, field):
    fits.writeto(folder / "field.fits", field.y.astype(np.float32))
    # With a pedestal, as point-spread functions cut out of an exposure have it.
    fits.writeto(folder / "psf.fits", (5e4 * field.psf + 20).astype(np.float32))
    return folder / "field.fits", folder / "psf.fits"


@pytest.mark.parametrize("kind", [{}, {"subtracted": True, "uniform": True, "full_well": 15000.0}])
def test_flux_is_kept_and_no_ring_is_darker_than_the_sky(kind, fields, tmp_path, run):
    field = fields.simulated(128, 5, stars=30, **kind)
    source, psf = written(tmp_path, field)
    done = run("deblur", source, "-o", tmp_path / "out.fits", "--kernel", psf, "--json")
    assert done.returncode == 0, done.stderr
    assert "stretch" in done.stderr
    assert "its background of 20" in done.stderr
    restored = fits.getdata(tmp_path / "out.fits").astype(np.float64)
    found = fields.measured(restored, field)
    if "full_well" in kind:  # cores follow from what lies around them
        assert "saturated pixels were reconstructed from the surroundings of their stars" in done.stderr
        full = field.fluxes * field.psf.max() > kind["full_well"]
        assert full.sum() >= 2
        own = fields.apertures(restored, field.places)[full] / fields.apertures(field.clean, field.places)[full]
        np.testing.assert_allclose(own, 1, atol=0.03)
    assert abs(found.total) < 0.005
    assert restored.max() > 3 * np.nanmax(field.y)  # no ceiling
    assert abs(found.bright) < 0.03
    assert found.depth < 1.5
    assert found.kept > 0.6
    assert json.loads(done.stdout.splitlines()[-1])["pages"][0]["parameters"]["noise"]["kind"] == "PoissonGaussian"


@pytest.mark.parametrize("dtype", [np.uint16, np.int16])
def test_stars_that_saturate_the_integers_of_a_file_keep_their_flux(dtype, fields, tmp_path, run):
    field = fields.simulated(128, 5, stars=30, nan_column=False)
    psf, gain = tmp_path / "psf.fits", np.iinfo(dtype).max / 8000
    fits.writeto(psf, field.psf.astype(np.float32))
    y = np.clip(np.rint(gain * field.y), 0, np.iinfo(dtype).max)
    assert np.quantile(y, 0.999) > 65535 / 4  # so that integers are taken to fill their range
    fits.writeto(tmp_path / "field.fits", y.astype(dtype))
    done = run("deblur", tmp_path / "field.fits", "-o", tmp_path / "out.fits", "--kernel", psf)
    assert done.returncode == 0, done.stderr
    assert "saturated pixels were reconstructed from the surroundings of their stars" in done.stderr
    assert "written as float32" in done.stderr
    restored = fits.getdata(tmp_path / "out.fits").astype(np.float64) / gain
    found = fields.measured(restored, field)
    assert abs(found.total) < 0.01
    assert abs(found.bright) < 0.03
    assert found.depth < 1.5


def test_inpainting_leaves_observed_pixels_within_their_noise(fields, tmp_path, run):
    field = fields.simulated(96, 6)
    source, _ = written(tmp_path, field)
    done = run("inpaint", source, "-o", tmp_path / "out.fits")
    assert done.returncode == 0, done.stderr
    restored, seen = fits.getdata(tmp_path / "out.fits").astype(np.float64), np.isfinite(field.y)
    assert np.isfinite(restored).all()
    noise = np.sqrt(field.noise**2 + np.maximum(field.y - field.sky, 0))
    moved = (np.abs(restored - field.y) / noise)[seen]
    assert np.quantile(moved, 0.99) < 3
    assert moved.max() < 6
