"""Dask arrays: lazy until they are computed, and then like the whole image."""

from dataclasses import replace

import numpy as np
import pytest

import plugplay as pp
from plugplay import scale
from plugplay.scale.large import TileReport

da = pytest.importorskip("dask.array")
import dask  # noqa: E402

OPTIONS = {"denoiser": "gaussian", "noise": 0.1}


@pytest.fixture(scope="module")
def noisy():
    ramp = np.add.outer(np.linspace(0, 1, 150), np.linspace(0, 1, 130)) / 2
    return (ramp + np.random.default_rng(0).normal(0, 0.1, ramp.shape)).astype(np.float32)


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_a_lazy_result_is_that_of_the_whole_image(noisy):
    result = scale.denoise(da.from_array(noisy, chunks=50), core=64, **OPTIONS)
    assert isinstance(result, pp.Result)
    assert isinstance(result.image, da.Array)
    assert result.image.chunks == ((64, 64, 22), (64, 64, 2))
    assert result.parameters.noise == 0.1
    done = result.compute()
    np.testing.assert_allclose(done.image, pp.denoise(noisy, **OPTIONS).image, atol=1e-6)
    assert done.image.dtype == result.image.dtype
    assert done.status.name in ("FINISHED", "CONVERGED")
    assert len(done.tiles) == 9
    assert done.tiles[0].iterations == 1


def test_warnings_and_status_come_from_the_tiles(noisy):
    small = da.from_array(noisy[:80, :80], chunks=40)
    result = scale.deblur(small, "gaussian:1", core=48, denoiser="gaussian", noise=0.02, max_iter=2)
    (raised,) = result.warnings
    assert raised.startswith("the data contradict the assumed noise 0.02")
    done = result.compute()
    assert {report.iterations for report in done.tiles} == {2}
    assert (done.status.name, done.warnings) == ("FINISHED", (raised,))
    # The worst status of all is that of the image, and what any of them noticed is told once.
    odd = [TileReport(name, status, 2, ("odd",), 0.1) for name, status in (("a", "CONVERGED"), ("b", "DOUBTFUL"))]
    doubtful = replace(result, tiles=dask.delayed(odd)).compute()
    assert (doubtful.status.name, doubtful.warnings) == ("DOUBTFUL", (raised, "odd"))


def test_colour_masks_and_enlarging(noisy):
    colour = np.stack([noisy[:70, :60]] * 3, axis=-1)
    result = scale.denoise(da.from_array(colour, chunks=(32, 32, 3)), core=40, channel_axis=-1, **OPTIONS)
    np.testing.assert_allclose(
        np.asarray(result.image), pp.denoise(colour, channel_axis=-1, **OPTIONS).image, atol=1e-6
    )
    tiny = da.from_array(noisy[:40, :44], chunks=20)
    large = scale.super_resolve(tiny, 2, "gaussian:1,5", core=32, max_iter=1, **OPTIONS)
    assert np.asarray(large.image).shape == large.image.shape == (80, 88)
    seen = np.random.default_rng(0).random(tiny.shape) < 0.7
    holes = da.where(seen, tiny, np.nan)
    filled = np.asarray(scale.inpaint(holes, seen, core=32, max_iter=2, **OPTIONS).image)
    assert np.isfinite(filled).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: scale.denoise(np.zeros((8, 8))), "y must be a Dask array; got ndarray"),
        (lambda y: scale.denoise(da.zeros((3, 40, 40))), "restore the pages of a stack one by one"),
        (lambda y: scale.denoise(y, start=1), "start is not for images in tiles"),
        (lambda y: scale.denoise(y, halo=-1), "halo must be"),
        (lambda y: scale.inpaint(y, np.ones((3, 3), bool)), "the mask has the shape"),
        (lambda y: scale.denoise(y, nois=1), "nois"),
        (lambda y: scale.denoise(y > 0), "values of the type bool"),
    ],
)
def test_mistakes(noisy, call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(da.from_array(noisy[:40, :40], chunks=20))
