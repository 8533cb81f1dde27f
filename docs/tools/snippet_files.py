"""Small files and names that the snippets of the documents take for granted, as a reader has them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from skimage import data

import plugplay as pp

if TYPE_CHECKING:
    from collections.abc import Callable

PHOTO = data.astronaut()[30:94, 180:244]
GRAY = data.camera()[100:164, 150:214]
RNG = np.random.default_rng(0)

# Names that blocks of Python take for granted, page by page; `camera`, np and pp are there on every page.
GIVEN = {
    "README.md": """
kernel = pp.kernels.gaussian(5, sigma=1.0)
y = pp.models.Deblurring(kernel).simulate(camera, noise=0.01, rng=0)
bits = pp.models.SinglePhoton(8).simulate(camera[:32, :32], rng=0)
pp.io.write("in.tif", pp.io.ImageFile.of(np.full((32, 32), 900, np.uint16)))
""",
    "index.md": """
kernel = pp.kernels.gaussian(5, sigma=1.0)
y = pp.models.Deblurring(kernel).simulate(camera, noise=0.01, rng=0)
""",
    "files.md": """
works = np.ones((16, 16), bool)
pp.io.write("scan.tif", pp.io.ImageFile.of(np.full((8, 8), 900, np.uint16)))
pp.io.write("photo.jpg", pp.io.ImageFile.of(np.full((32, 32), 90, np.uint8)))
np.save("spad.npy", np.packbits(np.random.default_rng(0).random((4, 16, 16)) < 0.3, axis=2))
""",
    "noise.md": """
y = camera + 0.02 * np.random.default_rng(0).standard_normal(camera.shape)
counts = np.random.default_rng(0).poisson(200 * camera).astype(float)
basis = np.eye(8)
""",
    "scale.md": """
import zarr
if not __import__("os").path.exists("slide.zarr"):
    zarr.create_array("slide.zarr", data=camera.astype(np.float32), chunks=(32, 32))
""",
    "training.md": "noisy, y, kernel = camera, camera, pp.kernels.box(3)",
    "bm3d.md": "noisy, sigma = camera + 0.1 * np.random.default_rng(0).standard_normal(camera.shape), 0.1",
    "bring-your-own-denoiser.md": """
try:
    import torch
except ImportError:
    pass
else:
    class Net(torch.nn.Module):
        def forward(self, x, sigma=None):
            return x

    net = Net()
""",
}


def names(page: str) -> dict[str, object]:
    """Return what a page's blocks of Python take for granted; files of the page go into the current folder."""
    given = {"__name__": "page", "np": np, "pp": pp, "camera": GRAY / 255}
    exec(GIVEN.get(page, ""), given)
    return given


def _image(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pp.io.write(path, pp.io.ImageFile.of(pixels, colour=pixels.ndim == 3))


def _mask() -> np.ndarray:
    mask = np.full(GRAY.shape, 255, np.uint8)
    mask[20:23, 5:50] = 0
    return mask


def _psf(path: Path) -> None:
    psf = pp.kernels.gaussian(9, sigma=1.2)
    if path.suffix == ".npy":
        np.save(path, psf)
    else:
        _fits(path, psf)


def _fits(path: Path, pixels: np.ndarray) -> None:
    from astropy.io import fits

    fits.PrimaryHDU(pixels).writeto(path)


def _galaxy(path: Path) -> None:
    rows, columns = np.indices((64, 64)) - 32
    light = 20_000 * np.exp(-np.hypot(rows, 2 * columns) / 6) + 300
    _fits(path, RNG.poisson(light).astype(np.float32))


def _bits(frames: int, side: int, factor: int) -> np.ndarray:
    sensor = pp.models.SinglePhoton(factor, frames=frames, gain=1.5)
    return sensor.simulate(GRAY[: side // factor, : side // factor] / 255, rng=0).reshape(frames, side, side)


def _matlab(path: Path) -> None:
    from scipy.io import savemat

    savemat(path, {"bits": np.moveaxis(_bits(8, 32, 1), 0, -1)})


def _folder(folder: Path, *, noise: float = 0.0, deep: bool = True) -> None:
    for k, name in enumerate(("a.png", "deep/b.tif" if deep else "b.tif")):
        pixels = GRAY[8 * k : 8 * k + 48, :48] + noise * np.random.default_rng(k).standard_normal((48, 48))
        _image(folder / name, np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def _masks(folder: Path) -> None:
    for name in ("a.png", "b.tif"):
        _image(folder / name, _mask()[:48, :48])


def _zarr(path: Path) -> None:
    import zarr

    zarr.create_array(path, data=(GRAY / 255).astype(np.float32), chunks=(32, 32))


def _weights(path: Path) -> None:
    """Write a small network of a published layout; loading it does not care what it has learnt."""
    if not importlib.util.find_spec("torch"):  # the blocks that load it are left out, too
        return
    import torch
    from safetensors.torch import save_file

    from plugplay.denoisers.learned.networks import DnCNN, DRUNet, FFDNet

    if path.suffix == ".safetensors":
        save_file(FFDNet((13, *[6] * 11, 12)).state_dict(), path)
    else:
        net = DRUNet(channels=1, widths=(3, 4, 5, 6), blocks=1) if "drunet" in path.name else DnCNN((1, 6, 6, 6, 1))
        torch.save(net.state_dict(), path)


SMOOTH = """from scipy.ndimage import gaussian_filter

def smooth(image, sigma):
    axes = (1.0, 1.0) + (0.0,) * (image.ndim - 2)
    return image + min(1.0, 5 * sigma) * (gaussian_filter(image, axes) - image)
"""

MAKERS: dict[str, Callable[[Path], None]] = {
    "photo.jpg": lambda path: _image(path, PHOTO),
    "photo.tif": lambda path: _image(path, PHOTO),
    "noisy.png": lambda path: _image(path, GRAY),
    "extra.png": lambda path: _image(path, GRAY),
    "cells.tif": lambda path: _image(path, RNG.poisson(100 + 2.0 * GRAY).astype(np.uint16)),
    "blurred.tif": lambda path: _image(path, GRAY),
    "small.png": lambda path: _image(path, GRAY[:24, :24]),
    "small.tif": lambda path: _image(path, GRAY[:24, :24].astype(np.uint16) * 256),
    "scratched.png": lambda path: _image(path, np.where(_mask() > 0, GRAY, 0).astype(np.uint8)),
    "observed.png": lambda path: _image(path, _mask()),
    "galaxy.fits": _galaxy,
    "good.fits": lambda path: _fits(path, np.ones((64, 64), np.uint8)),
    "psf.fits": _psf,
    "psf.npy": _psf,
    "bits.npy": lambda path: np.save(path, _bits(4, 96, 4)),
    "cube.npy": lambda path: np.save(path, np.packbits(_bits(4, 96, 4), axis=2)),
    "spad.npy": lambda path: np.save(path, np.packbits(_bits(150, 32, 1), axis=2)),
    "dark.npy": lambda path: np.save(path, np.packbits(RNG.random((150, 32, 32)) < 0.002, axis=2)),
    "good-jots.png": lambda path: _image(path, np.full((32, 32), 255, np.uint8)),
    "cube.mat": _matlab,
    "qis.bin": lambda path: path.write_bytes(np.packbits(_bits(4, 64, 1), axis=2).tobytes()),
    "scans/": lambda path: _folder(path, noise=10),
    "truth/": _folder,
    "frames/": lambda path: _folder(path, deep=False),
    "masks/": _masks,
    "plates/": lambda path: _folder(path / "part-0"),
    "plate/": _folder,
    "slide.zarr": _zarr,
    "DIR": lambda path: _image(path / "house.png", GRAY),
    "paper10": lambda path: _image(path / "house.png", GRAY[:32, :32]),
    "ffdnet_color.safetensors": _weights,
    "drunet_gray.pth": _weights,
    "mine.pth": _weights,
    "my_denoisers": lambda path: path.with_suffix(".py").write_text(SMOOTH, encoding="utf-8"),
}


def make(folder: Path, text: str) -> None:
    """Write the files into a folder whose names occur in a text."""
    for name, maker in MAKERS.items():
        if name in text and not (folder / name).exists():
            maker(folder / name)
