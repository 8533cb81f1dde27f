"""Models refuse what they cannot mean, and say what they can."""

import numpy as np
import pytest

import plugplay as pp

IMAGE = np.full((8, 8), 0.5)
MASK = np.ones((8, 8), bool)
GAUSS = pp.kernels.gaussian(3, sigma=1.0)
m = pp.models


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: m.Deblurring(np.ones(3)), "kernel must be two-dimensional; got the shape (3,)"),
        (lambda: m.Deblurring(np.zeros((3, 3))), "kernel is zero everywhere"),
        (lambda: m.Deblurring(np.full((3, 3), np.nan)), "kernel has 9 NaN or infinite"),
        (lambda: m.Deblurring("gaussian"), "kernel must be an array of real numbers; got 'gaussian'"),
        (lambda: m.Deblurring(np.zeros((0, 3))), "kernel is empty"),
        (
            lambda: m.Deblurring(GAUSS, boundary="zero"),
            "boundary must be one of 'circular', 'reflect', 'unknown'; got 'zero'",
        ),
        (lambda: m.Deblurring(GAUSS, boundary=None), "boundary must be one of"),
        (lambda: m.Deblurring(GAUSS, mask=np.ones((8, 8))), "mask must be boolean, True where a pixel was observed"),
        (lambda: m.Deblurring(GAUSS, mask=~MASK), "mask marks no pixel as observed"),
        (lambda: m.Deblurring(GAUSS, mask=np.ones((4, 4), bool)).data_term(IMAGE), "the mask has the shape (4, 4)"),
        (
            lambda: m.Deblurring(np.ones((9, 3))).data_term(IMAGE),
            "the kernel, of shape (9, 3), is larger than the image",
        ),
        (lambda: m.Deblurring(np.ones((9, 3))).forward(IMAGE), "the kernel, of shape (9, 3), is larger than the image"),
        (lambda: m.Inpainting(np.ones((8, 8), int)), "mask must be boolean"),
        (
            lambda: m.Inpainting(MASK).data_term(np.zeros((4, 8))),
            "the mask has the shape (8, 8), but the image has (4, 8)",
        ),
        (lambda: m.Inpainting(MASK).data_term(np.full((8, 8), np.nan)), "y (where the mask is True) has 64 NaN"),
        (lambda: m.SuperResolution(0), "factor must be an integer >= 1; got 0"),
        (lambda: m.SuperResolution(2.0), "factor must be an integer; got 2.0"),
        (lambda: m.SuperResolution("2"), "factor must be an integer; got '2'"),
        (lambda: m.SuperResolution(2, "lanczos"), "kernel must be a 2-D array or 'bicubic'; got 'lanczos'"),
        (lambda: m.SuperResolution(2, GAUSS, offset=2), "offset must be below the factor, 2; got 2"),
        (lambda: m.SuperResolution(2, GAUSS, offset=-1), "offset must be an integer >= 0"),
        (lambda: m.SuperResolution(3, GAUSS).forward(IMAGE), "not divisible by the factor 3"),
        (
            lambda: m.Denoising().data_term(np.zeros((8, 8), np.uint8)),
            "has dtype uint8, but floats on the scale [0, 1]",
        ),
        (lambda: m.Denoising().data_term(np.zeros((2, 2, 2, 2))), "must have the shape (H, W) or (H, W, C)"),
        (lambda: m.Denoising().simulate(IMAGE, noise=-1.0, rng=0), "noise must be >= 0; got -1.0"),
        (lambda: m.Denoising().simulate(IMAGE, noise="5", rng=0), "noise must be a number; got '5'"),
        (lambda: m.Denoising().simulate(IMAGE, noise=0.1), "noise needs rng="),
        (lambda: m.Denoising().simulate(IMAGE, noise=0.1, rng="zero"), "rng must be an integer seed"),
        (lambda: m.Denoising().data_term(IMAGE).prox(IMAGE, 0.0), "rho must be > 0; got 0.0"),
        (lambda: m.Denoising().data_term(IMAGE).prox(IMAGE[1:], 1.0), "v has the shape (7, 8)"),
        (lambda: m.Denoising().data_term(IMAGE).value(IMAGE[1:]), "x has the shape (7, 8)"),
        (lambda: m.SinglePhoton(0), "oversampling must be an integer >= 1"),
        (lambda: m.SinglePhoton(2, gain=0.0), "gain must be > 0"),
        (lambda: m.SinglePhoton(2, threshold=0), "threshold must be an integer >= 1"),
        (lambda: m.SinglePhoton(2, dark=-0.1), "dark must be >= 0"),
        (lambda: m.SinglePhoton(2, efficiency=1.5), "efficiency must be > 0 and <= 1; got 1.5"),
        (lambda: m.SinglePhoton(2, frames=0), "frames must be an integer >= 1"),
        (lambda: m.SinglePhoton(2).data_term(np.full((8, 8), 2)), "bits must be 0 or 1"),
        (lambda: m.SinglePhoton(2).data_term(np.full((8, 8), 0.5)), "bits must be 0 or 1"),
        (lambda: m.SinglePhoton(2).data_term(np.full((8, 8), np.nan)), "bits must be 0 or 1"),
        (
            lambda: m.SinglePhoton(3).data_term(np.ones((8, 9), int)),
            "8 x 9 jots is not divisible by the oversampling, 3",
        ),
        (lambda: m.SinglePhoton(2, frames=3).data_term(np.ones((2, 8, 8), int)), "2 frames, but the model has 3"),
        (lambda: m.SinglePhoton(2).data_term(np.ones(8, int)), "bits must have the shape (K H, K W)"),
        (lambda: m.SinglePhoton(2).data_term_from_counts(np.full((2, 2), 5), 4), "between 0 and its number of trials"),
        (lambda: m.SinglePhoton(2).data_term_from_counts(np.full((2, 2), -1), 4), "between 0 and its number of trials"),
        (lambda: m.SinglePhoton(2).data_term_from_counts(np.zeros((2, 2)), 0), "nothing was observed"),
        (
            lambda: m.SinglePhoton(2).data_term_from_counts(np.zeros((2, 2)), np.ones((3, 3))),
            "trials has the shape (3, 3)",
        ),
        (lambda: m.SinglePhoton(2).forward(-IMAGE), "x must not be negative: its minimum is -0.5"),
        (lambda: m.SinglePhoton(2).simulate(IMAGE), "photon noise needs rng="),
        (lambda: pp.kernels.gaussian(0, sigma=1.0), "size must be an integer >= 1"),
        (lambda: pp.kernels.gaussian((3, 3, 3, 3), sigma=1.0), "size must be one integer or two"),
        (lambda: pp.kernels.gaussian(3, sigma=0.0), "sigma must be > 0"),
        (lambda: pp.kernels.motion(0.5), "length must be >= 1"),
        (lambda: pp.kernels.disk("5"), "radius must be a number; got '5'"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert message in str(caught.value)


def test_records_cannot_be_changed():
    kernel = np.ones((3, 3))
    model = m.Deblurring(kernel)
    kernel[0, 0] = 5
    assert model.kernel[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        model.kernel[0, 0] = 2
    with pytest.raises(AttributeError):
        model.boundary = "unknown"


def test_fingerprints_tell_contents_apart():
    one, same, other = m.Deblurring(GAUSS), m.Deblurring(GAUSS.copy()), m.Deblurring(GAUSS, boundary="unknown")
    assert one != same
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
    assert m.SuperResolution(2).fingerprint() != m.SuperResolution(3).fingerprint()
    assert one.data_term(IMAGE).fingerprint() != one.data_term(IMAGE + 0.1).fingerprint()
    assert m.SinglePhoton(2).fingerprint() != m.SinglePhoton(2, dark=0.1).fingerprint()
