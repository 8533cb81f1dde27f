"""Published networks: recognised by their tensors, compared with the formulas of the papers, refused if foreign."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from skimage import data

import plugplay as pp

torch = pytest.importorskip("torch")
functional = torch.nn.functional

from plugplay.denoisers.learned.networks import DnCNN, DRUNet, FFDNet  # noqa: E402

TINY = {
    "dncnn": lambda channels: DnCNN((channels, 6, 6, 6, channels)),
    "ffdnet": lambda channels: FFDNet((4 * channels + 1, *[6] * 11, 4 * channels)),
    "drunet": lambda channels: DRUNet(channels=channels, widths=(3, 4, 5, 6), blocks=1),
}


def tiny(kind, channels):
    torch.manual_seed(0)
    return TINY[kind](channels).eval()


def saved(net, path):
    torch.save(net.state_dict(), path)
    return path


def options(kind):
    return {"noise_level": 0.1} if kind == "dncnn" else {}


@pytest.mark.parametrize("channels", [1, 3], ids=["gray", "colour"])
@pytest.mark.parametrize("kind", TINY)
def test_recognised_by_their_tensors(kind, channels, tmp_path, camera, astronaut):
    net = tiny(kind, channels)
    path = saved(net, tmp_path / "some weights.pth")
    denoise = pp.denoisers.get(kind, weights=path, **options(kind))
    image = camera[:24, :40] if channels == 1 else astronaut[:24, :40]
    x = torch.from_numpy(image.reshape(24, 40, channels).transpose(2, 0, 1).copy()).float()[None]
    with torch.no_grad():
        if kind == "dncnn":
            expected = net(x)
        elif kind == "ffdnet":
            expected = net(x, torch.full((1, 1, 1, 1), 0.1))
        else:
            expected = net(torch.cat([x, torch.full((1, 1, 24, 40), 0.1)], dim=1))
    expected = expected[0].numpy().transpose(1, 2, 0).reshape(image.shape)
    np.testing.assert_allclose(denoise(image, 0.1), expected, atol=1e-5)
    assert denoise.channels == channels
    assert denoise.name == kind
    # The other number of channels works as well, at odd sizes.
    other = astronaut[:13, :7] if channels == 1 else camera[:13, :7]
    assert denoise(other, 0.1).shape == other.shape
    np.testing.assert_array_equal(denoise(other, 0.0), other)


def test_dncnn_is_the_paper_s_formula(tmp_path, camera):
    weights = {name: tensor.double() for name, tensor in tiny("dncnn", 1).state_dict().items()}
    assert list(weights) == [f"model.{n}.{kind}" for n in (0, 2, 4, 6) for kind in ("weight", "bias")]
    x = torch.from_numpy(camera)[None, None]
    h = x
    for n in (0, 2, 4):
        h = functional.relu(functional.conv2d(h, weights[f"model.{n}.weight"], weights[f"model.{n}.bias"], padding=1))
    noise = functional.conv2d(h, weights["model.6.weight"], weights["model.6.bias"], padding=1)
    path = saved(tiny("dncnn", 1), tmp_path / "dncnn_25.pth")
    denoise = pp.denoisers.get("dncnn", weights=path)
    assert denoise.noise_level == 25 / 255
    np.testing.assert_allclose(denoise(camera, 25 / 255), (x - noise)[0, 0].numpy(), atol=1e-5)


def test_ffdnet_is_the_paper_s_formula(tmp_path, camera):
    """Four sub-images and a map of sigma go in, four sub-images come out."""
    net = tiny("ffdnet", 1)
    weights = {name: tensor.double() for name, tensor in net.state_dict().items()}
    parts = [camera[i::2, j::2] for i in range(2) for j in range(2)]
    h = torch.from_numpy(np.stack([*parts, np.full_like(parts[0], 0.2)]))[None]
    for n in range(12):
        h = functional.conv2d(h, weights[f"model.{2 * n}.weight"], weights[f"model.{2 * n}.bias"], padding=1)
        h = functional.relu(h) if n < 11 else h
    expected = np.empty_like(camera)
    for index, part in enumerate(h[0].numpy()):
        expected[index // 2 :: 2, index % 2 :: 2] = part
    denoise = pp.denoisers.get("ffdnet", weights=saved(net, tmp_path / "ffdnet_gray.pth"))
    np.testing.assert_allclose(denoise(camera, 0.2), expected, atol=1e-5)


def test_drunet_has_the_published_layout():
    tensors = {
        name: tuple(t.shape)
        for name, t in DRUNet(channels=3, widths=(64, 128, 256, 512), blocks=4).state_dict().items()
    }
    assert sum(np.prod(shape) for shape in tensors.values()) == 32_640_960
    assert tensors["m_head.weight"] == (64, 4, 3, 3)
    assert tensors["m_down1.0.res.0.weight"] == (64, 64, 3, 3)
    assert tensors["m_down1.4.weight"] == (128, 64, 2, 2)
    assert tensors["m_body.3.res.2.weight"] == (512, 512, 3, 3)
    assert tensors["m_up3.0.weight"] == (512, 256, 2, 2)
    assert tensors["m_up1.4.res.2.weight"] == (64, 64, 3, 3)
    assert tensors["m_tail.weight"] == (3, 64, 3, 3)
    assert not any(name.endswith("bias") for name in tensors)


@pytest.mark.parametrize("kind", TINY)
def test_tiles_change_nothing(kind, tmp_path):
    """The stated reach is enough: whole and tiled results agree to rounding."""
    net = tiny(kind, 1)
    for parameter in net.parameters():
        parameter.data.mul_(2.0)  # so that what is far away matters
    path = saved(net, tmp_path / "w.pth")
    image = np.random.default_rng(0).random((150, 203))
    whole, tiled = (pp.denoisers.get(kind, weights=path, tile=tile, **options(kind)) for tile in (None, 40))
    expected = whole(image, 0.1)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(tiled(image, 0.1), expected, atol=2e-6 * scale)


@pytest.mark.parametrize("kind", TINY)
def test_the_stated_reach_is_not_exceeded(kind):
    """Change one pixel: nothing changes beyond the reach, and something changes within it."""
    net = tiny(kind, 1).double()
    rng = np.random.default_rng(0)
    size = 8 * ((2 * net.reach + 40) // 8)
    x = torch.from_numpy(rng.random((1, 1, size, size)))
    y = x.clone()
    centre = size // 2
    y[0, 0, centre, centre] += 1e3

    def run(image):
        if kind == "ffdnet":
            return net(image, torch.full((1, 1, 1, 1), 0.1, dtype=torch.float64))
        return net(torch.cat([image, torch.full_like(image, 0.1)], dim=1)) if kind == "drunet" else net(image)

    with torch.no_grad():
        changed = (run(x) != run(y))[0, 0].numpy()
    far = np.abs(np.indices(changed.shape) - centre).max(axis=0)
    assert far[changed].max() <= net.reach
    assert far[changed].max() >= 2


def test_blind_networks_ignore_sigma(tmp_path, camera):
    net = tiny("dncnn", 1)
    blind = pp.denoisers.get("dncnn", weights=saved(net, tmp_path / "dncnn_gray_blind.pth"))
    np.testing.assert_array_equal(blind(camera, 0.1), blind(camera, 0.3))
    named = pp.denoisers.get("dncnn", weights=saved(net, tmp_path / "mine.pth"), noise_level="blind")
    np.testing.assert_array_equal(blind(camera, 0.1), named(camera, 0.1))
    with pytest.raises(ValueError, match="'mine.pth' was trained for .* give noise_level="):
        pp.denoisers.get("dncnn", weights=tmp_path / "mine.pth")


def test_containers_prefixes_half_precision_and_safetensors(tmp_path, camera):
    net = tiny("drunet", 1)
    state = net.state_dict()
    expected = pp.denoisers.get("drunet", weights=saved(net, tmp_path / "plain.pth"))(camera, 0.1)
    torch.save({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in state.items()}}, tmp_path / "wrapped.pth")
    torch.save({k: v.half() for k, v in state.items()}, tmp_path / "half.pth")
    torch.save(state, tmp_path / "legacy.pth", _use_new_zipfile_serialization=False)
    paths = {"wrapped.pth": 0, "half.pth": 1e-2, "legacy.pth": 0}
    safetensors = pytest.importorskip("safetensors.torch")
    deep = DnCNN((1, *[4] * 11, 1))  # with this many, names are not in the order of numbers
    safetensors.save_file(state, tmp_path / "w.safetensors")
    safetensors.save_file(deep.state_dict(), tmp_path / "dncnn_50.safetensors")
    assert pp.denoisers.get("dncnn", weights=tmp_path / "dncnn_50.safetensors").noise_level == 50 / 255
    for name, tolerance in {**paths, "w.safetensors": 0}.items():
        found = pp.denoisers.get("drunet", weights=tmp_path / name)(camera, 0.1)
        np.testing.assert_allclose(found, expected, atol=tolerance)


class Payload:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return (os.system, (f"echo owned > '{self.target}'",))


def test_a_payload_is_not_executed(tmp_path):
    target = tmp_path / "owned"
    for save in (
        lambda path: path.write_bytes(pickle.dumps({"state_dict": Payload(target)})),
        lambda path: torch.save({"model.0.weight": Payload(target)}, path),
        lambda path: torch.save(Payload(target), path, _use_new_zipfile_serialization=False),
    ):
        save(tmp_path / "evil.pth")
        with pytest.raises(ValueError, match=r"weights 'evil.pth' cannot be read: .*could run a program") as caught:
            pp.denoisers.get("drunet", weights=tmp_path / "evil.pth")
        assert "\n" not in str(caught.value)
    assert not target.exists()
    # The payload does work where it is let: the test above means something.
    pickle.loads(pickle.dumps(Payload(target)))
    assert target.exists()


def test_damaged_files(tmp_path):
    whole = saved(tiny("drunet", 1), tmp_path / "w.pth").read_bytes()
    pytest.importorskip("safetensors.torch").save_file(tiny("drunet", 1).state_dict(), tmp_path / "w.safetensors")
    safe = (tmp_path / "w.safetensors").read_bytes()
    for ending, content in (("pth", whole), ("safetensors", safe)):
        for kept in (0, 1, 10, len(content) // 2, len(content) - 30):
            path = tmp_path / f"cut.{ending}"
            path.write_bytes(content[:kept])
            with pytest.raises(ValueError, match=f"weights 'cut.{ending}' cannot be read") as caught:
                pp.denoisers.get("drunet", weights=path)
            assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="there is no weight file .*downloads nothing"):
        pp.denoisers.get("drunet", weights=tmp_path / "nosuch.pth")
    with pytest.raises(TypeError, match="weights must be the path of a file; got 3"):
        pp.denoisers.get("drunet", weights=3)
    with pytest.raises(TypeError, match="denoiser 'drunet': missing a required argument: 'weights'"):
        pp.denoisers.get("drunet")


def replaced(state, **changes):
    return {**state, **changes}


def test_other_contents_are_refused_with_what_was_found(tmp_path):
    drunet, dncnn, ffdnet = (tiny(kind, 1).state_dict() for kind in ("drunet", "dncnn", "ffdnet"))
    nan = dncnn["model.0.bias"].clone()
    nan[0] = torch.nan
    cases = {
        "another network": ("drunet", dncnn, "belong to a DnCNN: use plugplay.denoisers.get('dncnn', ...)"),
        "ffdnet": ("dncnn", ffdnet, "belong to a FFDNet"),
        "unknown": ("dncnn", {"encoder.weight": torch.zeros(3, 3)}, "'encoder' is not a numbered layer of a chain"),
        "found": ("dncnn", {"encoder.weight": torch.zeros(3, 3)}, "1 tensors such as 'encoder.weight' (3, 3)"),
        "accepted": ("dncnn", {"encoder.weight": torch.zeros(3, 3)}, "Accepted are a DnCNN (convolutions of 3 x 3"),
        "flexible": (
            "dncnn",
            replaced(dncnn, **{"model.0.weight": torch.zeros(6, 2, 3, 3)}),
            "2 channels in and 1 out is not known",
        ),
        "ircnn": ("dncnn", dncnn, "by its name it is an IRCNN"),
        "extra": ("drunet", replaced(drunet, extra=torch.zeros(1)), "'extra' is not known"),
        "less": ("drunet", {k: v for k, v in drunet.items() if "m_up2" not in k}, "'m_up2.0.weight' is missing"),
        "no body": ("drunet", {k: v for k, v in drunet.items() if "m_tail" not in k}, "'m_tail.weight' is missing"),
        "bias": (
            "dncnn",
            replaced(dncnn, **{"model.2.bias": torch.zeros(5)}),
            "bias (5,)) is not a convolution of 3 x 3",
        ),
        "nan": ("dncnn", replaced(dncnn, **{"model.0.bias": nan}), "'model.0.bias' has NaN"),
        "a list": ("dncnn", [torch.zeros(3)], "hold a list; a state dict is needed"),
        "empty": ("dncnn", {}, "hold an empty dict"),
        "nested": ("dncnn", {"0": dncnn, "1": dncnn}, "hold a dict with 2 entries ('0', '1')"),
    }
    for name, (kind, content, message) in cases.items():
        torch.save(content, tmp_path / f"{name}.pth")
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            pp.denoisers.get(kind, weights=tmp_path / f"{name}.pth", **options(kind))
        assert message in str(caught.value)
        assert f"'{name}.pth'" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_trained_network_denoises_also_at_other_sigmas(tmp_path):
    """Train a small DnCNN for a second at one noise level; rescaling carries it to others."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    level = 25 / 255
    images = [data.coins() / 255, data.moon() / 255]
    net = DnCNN((1, 8, 8, 8, 1))
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(200):
        image = images[rng.integers(2)]
        i, j = (rng.integers(0, side - 32) for side in image.shape)
        x = torch.from_numpy(image[i : i + 32, j : j + 32]).float()[None, None]
        loss = ((net(x + level * torch.randn_like(x)) - x) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    path = saved(net, tmp_path / "dncnn_25.pth")
    denoise = pp.denoisers.get("dncnn", weights=path)
    blind = pp.denoisers.get("dncnn", weights=path, noise_level="blind")
    x = data.camera()[::2, ::2] / 255
    for sigma, gain in ((10 / 255, 0.5), (25 / 255, 4.0), (50 / 255, 5.0)):
        y = x + sigma * np.random.default_rng(1).standard_normal(x.shape)
        assert pp.psnr(denoise(y, sigma), x) > pp.psnr(y, x) + gain
        if sigma != level:
            assert pp.psnr(denoise(y, sigma), x) > pp.psnr(blind(y, sigma), x)


WEIGHTS = os.environ.get("PLUGPLAY_WEIGHTS")


@pytest.mark.skipif(WEIGHTS is None, reason="PLUGPLAY_WEIGHTS does not point at a folder with published weights")
def test_published_weights_denoise():
    """Every known file in the folder gains at least 5 dB at sigma 25 on a photograph."""
    files = sorted(
        p for p in Path(WEIGHTS).iterdir() if p.stem.split("_")[0] in ("dncnn", "dncnn3", "ffdnet", "drunet")
    )
    assert files, f"no file of a known name in {WEIGHTS}"
    sigma = 25 / 255
    for path in files:
        denoise = pp.denoisers.get("dncnn" if "dncnn" in path.stem else path.stem.split("_")[0], weights=path)
        x = (data.astronaut() if denoise.channels == 3 else data.camera())[:256, :256] / 255
        y = x + sigma * np.random.default_rng(0).standard_normal(x.shape)
        assert pp.psnr(denoise(y, sigma), x) > pp.psnr(y, x) + 5, path.name
