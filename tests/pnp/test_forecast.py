"""The time that is left, foretold on problems the rule was not made for."""

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.pnp.forecast import iterations_left, seconds_left
from plugplay.pnp.state import Figures, History


def test_iterations_left_on_other_images():
    """Within 30 % or one iteration from the fourth on, in nine cases of ten."""
    problems = {
        "disk": pp.models.Deblurring(pp.kernels.disk(2)),
        "holes": pp.models.Inpainting(np.random.default_rng(1).random((64, 64)) < 0.7),
        "shrunk": pp.models.SuperResolution(2, pp.kernels.gaussian(7, sigma=1.2)),
    }
    right = []
    images = data.brick()[:64, :64], data.text()[60:124, 60:124], data.moon()[200:264, 200:264]
    for image in (image / 255 for image in images):
        for model in problems.values():
            y = model.simulate(image, noise=0.02, rng=0)
            result = pp.restore(y, model, denoiser="tv", noise=0.02)
            delta, sigma = result.history.delta.tolist(), result.history.sigma.tolist()
            for done in range(4, len(delta)):
                left = len(delta) - done
                foretold = iterations_left(
                    delta[:done], sigma[:done], tol=result.parameters.tol, max_iter=result.parameters.max_iter
                )
                right.append(abs(foretold - left) <= 0.3 * left + 1)
    assert len(right) > 100
    assert np.mean(right) >= 0.9


def test_a_run_that_follows_one_on_a_coarse_grid_is_foretold_from_its_first_iteration():
    parameters = pp.prepare(np.eye(16), pp.models.Deblurring(pp.kernels.box(3)), denoiser="tv", noise=0.02).parameters

    def iteration(k, level):
        sigma = 0.3 / parameters.schedule.gamma ** (k / 2)
        return Figures(
            rho=0.02**2 / sigma**2, sigma=sigma, delta=0.3 * sigma, dx=0, dv=0, du=0, fidelity=1.0,
            seconds=4.0 if level == 0 else 1.0, level=level,
        )  # fmt: skip

    coarse = [iteration(k, 1) for k in range(8)]
    left = [seconds_left(History.of(coarse + [iteration(k, 0) for k in range(n)]), parameters) for n in range(1, 5)]
    # As many seconds less as were spent, not those of the longest run that is allowed.
    np.testing.assert_allclose(-np.diff(left), 4.0, rtol=0.5)


@pytest.mark.parametrize(
    ("delta", "sigma", "tol", "expected"),
    [
        ([0.1], [0.2], 1e-3, 39),  # nothing is known yet
        ([0.1, 0.05], [0.2, 0.2], 0.0, 38),  # it will not stop before the limit
        ([0.1, 0.1, 0.1], [0.2] * 3, 1e-3, 37),  # nothing moves
        ([0.08, 0.04, 0.02, 0.01], [0.2] * 4, 1e-3, np.log2(10)),  # a constant schedule: by the trend alone
        ([0.08, 0.04, 0.0005], [0.2] * 3, 1e-3, 0),
    ],
)
def test_special_courses(delta, sigma, tol, expected):
    assert iterations_left(delta, sigma, tol=tol, max_iter=40) == pytest.approx(expected)
