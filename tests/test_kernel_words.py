"""Kernels from words and files."""

import numpy as np
import pytest

from plugplay import io, kernels


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("gaussian:1.6", kernels.gaussian(15, sigma=1.6)),
        ("gaussian:1,9", kernels.gaussian(9, sigma=1.0)),
        ("disk:5", kernels.disk(5)),
        ("motion:15,30", kernels.motion(15, 30)),
        ("motion:7", kernels.motion(7)),
        ("box:9", kernels.box(9)),
        ("box:3,5", kernels.box((3, 5))),
        ("bicubic:3", kernels.bicubic(3)),
    ],
)
def test_words(text, kernel):
    np.testing.assert_array_equal(kernels.parse(text), kernel)


def test_bicubic_takes_the_factor_of_the_image():
    np.testing.assert_array_equal(kernels.parse("bicubic", factor=4), kernels.bicubic(4))


@pytest.mark.parametrize("ending", ["npy", "fits", "tif", "png"])
def test_files_are_trimmed_normalised_and_centred(tmp_path, ending):
    true = kernels.motion(15, 30)
    stored = np.pad(true / true.max(), ((9, 2), (0, 5)))
    stored = (stored * 65535).round().astype(np.uint16) if ending == "png" else stored.astype(np.float32)
    io.write(tmp_path / f"k.{ending}", io.ImageFile.of(stored))
    kernel = kernels.parse(str(tmp_path / f"k.{ending}"))
    assert kernel.shape == true.shape
    np.testing.assert_allclose(kernel, true, atol=1e-5)
    assert kernel.sum() == pytest.approx(1)


@pytest.mark.parametrize("shape", [(4, 4), (1, 2), (3, 4), (5, 5), (1, 1)])
def test_even_and_odd_sizes_blur_alike(tmp_path, shape):
    from scipy.signal import convolve2d

    np.save(tmp_path / "k.npy", np.pad(np.ones(shape), 3))
    kernel = kernels.from_file(tmp_path / "k.npy")
    assert all(n % 2 == 1 for n in kernel.shape)
    x = np.random.default_rng(0).random((20, 20))

    def blurred(weights):  # the package's convention: the centre is at n // 2
        full = convolve2d(x, weights)
        rows, columns = (n // 2 for n in weights.shape)
        return full[rows : rows + 20, columns : columns + 20]

    np.testing.assert_allclose(blurred(kernel), blurred(kernels.box(shape)))


def test_a_gray_kernel_saved_as_rgb(tmp_path):
    gray = np.repeat(np.eye(3, dtype=np.uint8)[..., None], 3, axis=-1) * 255
    io.write(tmp_path / "k.png", io.ImageFile.of(gray, colour=True))
    np.testing.assert_allclose(kernels.from_file(tmp_path / "k.png"), np.eye(3) / 3)
    gray[0, 0, 0] = 7
    io.write(tmp_path / "k.png", io.ImageFile.of(gray, colour=True))
    with pytest.raises(ValueError, match="its colour channels differ"):
        kernels.from_file(tmp_path / "k.png")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros((3, 3)), "it is zero everywhere"),
        (np.array([[1.0, -0.5]]), "weights must not be negative; the lowest is -0.5"),
        (np.array([[1.0, np.nan]]), "NaN"),
        (np.ones((2, 4, 8, 8)), "one image is needed"),
    ],
)
def test_bad_files(tmp_path, weights, message):
    np.save(tmp_path / "k.npy", weights)
    with pytest.raises(ValueError, match=message) as caught:
        kernels.from_file(tmp_path / "k.npy")
    assert "k.npy" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["gaussian", "gaussian:", "gaussian:a", "gaussian:1,2,3", "motion:", "bicubic", "box:2.5", "disk:-1", "k.png"],
)
def test_bad_words(text):
    with pytest.raises(ValueError, match=r"not understood: write|whole number|must be|neither a file nor one of"):
        kernels.parse(text)
