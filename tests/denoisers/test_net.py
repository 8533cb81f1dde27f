"""The network that comes with plugplay: what holds whatever its weights, and what it has learned."""

import importlib
import subprocess
import sys

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.denoisers.net.opponent import OPPONENT, from_opponent, to_opponent
from plugplay.denoisers.net.runtime import GRAPH, WEIGHTS, noise_in

pytest.importorskip("onnxruntime")


def noisy_image(shape, sigma=0.1, seed=0):
    rows, columns = np.indices(shape[:2])
    clean = 0.5 + 0.3 * np.sin(rows / 5) * np.cos(columns / 7)
    return clean[..., None][(..., *[0] * (3 - len(shape)))] + sigma * np.random.default_rng(seed).normal(size=shape)


@pytest.fixture(scope="module")
def net():
    return pp.denoisers.get("net", workers=2)


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (64, 40), (33, 70, 1), (31, 18, 2), (9, 50, 3), (24, 24, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_shape(net, shape, dtype):
    image = noisy_image(shape).astype(dtype)
    given = image.copy()
    image.setflags(write=False)
    clean = net(image, 0.1)
    assert clean.shape == shape
    assert clean.dtype == dtype
    assert np.isfinite(clean).all()
    np.testing.assert_array_equal(image, given)
    assert not np.shares_memory(clean, image)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_other_numbers_of_channels_are_treated_one_by_one(net, channels):
    image = noisy_image((40, 48, channels))
    expected = np.stack([net(np.ascontiguousarray(image[..., c]), 0.1) for c in range(channels)], axis=-1)
    np.testing.assert_array_equal(net(image, 0.1), expected)


@pytest.mark.parametrize("shape", [(200, 232), (200, 232, 3)])
def test_tiles_change_nothing(shape):
    image = noisy_image(shape).astype(np.float32)
    whole = pp.denoisers.get("net", tile=1000)(image, 0.1)
    for tile in (64, 80):
        np.testing.assert_allclose(pp.denoisers.get("net", tile=tile)(image, 0.1), whole, atol=1e-6)


@pytest.mark.parametrize("shape", [(130, 90), (130, 90, 3)])
def test_the_number_of_threads_does_not_change_a_bit(shape):
    image = noisy_image(shape)
    one = pp.denoisers.get("net", workers=1)(image, 0.1)
    for workers in (2, 3):
        np.testing.assert_array_equal(pp.denoisers.get("net", workers=workers)(image, 0.1), one)


@pytest.mark.parametrize("sigma", [0.0, 1e-300, 0.2 / 255, 1 / 255])
def test_low_noise_is_the_identity(net, sigma):
    """So that, below 1/255, the result is never worse than the input."""
    image = noisy_image((20, 30, 3))
    np.testing.assert_array_equal(net(image, sigma), image)


def test_the_identity_is_approached_without_a_jump(net):
    image = noisy_image((40, 40))
    moves = [np.abs(net(image, level / 255) - image).max() for level in (2, 1.5, 1.1, 1.01, 1.001)]
    assert moves == sorted(moves, reverse=True)
    assert moves[-1] < 1e-2 / 255


@pytest.mark.parametrize("shape", [(48, 40), (48, 40, 3)])
def test_it_is_equivariant_to_scale(net, shape):
    image = noisy_image(shape)
    for gain in (0.25, 3.0):
        scaled = net(0.5 + gain * (image - 0.5), gain * 0.1)
        np.testing.assert_allclose(0.5 + (scaled - 0.5) / gain, net(image, 0.1), atol=1e-5)


LINES = np.zeros((64, 64, 3))
LINES[::3] = 1
HARD = {
    "lines": LINES,
    "white noise": np.random.default_rng(0).random((64, 64, 3)),
    "noise far stronger than sigma": noisy_image((64, 64, 3), 5.0),
    "gray lines": LINES[..., 0],
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("sigma", [0.5 / 255, 1.5 / 255, 2 / 255, 0.1, 2.0])
def test_it_is_bounded_whatever_the_image(net, name, sigma):
    """The RMS move is at most sigma, and no luminance or chrominance moves by more than 4 sigma."""
    image = HARD[name]
    move = np.moveaxis(np.atleast_3d(net(image, sigma) - image), -1, 0)
    assert np.sqrt(np.mean(move**2)) <= sigma * (1 + 1e-5)
    assert np.abs(to_opponent(move) if len(move) == 3 else move).max() <= 4 * sigma * (1 + 1e-5)


PHOTOGRAPHS = {"camera": data.camera()[100:356, 150:406] / 255, "chelsea": data.chelsea()[:256, 100:356] / 255}


@pytest.mark.parametrize("name", PHOTOGRAPHS)
@pytest.mark.parametrize("level", [1.05, 1.2, 1.5, 2, 3])
def test_photographs_with_low_noise_do_not_get_worse(net, name, level):
    clean, sigma = PHOTOGRAPHS[name], level / 255
    noisy = clean + sigma * np.random.default_rng(0).normal(size=clean.shape)
    assert pp.psnr(net(noisy, sigma), clean) > pp.psnr(noisy, clean)


@pytest.mark.parametrize("name", PHOTOGRAPHS)
@pytest.mark.parametrize("level", [5, 15, 25, 50])
def test_it_denoises_photographs_it_never_saw(net, name, level):
    """Total variation is the bar: a network that has learned nothing, or is fed wrongly, is far below it."""
    clean, sigma = PHOTOGRAPHS[name], level / 255
    noisy = clean + sigma * np.random.default_rng(0).normal(size=clean.shape)
    assert pp.psnr(net(noisy, sigma), clean) > pp.psnr(pp.denoisers.get("tv")(noisy, sigma), clean)


def test_progress_is_told_tile_by_tile_and_may_stop_it():
    image, told = noisy_image((40, 72, 2)), []
    denoiser = pp.denoisers.get("net", tile=24)
    np.testing.assert_array_equal(denoiser.session(told.append)(image, 0.1), denoiser(image, 0.1))
    np.testing.assert_allclose(told, np.arange(1, 13) / 12)

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        denoiser.session(stop)(image, 0.1)


def test_a_restoration_says_how_many_threads(net):
    assert pp.denoisers.get("net").prepared(None, 3).workers == 3
    assert net.prepared(None, 3).workers == 2


def test_without_onnx_runtime_the_message_says_what_to_install(environment):
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "import numpy as np, plugplay as pp\n"
        "pp.denoisers.get('net')(np.ones((8, 8)), 0.0)\n"
        "try: pp.denoisers.get('net')(np.ones((8, 8)), 0.1)\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "pip install 'plugplay[net]'" in done.stdout


def test_the_basis_is_orthonormal():
    np.testing.assert_allclose(OPPONENT @ OPPONENT.T, np.eye(3), atol=1e-15)
    planes = np.random.default_rng(0).random((3, 4, 5))
    np.testing.assert_allclose(to_opponent(planes), np.tensordot(OPPONENT, planes, 1), atol=1e-15)
    np.testing.assert_allclose(from_opponent(to_opponent(planes)), planes, atol=1e-15)


def test_what_ships_is_small():
    assert GRAPH.stat().st_size + WEIGHTS.stat().st_size < 5e6


@pytest.mark.parametrize("shape", [(40, 48), (40, 48, 3)])
@pytest.mark.parametrize("sigma", [0.0, 1.4 / 255, 0.1])
def test_the_torch_module_is_the_same_denoiser(net, shape, sigma):
    torch = pytest.importorskip("torch")
    pytest.importorskip("safetensors.torch")
    denoiser = importlib.import_module("plugplay.denoisers.net.module").TorchNet()
    image = noisy_image(shape).astype(np.float32)
    with torch.no_grad():
        found = denoiser(torch.from_numpy(np.moveaxis(np.atleast_3d(image), -1, 0))[None], sigma)[0].numpy()
    np.testing.assert_allclose(np.moveaxis(found, 0, -1).reshape(shape), net(image, sigma), atol=1e-5)


def test_the_torch_module_is_the_same_network():
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    module = importlib.import_module("plugplay.denoisers.net.module")
    network = module.Network()
    network.load_state_dict(safetensors.load_file(WEIGHTS))
    for colour in (False, True):
        image = np.random.default_rng(0).normal(size=(3, 24, 40)).astype(np.float32)
        image[1:] *= colour
        with torch.no_grad():
            expected = network(torch.from_numpy(image)[None], torch.tensor([1.0, colour]).reshape(1, 2, 1, 1))[0]
        np.testing.assert_allclose(noise_in(image, colour=colour, workers=1), expected.numpy(), atol=1e-4)
