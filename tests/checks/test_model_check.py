"""`check_model` accepts every built-in and catches every kind of mistake."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import plugplay as pp
from plugplay.checks.report import CheckFailedError

m = pp.models
RNG = np.random.default_rng(0)
SKEW = RNG.random((4, 5)) / 20
MODELS = {
    "denoising": m.Denoising(),
    "inpainting": m.Inpainting(RNG.random((60, 48)) < 0.5),
    "photon": m.SinglePhoton(3),
    "photon frames": m.SinglePhoton(2, frames=4, threshold=2, gain=9.0, dark=0.02, efficiency=0.7),
    "masked deblurring": m.Deblurring(SKEW, mask=RNG.random((60, 48)) < 0.8),
    **{f"deblurring {b}": m.Deblurring(SKEW, boundary=b) for b in ("circular", "reflect", "unknown")},
    **{
        f"upscaling {k} {b}": m.SuperResolution(k, kernel, boundary=b)
        for k, kernel in ((1, SKEW), (2, "bicubic"), (3, SKEW), (4, "bicubic"))
        for b in ("circular", "reflect", "unknown")
    },
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("channels", [(), (3,)], ids=["gray", "colour"])
def test_every_built_in_passes(model, channels):
    x = np.random.default_rng(1).random((60, 48, *channels))
    pp.check_model(model, x).raise_if_failed()


@dataclass(frozen=True)
class Scaled:
    """A user's own model, y = 2 x; each flag plants a mistake."""

    wrong_adjoint: bool = False
    wrong_gradient: bool = False
    wrong_prox: bool = False
    loses_precision: bool = False
    spoils: bool = False

    def forward(self, x):
        if self.spoils:
            x += 1
        return 2 * x

    def adjoint(self, y):
        return (3 if self.wrong_adjoint else 2) * y

    def simulate(self, x, *, noise=0.0, rng=None):
        return 2 * x

    def data_term(self, y):
        return ScaledTerm(self, y)


@dataclass(frozen=True, eq=False)
class ScaledTerm:
    model: Scaled
    y: np.ndarray

    @property
    def shape(self):
        return self.y.shape

    def prox(self, v, rho):
        x = (2 * self.y + rho * v) / (4 + rho)
        x = x + 1e-4 if self.model.wrong_prox else x
        return x.astype(np.float64) if self.model.loses_precision else x

    def value(self, x):
        return 0.5 * float(np.sum((2 * x - self.y) ** 2))

    def gradient(self, x):
        return (2 if not self.model.wrong_gradient else 2.001) * (2 * x - self.y)

    def start(self):
        return self.y / 2

    def crop(self, x):
        return x


def test_a_model_of_one_s_own_passes_and_restores(camera):
    report = pp.check_model(Scaled(), camera)
    assert report.passed, str(report)
    result = pp.pnp_admm(
        Scaled().data_term(2 * camera), lambda i, s: i, schedule=pp.Monotone(rho0=1.0, gamma=2.0), lam=1e-4
    )
    np.testing.assert_allclose(result.image, camera, atol=1e-3)


@pytest.mark.parametrize(
    ("mistake", "culprit"),
    [
        ("wrong_adjoint", "adjoint"),
        ("wrong_gradient", "gradient"),
        ("wrong_prox", "prox, rho"),
        ("loses_precision", "prox, float32"),
        ("spoils", "forward leaves x alone"),
    ],
)
def test_mistakes_are_found(mistake, culprit, camera):
    report = pp.check_model(replace(Scaled(), **{mistake: True}), camera.copy())
    assert not report.passed
    assert any(culprit in check.name for check in report.checks if not check.passed)
    with pytest.raises(CheckFailedError, match="FAILED"):
        report.raise_if_failed()
