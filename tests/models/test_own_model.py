"""A model of a user's own is treated like a built-in one: deblurring, written again without plugplay's."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.fft

import plugplay as pp


@dataclass(frozen=True, eq=False)
class Blur:
    """Circular deblurring by plain FFTs."""

    kernel: np.ndarray

    def spectrum(self, shape):
        padded = np.zeros(shape)
        padded[: self.kernel.shape[0], : self.kernel.shape[1]] = self.kernel
        return scipy.fft.fft2(np.roll(padded, [-(n // 2) for n in self.kernel.shape], (0, 1)))

    def forward(self, x):
        return scipy.fft.ifft2(self.spectrum(x.shape) * scipy.fft.fft2(x)).real.astype(x.dtype)

    def adjoint(self, y):
        return scipy.fft.ifft2(self.spectrum(y.shape).conj() * scipy.fft.fft2(y)).real

    def simulate(self, x, *, noise=0.0, rng=None):
        return self.forward(x) + noise * np.random.default_rng(rng).standard_normal(x.shape)

    def data_term(self, y):
        return BlurTerm(self, y)


@dataclass(frozen=True, eq=False)
class BlurTerm:
    """Half the squared distance, with the closed form of the paper."""

    model: Blur
    y: np.ndarray

    @property
    def shape(self):
        return self.y.shape

    def prox(self, v, rho):
        h = self.model.spectrum(v.shape)
        top = h.conj() * scipy.fft.fft2(self.y) + rho * scipy.fft.fft2(v)
        return scipy.fft.ifft2(top / (np.abs(h) ** 2 + rho)).real.astype(v.dtype)

    def value(self, x):
        return 0.5 * np.sum(np.square(self.model.forward(x) - self.y))

    def gradient(self, x):
        return self.model.adjoint(self.model.forward(x) - self.y)

    def residual(self, x):
        return self.model.forward(x) - self.y

    def start(self):
        return self.y.copy()

    def crop(self, x):
        return x


class TalkingBlur(Blur):
    """The same, with traits."""

    def traits(self, y):
        response = self.spectrum((64, 64))
        return pp.models.Traits(
            spectrum=response,
            norm=float(np.abs(response).max()),
            constant_gain=float(self.kernel.sum()),
            leaves="coloured",
        )


@pytest.fixture(scope="module")
def kernel():
    return pp.kernels.gaussian(7, sigma=1.3)


@pytest.fixture(scope="module")
def blurred(kernel, camera):
    return Blur(kernel).simulate(camera[:64, :64], noise=0.02, rng=0)


def test_it_is_a_model(kernel, camera):
    pp.check_model(Blur(kernel), camera[:16, :16], y=Blur(kernel).forward(camera[:16, :16])).raise_if_failed()


@pytest.mark.parametrize("options", [{}, {"denoiser": "tv", "tune": "sure", "rng": 0}, {"iteration": "hqs"}])
def test_it_gets_the_parameters_and_the_treatment_of_the_built_in(kernel, blurred, options):
    mine = pp.restore(blurred, TalkingBlur(kernel), **options)
    built_in = pp.restore(blurred, pp.models.Deblurring(kernel), **options)
    for name in ("lam", "schedule", "tol", "max_iter", "noise", "clip", "denoiser", "prepared", "last_sigma"):
        assert getattr(mine.parameters, name) == getattr(built_in.parameters, name), name
    np.testing.assert_allclose(mine.image, built_in.image, atol=2e-3)


def test_a_silent_model_gets_cautious_parameters(kernel, blurred, camera):
    """Without a spectrum lambda cannot follow from it; everything else is the same."""
    silent = pp.restore(blurred, Blur(kernel), noise=0.02)
    built_in = pp.restore(blurred, pp.models.Deblurring(kernel), noise=0.02)
    assert silent.parameters.lam == pytest.approx(0.45 * 0.02**2)
    assert silent.parameters.prepared == built_in.parameters.prepared
    x = camera[:64, :64]
    assert pp.psnr(silent.image, x) > pp.psnr(built_in.image, x) - 0.3


def test_silent_models_are_measured(kernel, blurred):
    from plugplay.models.description import traits_of

    silent = traits_of(Blur(kernel), blurred, spatial_ndim=2)
    assert silent.norm == pytest.approx(1.0, rel=0.06)
    assert silent.constant_gain == pytest.approx(1.0, abs=1e-9)
    assert silent.unknowns_per_sample == 1.0
    assert silent.leaves == "coloured"


def test_traits_of_another_kind_are_refused(kernel, blurred):
    class Wrong(Blur):
        def traits(self, y):
            return {"leaves": "white"}

    with pytest.raises(TypeError, match=r"Wrong.traits must return plugplay.models.Traits"):
        pp.restore(blurred, Wrong(kernel), denoiser="tv")
