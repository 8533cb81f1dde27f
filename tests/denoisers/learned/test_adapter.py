"""`from_torch`: any module becomes a denoiser, and the user's own module is left alone."""

import math

import numpy as np
import pytest

import plugplay as pp

torch = pytest.importorskip("torch")


class Blend(torch.nn.Module):
    """Mixes the image with its 3 x 3 mean, the more the larger sigma; reaches one pixel."""

    def __init__(self, channels=1):
        super().__init__()
        self.mean = torch.nn.Conv2d(
            channels, channels, 3, padding=1, padding_mode="replicate", groups=channels, bias=False
        )
        torch.nn.init.constant_(self.mean.weight, 1 / 9)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x, sigma):
        share = sigma / (sigma + 0.1)
        return self.dropout((1 - share) * x + share * self.mean(x))


class Shrink(torch.nn.Module):
    """Removes noise of standard deviation 0.1 from a flat mid-gray image: x - 0.5 is scaled by a fixed factor."""

    def forward(self, x):
        return 0.5 + 0.25 * (x - 0.5)


class WithMap(torch.nn.Module):
    """Subtracts the last channel, the map of sigma."""

    def forward(self, x):
        return x[:, :-1] - x[:, -1:]


def blend(image, sigma):
    """The same as `Blend`, by NumPy."""
    padded = np.pad(image, 1, mode="edge")
    rows, columns = image.shape
    mean = sum(padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)) / 9
    share = sigma / (sigma + 0.1)
    return (1 - share) * image + share * mean


def test_a_module_is_called_as_promised(camera):
    denoise = pp.denoisers.from_torch(Blend())
    image = camera[:21, :34]
    np.testing.assert_allclose(denoise(image, 0.2), blend(image, 0.2), atol=1e-6)
    assert denoise.name == "Blend"
    single = image.astype(np.float32)
    assert denoise(single, 0.2).dtype == np.float32
    np.testing.assert_array_equal(denoise(image, 0.0), image)
    mapped = pp.denoisers.from_torch(WithMap(), takes_sigma="map")
    np.testing.assert_allclose(mapped(image, 0.2), image - 0.2, atol=1e-6)


def test_double_precision_modules_stay_double(camera):
    denoise = pp.denoisers.from_torch(Blend().double())
    np.testing.assert_allclose(denoise(camera, 0.2), blend(camera, 0.2), atol=1e-14)


def test_the_user_s_module_is_left_alone(camera):
    net = Blend()
    net.train()
    net.dropout.eval()
    denoise = pp.denoisers.from_torch(net)
    first = denoise(camera, 0.3)
    assert net.training
    assert not net.dropout.training
    assert net.mean.weight.requires_grad
    with torch.no_grad():
        net.mean.weight.mul_(2)  # training goes on; the denoiser does not change under a run
    np.testing.assert_array_equal(denoise(camera, 0.3), first)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (8, 8), (13, 30)])
def test_any_size_is_padded_to_multiples(shape):
    seen = []

    class Picky(torch.nn.Module):
        def forward(self, x):
            seen.append(tuple(x.shape))
            assert x.shape[2] % 8 == x.shape[3] % 8 == 0
            return x

    image = np.random.default_rng(0).random(shape)
    denoise = pp.denoisers.from_torch(Picky(), takes_sigma=False, multiple=8, tile=None)
    np.testing.assert_allclose(denoise(image, 0.1), image, atol=1e-6)
    assert len(seen) == 1


def test_tiles_change_nothing_if_they_overlap_by_the_reach(camera):
    whole = pp.denoisers.from_torch(Blend().double(), tile=None)(camera, 0.3)
    for tile in (16, 37, 100, 500):
        np.testing.assert_allclose(
            pp.denoisers.from_torch(Blend().double(), tile=tile, overlap=1)(camera, 0.3), whole, atol=1e-14
        )
    touching = pp.denoisers.from_torch(Blend().double(), tile=16, overlap=0)(camera, 0.3)
    assert np.abs(touching - whole).max() > 1e-3


def test_tiles_bound_what_the_network_sees():
    sizes = []

    class Watch(torch.nn.Module):
        def forward(self, x):
            sizes.append(x.shape[2] * x.shape[3])
            return x

    pp.denoisers.from_torch(Watch(), takes_sigma=False, tile=32, overlap=8)(np.zeros((200, 300)), 0.1)
    assert max(sizes) == 48 * 48
    assert len(sizes) == 7 * 10


def test_a_fixed_noise_level_is_reached_by_rescaling_about_mid_gray(camera):
    denoise = pp.denoisers.from_torch(Blend9(), takes_sigma=False, noise_level=0.1)
    for sigma in (0.02, 0.1, 0.7):
        z = 0.5 + (camera - 0.5) * (0.1 / sigma)
        inside = z - 0.05 * np.tanh(z)
        np.testing.assert_allclose(denoise(camera, sigma), 0.5 + (inside - 0.5) * (sigma / 0.1), atol=1e-6)
    # Noise is scaled with its image: what is removed at sigma is sigma / s times what is removed at s.
    shrink = pp.denoisers.from_torch(Shrink(), takes_sigma=False, noise_level=0.1)
    for sigma in (0.01, 0.1, 0.5):
        noise = sigma * np.random.default_rng(0).standard_normal((16, 16))
        np.testing.assert_allclose(shrink(0.5 + noise, sigma), 0.5 + noise / 4, atol=1e-6)


class Blend9(torch.nn.Module):
    """Not homogeneous, so that the rule of rescaling can be told from leaving it out."""

    def forward(self, x):
        return x - 0.05 * torch.tanh(x)


def test_networks_are_not_told_more_than_they_know(camera):
    """Above max_sigma the image is rescaled about mid-gray instead."""
    denoise = pp.denoisers.from_torch(WithMap(), takes_sigma="map", max_sigma=0.2)
    np.testing.assert_allclose(denoise(camera, 0.15), camera - 0.15, atol=1e-6)
    # The map says 0.2, and so much is taken from an image that is shrunk by 0.2 / sigma: sigma in all.
    np.testing.assert_allclose(denoise(camera, 3.0), camera - 3.0, atol=1e-5)
    told = []

    class Listen(torch.nn.Module):
        def forward(self, x, sigma):
            told.append((float(sigma), float(x.min()), float(x.max())))
            return x

    pp.denoisers.from_torch(Listen(), max_sigma=0.2)(np.eye(8), 0.8)
    assert told == [(pytest.approx(0.2), pytest.approx(0.375), pytest.approx(0.625))]


def test_gray_networks_treat_colours_one_by_one(astronaut):
    denoise = pp.denoisers.from_torch(Blend(), channels=1)
    expected = np.stack([blend(astronaut[..., c], 0.2) for c in range(3)], axis=-1)
    np.testing.assert_allclose(denoise(astronaut, 0.2), expected, atol=1e-6)
    assert denoise(np.zeros((6, 5, 4)), 0.2).shape == (6, 5, 4)


class Wiener(torch.nn.Module):
    """The best linear denoiser of three channels that are equal up to independent noise."""

    signal = 0.2

    def forward(self, x, sigma):
        mean = x.mean(dim=1, keepdim=True)
        gain = self.signal**2 / (self.signal**2 + sigma**2 / 3)
        return (0.5 + gain * (mean - 0.5)).expand_as(x)


def test_colour_networks_are_told_what_a_gray_image_means_to_them():
    """Noise that is the same in three channels is that of sqrt(3) sigma in their mean: the best gain is used."""
    denoise = pp.denoisers.from_torch(Wiener().double(), channels=3)
    image = np.random.default_rng(0).random((12, 9))
    sigma = 0.15
    gain = 0.2**2 / (0.2**2 + sigma**2)
    np.testing.assert_allclose(denoise(image, sigma), 0.5 + gain * (image - 0.5), atol=1e-7)
    with pytest.raises(ValueError, match="'Wiener' is for images with 3 channels, and the image has 4"):
        denoise(np.zeros((4, 4, 4)), 0.1)


class Wrong(torch.nn.Module):
    def forward(self, x):
        return x[..., :-1]


class NotATensor(torch.nn.Module):
    def forward(self, x):
        return [x]


@pytest.mark.parametrize(
    ("net", "options", "message"),
    [
        (Blend, {}, "net must be a torch.nn.Module"),
        (abs, {}, "net must be a torch.nn.Module"),
        (Shrink(), {"takes_sigma": "yes"}, "takes_sigma must be True, False or 'map'; got 'yes'"),
        (Shrink(), {"noise_level": 0.1}, "give takes_sigma=False with it"),
        (Shrink(), {"takes_sigma": False, "noise_level": 0}, "noise_level must be > 0"),
        (Shrink(), {"takes_sigma": False, "max_sigma": 0.1}, "max_sigma is for networks that take sigma"),
        (Shrink(), {"max_sigma": -1}, "max_sigma must be > 0"),
        (Shrink(), {"channels": 0}, "channels must be an integer >= 1"),
        (Shrink(), {"tile": 0}, "tile must be an integer >= 1"),
        (Shrink(), {"overlap": -1}, "overlap must be an integer >= 0"),
        (Shrink(), {"device": "tpu"}, "device must be one of 'cpu', 'cuda', 'mps'"),
        (Shrink(), {"device": "cuda:x"}, "device must be one of 'cpu', 'cuda', 'mps'"),
        (Shrink(), {"device": 0}, "device must be a string"),
        (Shrink(), {"device": "cuda:63"}, "device 'cuda:63' is not available: PyTorch .* sees"),
    ],
)
def test_bad_arguments(net, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pp.denoisers.from_torch(net, **options)


def test_bad_networks_and_images_are_named():
    with pytest.raises(ValueError, match=r"'Wrong' returned \(1, 1, 8, 7\) for a batch of shape \(1, 1, 8, 8\)"):
        pp.denoisers.from_torch(Wrong(), takes_sigma=False)(np.zeros((8, 8)), 0.1)
    with pytest.raises(ValueError, match="network 'NotATensor' returned a list"):
        pp.denoisers.from_torch(NotATensor(), takes_sigma=False)(np.zeros((8, 8)), 0.1)
    denoise = pp.denoisers.from_torch(Shrink(), takes_sigma=False)
    with pytest.raises(ValueError, match="NaN or infinite"):
        denoise(np.full((4, 4), np.nan), 0.1)
    with pytest.raises(ValueError, match="sigma must be >= 0"):
        denoise(np.zeros((4, 4)), -1.0)


def test_a_network_restores(camera):
    """The whole way: a module in Algorithm 1."""
    blur = pp.models.Deblurring(pp.kernels.gaussian(9, sigma=1.5))
    y = blur.simulate(camera, noise=0.02, rng=0)
    result = pp.restore(
        y, blur, denoiser=pp.denoisers.from_torch(Blend()), lam=1e-3, schedule=pp.Monotone(rho0=0.05, gamma=1.3)
    )
    assert pp.psnr(result.image, camera) > pp.psnr(y, camera) + 0.5
    assert result.parameters.denoiser == "Blend"
    assert math.isfinite(result.history.delta[-1])


def test_the_checks_take_networks():
    report = pp.check_denoiser(pp.denoisers.from_torch(Blend(), channels=1), size=16)
    assert report.passed, str(report)
    assert report.boundedness.bounded  # the share of the mean is at most 10 sigma
    fixed = pp.denoisers.from_torch(Shrink(), takes_sigma=False)
    assert not pp.check_denoiser(fixed, size=16).boundedness.bounded  # always the same, however small sigma is


@pytest.mark.parametrize(("shape", "channels", "parts"), [((40, 40), None, 9), ((40, 40, 2), 1, 18), ((20, 20), 3, 4)])
def test_sessions_report_every_tile(shape, channels, parts):
    class Same(torch.nn.Module):
        def forward(self, x):
            return x

    shares = []
    denoise = pp.denoisers.from_torch(Same(), takes_sigma=False, channels=channels, tile=16 if parts > 4 else 10)
    image = np.random.default_rng(0).random(shape)
    session = denoise.session(progress=shares.append)
    np.testing.assert_array_equal(session(image, 0.1), denoise(image, 0.1))
    np.testing.assert_allclose(shares, np.arange(1, parts + 1) / parts)

    def cancel(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        denoise.session(cancel)(image, 0.1)
