"""Files in the layouts that are published, compared with networks written for each of them."""

import itertools

import numpy as np
import pytest

import plugplay as pp

torch = pytest.importorskip("torch")
nn = torch.nn


def convolutions(widths, *, first_bias, bias, norm_eps=None, affine=True):
    """Conv and ReLU; conv, batch normalisation if any, and ReLU; a last conv."""
    layers = []
    for number, (before, after) in enumerate(itertools.pairwise(widths)):
        inner = 0 < number < len(widths) - 2
        layers.append(nn.Conv2d(before, after, 3, padding=1, bias=bias or (first_bias and number == 0)))
        if inner and norm_eps is not None:
            layers.append(nn.BatchNorm2d(after, eps=norm_eps, affine=affine))
        if number < len(widths) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class Dncnn(nn.Module):
    """Keys ``dncnn.N``; gives the noise."""

    def __init__(self, widths, **options):
        super().__init__()
        self.dncnn = convolutions(widths, **options)

    def clean(self, x, sigma):
        return x - self.dncnn(x)


class Model(nn.Module):
    """Keys ``model.N``; gives the noise."""

    def __init__(self, widths, **options):
        super().__init__()
        self.model = convolutions(widths, **options)

    def clean(self, x, sigma):
        return x - self.model(x)


class DeepInverse(nn.Module):
    """Keys ``in_conv``, ``conv_list.N``, ``out_conv``; gives minus the noise."""

    def __init__(self, widths):
        super().__init__()
        self.in_conv = nn.Conv2d(widths[0], widths[1], 3, padding=1)
        inner = itertools.pairwise(widths[1:-1])
        self.conv_list = nn.ModuleList(nn.Conv2d(before, after, 3, padding=1) for before, after in inner)
        self.out_conv = nn.Conv2d(widths[-2], widths[-1], 3, padding=1)

    def clean(self, x, sigma):
        h = torch.relu(self.in_conv(x))
        for convolution in self.conv_list:
            h = torch.relu(convolution(h))
        return x + self.out_conv(h)


class Inner(nn.Module):
    def __init__(self, widths, norm_eps):
        super().__init__()
        self.itermediate_dncnn = convolutions(widths, first_bias=False, bias=False, norm_eps=norm_eps)


class IpolFfdnet(nn.Module):
    """Keys ``intermediate_dncnn.itermediate_dncnn.N``; maps of sigma, then the four sub-images of every channel."""

    def __init__(self, channels, inner, norm_eps=1e-5):
        super().__init__()
        self.intermediate_dncnn = Inner((5 * channels, *inner, 4 * channels), norm_eps)

    def clean(self, x, sigma):
        channels, (height, width) = x.shape[1], x.shape[2:]
        planes = [torch.full((height // 2, width // 2), sigma, dtype=x.dtype)] * channels
        for c in range(channels):
            planes += [x[0, c, 0::2, 0::2], x[0, c, 0::2, 1::2], x[0, c, 1::2, 0::2], x[0, c, 1::2, 1::2]]
        found = self.intermediate_dncnn.itermediate_dncnn(torch.stack(planes)[None])[0]
        noise = torch.empty_like(x)
        for c in range(channels):
            for k in range(4):
                noise[0, c, k // 2 :: 2, k % 2 :: 2] = found[4 * c + k]
        return x - noise


class KairFfdnet(nn.Module):
    """Keys ``model.N`` with biases; the four sub-images of every channel, then one map of sigma; gives the image."""

    def __init__(self, channels, inner):
        super().__init__()
        self.model = convolutions((4 * channels + 1, *inner, 4 * channels), first_bias=True, bias=True)

    def clean(self, x, sigma):
        channels, (height, width) = x.shape[1], x.shape[2:]
        planes = [x[0, c, k // 2 :: 2, k % 2 :: 2] for c in range(channels) for k in range(4)]
        planes.append(torch.full((height // 2, width // 2), sigma, dtype=x.dtype))
        found = self.model(torch.stack(planes)[None])[0]
        clean = torch.empty_like(x)
        for c in range(channels):
            for k in range(4):
                clean[0, c, k // 2 :: 2, k % 2 :: 2] = found[4 * c + k]
        return clean


def widths(channels, depth):
    return (channels, *[6] * (depth - 1), channels)


NO_BIAS = {"first_bias": False, "bias": False}
AUTHORS = {"first_bias": True, "bias": False}
LAYOUTS = {
    "17 layers, normalised": ("dncnn", lambda c: Dncnn(widths(c, 17), **NO_BIAS, norm_eps=1e-5)),
    "20 layers, normalised": ("dncnn", lambda c: Dncnn(widths(c, 20), **NO_BIAS, norm_eps=1e-5)),
    "without gamma and beta": ("dncnn", lambda c: Dncnn(widths(c, 6), **NO_BIAS, norm_eps=1e-5, affine=False)),
    "the authors' training code": ("dncnn", lambda c: Dncnn(widths(c, 17), **AUTHORS, norm_eps=1e-4)),
    "4 layers": ("dncnn", lambda c: Dncnn(widths(c, 4), **NO_BIAS)),
    "KAIR": ("dncnn", lambda c: Model(widths(c, 17), first_bias=True, bias=True)),
    "KAIR, normalised": ("dncnn", lambda c: Model(widths(c, 6), first_bias=True, bias=True, norm_eps=1e-4)),
    "DeepInverse": ("dncnn", lambda c: DeepInverse(widths(c, 20))),
    "IPOL": ("ffdnet", lambda c: IpolFfdnet(c, [6] * (14 if c == 1 else 11))),
    "KAIR's FFDNet": ("ffdnet", lambda c: KairFfdnet(c, [6] * 11)),
}


def randomised(net):
    """Return the network in evaluation mode with statistics that matter; some variances are as small as epsilon."""
    generator = torch.Generator().manual_seed(0)

    def uniform(like, low, high):
        return low + (high - low) * torch.rand(like.shape, generator=generator)

    with torch.no_grad():
        for layer in net.modules():
            if isinstance(layer, nn.Conv2d):
                layer.weight.copy_(uniform(layer.weight, -1, 1) * (3 / layer.weight[0].numel()) ** 0.5)
            if isinstance(layer, nn.BatchNorm2d):
                layer.running_mean.copy_(uniform(layer.running_mean, -0.5, 0.5))
                if layer.affine:
                    layer.running_var.copy_(10 ** uniform(layer.running_var, -4, 0))
                    layer.weight.copy_(layer.running_var.sqrt() * uniform(layer.weight, 0.5, 1.5))
                    layer.bias.copy_(uniform(layer.bias, -0.5, 0.5))
                else:
                    layer.running_var.copy_(uniform(layer.running_var, 0.5, 2))
    return net.eval().double()


def expected(net, image, sigma):
    """Call the network as its authors do, in double precision."""
    planes = image.reshape(*image.shape[:2], -1).transpose(2, 0, 1)
    with torch.no_grad():
        clean = net.clean(torch.from_numpy(planes.copy())[None], sigma)[0].numpy()
    return clean.transpose(1, 2, 0).reshape(image.shape)


def state(net):
    return {name: t.float() if t.is_floating_point() else t for name, t in net.state_dict().items()}


@pytest.mark.parametrize("prefix", ["", "module."])
@pytest.mark.parametrize("channels", [1, 3], ids=["gray", "colour"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_published_layouts(layout, channels, prefix, tmp_path, camera, astronaut):
    kind, make = LAYOUTS[layout]
    net = randomised(make(channels))
    torch.save({prefix + name: tensor for name, tensor in state(net).items()}, tmp_path / "net.pth")
    options = {"noise_level": 0.1} if kind == "dncnn" else {}
    denoise = pp.denoisers.get(kind, weights=tmp_path / "net.pth", **options)
    image = camera[:20, :26] if channels == 1 else astronaut[:20, :26]
    wanted = expected(net, image, 0.1)
    assert np.abs(wanted - image).max() > 1e-3  # a network that does nothing would test nothing
    np.testing.assert_allclose(denoise(image, 0.1), wanted, atol=2e-5 * np.abs(wanted).max())
    assert denoise.channels == channels
    assert denoise.min_sigma == pp.denoisers.min_sigma_of(denoise) == 1 / 255


def test_names_do_not_matter(tmp_path, camera):
    """A chain under another name, or under none, is recognised as well; so is a file without the counters."""
    net = randomised(LAYOUTS["17 layers, normalised"][1](1))
    wanted = expected(net, camera[:16, :16], 0.1)
    for prefix in ("", "net.body."):
        tensors = {name.replace("dncnn.", prefix): t for name, t in state(net).items() if "num_batches" not in name}
        torch.save(tensors, tmp_path / "net.pth")
        denoise = pp.denoisers.get("dncnn", weights=tmp_path / "net.pth", noise_level=0.1)
        np.testing.assert_allclose(denoise(camera[:16, :16], 0.1), wanted, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", ["dncnn", "ffdnet"])
def test_another_epsilon_can_be_given(kind, tmp_path, camera):
    eps = 1e-3
    net = Dncnn(widths(1, 5), **NO_BIAS, norm_eps=eps) if kind == "dncnn" else IpolFfdnet(1, [6] * 4, norm_eps=eps)
    net = randomised(net)
    torch.save(state(net), tmp_path / "net.pth")
    options = {"noise_level": 0.1} if kind == "dncnn" else {}
    wanted = expected(net, camera[:16, :16], 0.1)
    given = pp.denoisers.get(kind, weights=tmp_path / "net.pth", norm_eps=eps, **options)(camera[:16, :16], 0.1)
    usual = pp.denoisers.get(kind, weights=tmp_path / "net.pth", **options)(camera[:16, :16], 0.1)
    np.testing.assert_allclose(given, wanted, atol=2e-5 * np.abs(wanted).max())
    assert np.abs(usual - wanted).max() > 1e-3
    with pytest.raises(ValueError, match="norm_eps must be > 0"):
        pp.denoisers.get(kind, weights=tmp_path / "net.pth", norm_eps=0.0, **options)


@pytest.mark.parametrize(
    ("folder", "file", "level"),
    [
        ("DnCNN-S-15", "net.pth", 15),
        ("DnCNN-B", "net.pth", None),
        ("any", "DnCNN_noise40.pth", 40),
        ("any", "dncnn_sigma2_gray.pth", 2),
        ("any", "dncnn_sigma2_lipschitz_color.pth", 2),
        ("DnCNN_sigma25", "model_050.pth", 25),
        ("dncnn_15", "dncnn_50.pth", 50),
    ],
)
def test_the_noise_level_is_in_the_name(folder, file, level, tmp_path):
    (tmp_path / folder).mkdir()
    torch.save(state(Dncnn(widths(1, 4), **NO_BIAS)), tmp_path / folder / file)
    denoise = pp.denoisers.get("dncnn", weights=tmp_path / folder / file)
    assert denoise.noise_level == (None if level is None else level / 255)


def changed(**changes):
    net = state(Dncnn(widths(1, 5), **NO_BIAS, norm_eps=1e-5))
    for name, tensor in changes.items():
        key = "dncnn." + name.replace("__", ".")
        net.pop(key, None)
        if tensor is not None:
            net[key] = tensor
    return net


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (
            changed(**{"3__running_mean": None, "3__running_var": None, "3__num_batches_tracked": None}),
            r"'dncnn.3' \(weight \(6,\), bias \(6,\)\) is not a convolution of 3 x 3 or batch normalisation",
        ),
        (changed(**{"3__running_var": None}), "'dncnn.3.running_var' is missing"),
        (changed(**{"3__running_var": torch.ones(5)}), r"'dncnn.3.running_var' has the shape \(5,\) instead of \(6,\)"),
        (changed(**{"3__scale": torch.ones(6)}), "'dncnn.3.scale' is not known in batch normalisation"),
        (
            changed(**{"2__weight": torch.ones(6, 6, 5, 5)}),
            r"'dncnn.2' \(weight \(6, 6, 5, 5\)\) is not a convolution of",
        ),
        (changed(**{"2__weight": torch.ones(6, 4, 3, 3)}), "channels changes between 'dncnn.0' and 'dncnn.2'"),
        (changed(**{"1__weight": torch.ones(6, 6, 3, 3)}), "a ReLU, is expected between 'dncnn.0' and 'dncnn.1'"),
        (changed(**{"12__weight": torch.ones(1, 6, 3, 3)}), "a ReLU, is expected between 'dncnn.11' and 'dncnn.12'"),
        (changed(**{"1__weight": torch.ones(1)}), r"'dncnn.1' \(weight \(1,\)\) is not a convolution"),
        ({"a.0.weight": torch.ones(2, 1, 3, 3), "b.0.weight": torch.ones(1, 2, 3, 3)}, "several chains, 'a.' and 'b.'"),
        ({"a.0.weight": torch.ones(1, 1, 3, 3)}, "two convolutions or more"),
    ],
)
def test_what_is_not_understood_is_named(tensors, message, tmp_path):
    torch.save(tensors, tmp_path / "net.pth")
    with pytest.raises(ValueError, match=message) as caught:
        pp.denoisers.get("dncnn", weights=tmp_path / "net.pth", noise_level=0.1)
    assert str(caught.value).startswith("weights 'net.pth' are not understood: ")
    assert f"Found are {len(tensors)} tensors" in str(caught.value)
    assert "Accepted are a DnCNN" in str(caught.value)


def test_min_sigma_is_an_option(tmp_path):
    torch.save(state(Dncnn(widths(1, 4), **NO_BIAS)), tmp_path / "dncnn_25.pth")
    assert pp.denoisers.get("dncnn", weights=tmp_path / "dncnn_25.pth", min_sigma=0.01).min_sigma == 0.01
    own = pp.denoisers.from_torch(nn.Identity(), takes_sigma=False, min_sigma=0.0)
    assert pp.denoisers.min_sigma_of(own) == 0.0
    for wrong in (-0.1, 1.5):
        with pytest.raises(ValueError, match="min_sigma must be >= 0 and <= 1"):
            pp.denoisers.get("dncnn", weights=tmp_path / "dncnn_25.pth", min_sigma=wrong)
