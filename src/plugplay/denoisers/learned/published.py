"""The published networks by name, with weights from a local file that are recognised by their tensors."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from plugplay.arrays.checks import check_number
from plugplay.denoisers.learned.adapter import MIN_SIGMA, TorchDenoiser, from_torch
from plugplay.denoisers.learned.runtime import require
from plugplay.denoisers.learned.weights import read_tensors

__all__ = ["dncnn", "drunet", "ffdnet"]

# What tensors cannot tell: the noise a DnCNN was trained for. Published files, or their folders, say it in their names.
_LEVEL = re.compile(r"dncnn[-_](?:s[-_]|noise|sigma)?0*([1-9]\d{0,2})(?:[-_](?:gray|color|lipschitz).*)?")
_BLIND = ("dncnn_gray_blind", "dncnn_color_blind", "dncnn3", "dncnn-b")


def dncnn(
    *,
    weights: str | os.PathLike[str],
    noise_level: float | Literal["blind"] | None = None,
    norm_eps: float | None = None,
    min_sigma: float = MIN_SIGMA,
    device: str = "cpu",
    tile: int | None = 512,
) -> TorchDenoiser:
    """Make a DnCNN, gray or colour, of any depth and width.

    Parameters
    ----------
    weights : path
        A state dict (.pth or .safetensors), as published or of your own training, in one of the layouts of
        `plugplay.denoisers.learned.layouts`.
    noise_level : float or "blind", optional
        The noise it was trained to remove, on the scale [0, 1]; at other sigmas the input is rescaled, see
        `plugplay.denoisers.from_torch`. A blind network was trained for many levels and is called with the image
        as it is, whatever sigma. Known by the name of the file or its folder for ``dncnn_25``, ``DnCNN-S-25``,
        ``DnCNN_noise15``, ``dncnn_sigma2_gray`` and the like, and for the blind ``dncnn_gray_blind``,
        ``dncnn_color_blind``, ``dncnn3`` and ``DnCNN-B``.
    norm_eps : float, optional
        Only for files with batch normalisation: what it adds to the variances, which tensors do not tell. By default
        1e-5, PyTorch's own, if the first convolution has no bias, and 1e-4, as its authors train it, if it has one.
    min_sigma, device, tile
        As for `plugplay.denoisers.from_torch`.
    """
    net = load_network(weights, "dncnn", norm_eps=norm_eps)
    level = _level(weights, noise_level)
    return _denoiser(net, takes_sigma=False, noise_level=level, min_sigma=min_sigma, device=device, tile=tile)


def ffdnet(
    *,
    weights: str | os.PathLike[str],
    norm_eps: float | None = None,
    min_sigma: float = MIN_SIGMA,
    device: str = "cpu",
    tile: int | None = 512,
) -> TorchDenoiser:
    """Make an FFDNet, gray or colour, of any depth and width; trained for sigma up to 75/255.

    Parameters are as for `dncnn`; above its largest sigma the input is rescaled.
    """
    net = load_network(weights, "ffdnet", norm_eps=norm_eps)
    return _denoiser(net, takes_sigma=True, max_sigma=75 / 255, min_sigma=min_sigma, device=device, tile=tile)


def drunet(
    *,
    weights: str | os.PathLike[str],
    min_sigma: float = MIN_SIGMA,
    device: str = "cpu",
    tile: int | None = 512,
) -> TorchDenoiser:
    """Make a DRUNet, gray or colour, of any depth and widths; trained for sigma up to 50/255.

    Parameters are as for `dncnn`; above its largest sigma the input is rescaled.
    """
    net = load_network(weights, "drunet")
    return _denoiser(net, takes_sigma="map", max_sigma=50 / 255, min_sigma=min_sigma, device=device, tile=tile)


def load_network(path: str | os.PathLike[str], name: str, *, norm_eps: float | None = None) -> Any:
    """Read a weight file, recognise the network in it and fill it; refuse all but the one called `name`."""
    require("torch")
    from plugplay.denoisers.learned.layouts import ACCEPTED, UnknownLayoutError, network_of

    if norm_eps is not None:
        check_number(norm_eps, "norm_eps", above=0)
    tensors = read_tensors(path)
    file = f"weights {Path(path).name!r}"
    try:
        # Its convolutions are dilated, which tensors do not show: it would be taken for a DnCNN and give rubbish.
        if "ircnn" in Path(path).stem.lower():
            raise UnknownLayoutError("by its name it is an IRCNN")
        net = network_of(tensors, norm_eps=norm_eps)
    except UnknownLayoutError as error:
        some = ", ".join(f"{key!r} {tuple(t.shape)}" for key, t in list(tensors.items())[:3])
        raise ValueError(
            f"{file} are not understood: {error}. Found are {len(tensors)} tensors such as {some}. Accepted are "
            f"{ACCEPTED}. Any other network works if you make the module yourself and pass it to "
            "plugplay.denoisers.from_torch"
        ) from None
    if net.title.lower() != name:
        raise ValueError(f"{file} belong to a {net.title}: use plugplay.denoisers.get({net.title.lower()!r}, ...)")
    return net


def _level(weights: str | os.PathLike[str], noise_level: float | Literal["blind"] | None) -> float | None:
    if noise_level == "blind":
        return None
    if noise_level is not None:
        return check_number(noise_level, "noise_level", above=0)
    path = Path(weights).resolve()
    for name in (path.stem.lower(), path.parent.name.lower()):
        if name in _BLIND:
            return None
        if match := _LEVEL.fullmatch(name):
            return int(match[1]) / 255
    raise ValueError(
        f"the noise that {Path(weights).name!r} was trained for is neither in its tensors nor in its name: give "
        "noise_level=, a number on the scale [0, 1] such as 25 / 255, or 'blind'"
    )


def _denoiser(
    net: Any,
    *,
    takes_sigma: bool | Literal["map"],
    noise_level: float | None = None,
    max_sigma: float | None = None,
    min_sigma: float,
    device: str,
    tile: int | None,
) -> TorchDenoiser:
    return from_torch(
        net,
        takes_sigma=takes_sigma,
        channels=net.channels,
        noise_level=noise_level,
        max_sigma=max_sigma,
        min_sigma=min_sigma,
        device=device,
        multiple=net.multiple,
        tile=tile,
        overlap=net.reach,
        name=net.title.lower(),
    )
