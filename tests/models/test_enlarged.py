"""The first guess of a restoration, which is made when it is asked for."""

import numpy as np
import pytest

import plugplay as pp
from plugplay.models.operators.frame import Frame
from plugplay.models.operators.interpolation import Enlarged, bicubic_upsample


@pytest.mark.parametrize("margin", [Frame(), Frame((1, 0), (2, 3))])
@pytest.mark.parametrize("channels", [(), (2,)])
@pytest.mark.parametrize("factor", [1, 3])
def test_it_is_the_interpolation_of_the_continued_samples(margin, channels, factor):
    samples = np.random.default_rng(0).random((5, 4, *channels)).astype(np.float32)
    enlarged = Enlarged(samples, margin, factor, (0.5, 1.0))
    image = enlarged.image()
    np.testing.assert_array_equal(image, bicubic_upsample(margin.reflect(samples), factor, (0.5, 1.0)))
    assert (image.shape, image.dtype) == (enlarged.shape, enlarged.dtype)


def test_an_image_that_needs_no_enlarging_is_copied():
    image = np.random.default_rng(1).random((4, 3, 2))
    made = Enlarged.exactly(image, spatial_ndim=2).image()
    np.testing.assert_array_equal(made, image)
    assert not np.shares_memory(made, image)


@pytest.mark.parametrize("boundary", ["circular", "reflect", "unknown"])
def test_a_start_does_not_follow_what_happens_to_the_observation(boundary):
    y = np.random.default_rng(2).random((12, 12))
    term = pp.models.SuperResolution(2, pp.kernels.gaussian(5, sigma=1.0), boundary=boundary).data_term(y)
    before = term.start()
    y[...] = 0
    np.testing.assert_array_equal(term.start(), before)
