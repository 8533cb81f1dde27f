"""How dark and bright a restored image may be."""

import numpy as np
import pytest

import plugplay as pp


def test_blur_does_not_decide_how_dark_an_image_of_low_contrast_is():
    """Stripes that a blur has nearly levelled out are darker than anything that was observed."""
    x = np.full((128, 128), 0.7) + np.linspace(0, 0.1, 128)[:, None]
    x[:, 60:62] = 0.35
    model = pp.models.Deblurring(pp.kernels.disk(4))
    y = model.simulate(x, noise=0.5 / 255, rng=0)
    result = pp.restore(y, model)
    assert not np.isclose(result.parameters.working_range[0], 0)  # it does not fill its range
    assert result.parameters.clip[0] < 0.5 < y.min()
    assert pp.psnr(result.image, x) > pp.psnr(y, x) + 8


def test_on_a_dark_background_nothing_is_darker_than_it():
    x = np.full((64, 64), 0.1)
    x[10:50, 10:40] = 0.3
    model = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.5))
    y = model.simulate(x, noise=1 / 255, rng=0)
    assert pp.prepare(y, model).parameters.clip[0] == pytest.approx(y.min())
