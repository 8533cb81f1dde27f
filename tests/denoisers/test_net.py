"""The network that corrects BM3D: what holds whatever its weights, and what it has learned."""

import importlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from skimage import data

import plugplay as pp
from plugplay.denoisers.net.facts import BOUND, GRAPH, WEIGHTS
from plugplay.denoisers.net.opponent import OPPONENT, from_opponent, to_opponent
from plugplay.denoisers.net.runtime import correction
from plugplay.traits import Traits

pytest.importorskip("onnxruntime")


def noisy_image(shape, sigma=0.1, seed=0):
    rows, columns = np.indices(shape[:2])
    clean = 0.5 + 0.3 * np.sin(rows / 5) * np.cos(columns / 7)
    return clean[..., None][(..., *[0] * (3 - len(shape)))] + sigma * np.random.default_rng(seed).normal(size=shape)


@pytest.fixture(scope="module")
def net():
    return pp.denoisers.get("net", workers=2)


@pytest.fixture(scope="module")
def bm3d():
    return pp.denoisers.get("bm3d", stages=3, workers=2)


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


@pytest.mark.parametrize("shape", [(151, 132), (152, 133, 3)])
def test_tiles_change_nothing_but_rounding(shape):
    image = noisy_image(shape).astype(np.float32)
    whole = pp.denoisers.get("net", tile=1000)(image, 0.1)
    for tile in (32, 80):
        np.testing.assert_allclose(pp.denoisers.get("net", tile=tile)(image, 0.1), whole, atol=1e-6)


@pytest.mark.parametrize("shape", [(90, 70), (90, 70, 3)])
def test_the_number_of_threads_does_not_change_a_bit(shape):
    image = noisy_image(shape)
    one = pp.denoisers.get("net", workers=1)(image, 0.1)
    for workers in (2, 3):
        np.testing.assert_array_equal(pp.denoisers.get("net", workers=workers)(image, 0.1), one)


@pytest.mark.parametrize("sigma", [0.0, 1e-300, 0.2 / 255, 1 / 255])
def test_at_low_noise_it_is_bm3d(net, bm3d, sigma):
    image = noisy_image((20, 30, 3))
    np.testing.assert_array_equal(net(image, sigma), bm3d(image, sigma))


def test_no_noise_is_the_identity(net):
    image = noisy_image((20, 30, 3))
    np.testing.assert_array_equal(net(image, 0.0), image)


def test_the_correction_begins_without_a_jump(net, bm3d):
    image = noisy_image((40, 40))
    moves = [np.abs(net(image, level / 255) - bm3d(image, level / 255)).max() for level in (2, 1.5, 1.1, 1.01, 1.001)]
    assert moves == sorted(moves, reverse=True)
    assert 0 < moves[-1] < 1e-2 / 255


LINES = np.zeros((48, 48, 3))
LINES[::3] = 1
HARD = {
    "lines": LINES,
    "white noise": np.random.default_rng(0).random((48, 48, 3)),
    "noise far stronger than sigma": noisy_image((48, 48, 3), 5.0),
    "gray lines": LINES[..., 0],
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("sigma", [1.5 / 255, 0.1, 2.0])
def test_bm3d_is_moved_by_at_most_two_sigma(net, bm3d, name, sigma):
    image = HARD[name]
    move = np.moveaxis(np.atleast_3d(net(image, sigma) - bm3d(image, sigma)), -1, 0)
    assert np.abs(to_opponent(move) if len(move) == 3 else move).max() <= BOUND * sigma * (1 + 1e-5)


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("sigma", [0.5 / 255, 0.1, 2.0])
@pytest.mark.parametrize("bound", [0.0, 0.3, 1.5])
def test_a_bound_holds_by_construction(name, sigma, bound):
    image = HARD[name]
    move = pp.denoisers.get("net", bound=bound)(image, sigma) - image
    assert np.sqrt(np.mean(move**2)) <= bound * sigma * (1 + 1e-6)


def test_a_bound_that_is_kept_anyway_changes_nothing(net):
    image = noisy_image((48, 40))
    np.testing.assert_array_equal(pp.denoisers.get("net", bound=5.0)(image, 0.1), net(image, 0.1))
    with pytest.raises(ValueError, match="bound"):
        pp.denoisers.get("net", bound=-1.0)


PHOTOGRAPHS = {"camera": data.camera()[100:228, 180:308] / 255, "chelsea": data.chelsea()[60:188, 130:258] / 255}


@pytest.mark.parametrize("name", PHOTOGRAPHS)
@pytest.mark.parametrize("level", [0.1, 0.3, 0.9, 1.2, 2])
def test_photographs_with_low_noise_do_not_get_worse(net, name, level):
    clean, sigma = PHOTOGRAPHS[name], level / 255
    noisy = clean + sigma * np.random.default_rng(0).normal(size=clean.shape)
    assert pp.psnr(net(noisy, sigma), clean) > pp.psnr(noisy, clean) - 0.02


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("level", [15, 25, 50])
def test_it_is_above_three_stages_on_photographs_it_never_saw(net, bm3d, colour, level):
    gains = []
    for image in (data.astronaut()[40:168, 160:288], data.chelsea()[60:188, 130:258]):
        clean, sigma = (image if colour else image.mean(axis=-1)) / 255, level / 255
        noisy = clean + sigma * np.random.default_rng(0).normal(size=clean.shape)
        gains.append(pp.psnr(net(noisy, sigma), clean) - pp.psnr(bm3d(noisy, sigma), clean))
    assert np.mean(gains) > 0


def test_progress_is_told_to_the_end_and_may_stop_it():
    image, told = noisy_image((40, 72, 2)), []
    denoiser = pp.denoisers.get("net", tile=24)
    np.testing.assert_array_equal(denoiser.session(told.append)(image, 0.1), denoiser(image, 0.1))
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)
    told.clear()
    denoiser.session(told.append)(image, 0.5 / 255)
    assert told[-1] == pytest.approx(1)

    def stop(share):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        denoiser.session(stop)(image, 0.1)


def test_a_restoration_chooses_the_bm3d_that_is_corrected(net):
    """All but the fourth stage, without which the network was trained."""
    white, coloured = (Traits(leaves=leaves) for leaves in ("white", "coloured"))
    for traits in (white, coloured):
        bm3d = pp.denoisers.get("bm3d").prepared(traits, 3)
        assert bm3d.local_below is not None
        assert pp.denoisers.get("net").prepared(traits, 3).pilot == replace(bm3d, local_below=None)
    local = pp.denoisers.BM3D(local_below=0.1)
    assert pp.denoisers.get("net", pilot=local).prepared(coloured, 3).pilot == local.prepared(coloured, 3)
    assert net.prepared(coloured, 3).workers == 2
    fast = pp.denoisers.BM3D(profile="fast", stages=2)
    assert pp.denoisers.get("net", pilot=fast).prepared(white, 1).pilot.stages == 2


def test_noise_of_a_known_colour_is_left_to_bm3d():
    spectrum = 1 + np.random.default_rng(0).random((16, 16))
    image = noisy_image((32, 32))
    traits = Traits(leaves="white", noise_spectrum=spectrum)
    expected = pp.denoisers.get("bm3d").prepared(traits, 1)(image, 0.1)
    np.testing.assert_array_equal(pp.denoisers.get("net").prepared(traits, 1)(image, 0.1), expected)


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


@pytest.mark.parametrize("shape", [(41, 47), (40, 48, 3)])
@pytest.mark.parametrize("sigma", [0.9 / 255, 1.4 / 255, 0.1])
def test_the_torch_module_is_the_same_correction(net, bm3d, shape, sigma):
    torch = pytest.importorskip("torch")
    pytest.importorskip("safetensors.torch")
    corrected = importlib.import_module("plugplay.denoisers.net.module").TorchNet()
    image = noisy_image(shape).astype(np.float32)
    noisy, pilot = (
        torch.from_numpy(np.ascontiguousarray(np.moveaxis(np.atleast_3d(x), -1, 0)))[None]
        for x in (image, bm3d(image, sigma))
    )
    with torch.no_grad():
        found = corrected(noisy, pilot, sigma)[0].numpy()
    np.testing.assert_allclose(np.moveaxis(found, 0, -1).reshape(shape), net(image, sigma), atol=1e-5)
    with pytest.raises(ValueError, match="shape"):
        corrected(noisy, pilot[..., :-1], sigma)


@pytest.mark.parametrize("colour", [False, True])
def test_the_graph_is_the_network_of_training(colour):
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    module = importlib.import_module("plugplay.denoisers.net.module")
    network = module.Network()
    network.load_state_dict(safetensors.load_file(WEIGHTS))
    rest, pilot = np.random.default_rng(0).normal(size=(2, 3, 24, 40)).astype(np.float32)
    facts = (float(colour), 1.0, 0.3)
    with torch.no_grad():
        detail = module.detail_of(torch.from_numpy(pilot)[None])
        expected = network(torch.from_numpy(rest)[None], detail, torch.tensor(facts).reshape(1, 3, 1, 1))[0]
    np.testing.assert_allclose(correction(rest, pilot, facts, workers=1), expected.numpy(), atol=1e-4)
