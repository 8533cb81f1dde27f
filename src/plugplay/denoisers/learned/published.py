"""The published networks by name, with weights from a local file that are recognised by their tensors."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from plugplay.arrays.checks import check_number
from plugplay.denoisers.learned.adapter import TorchDenoiser, from_torch
from plugplay.denoisers.learned.layout import differences
from plugplay.denoisers.learned.runtime import require
from plugplay.denoisers.learned.weight_files import read_tensors

__all__ = ["dncnn", "drunet", "ffdnet"]

# What tensors cannot tell: the noise a DnCNN was trained for. Published files say it in their names.
_LEVEL = re.compile(r"dncnn_(\d{1,3})")
_BLIND = ("dncnn_gray_blind", "dncnn_color_blind", "dncnn3")


def dncnn(
    *,
    weights: str | os.PathLike[str],
    noise_level: float | Literal["blind"] | None = None,
    device: str = "cpu",
    tile: int | None = 512,
) -> TorchDenoiser:
    """Make a DnCNN, gray or colour, of any depth and width.

    Parameters
    ----------
    weights : path
        A state dict (.pth or .safetensors), as published or of your own training.
    noise_level : float or "blind", optional
        The noise it was trained to remove, on the scale [0, 1]; at other sigmas the input is rescaled, see
        `plugplay.denoisers.from_torch`. A blind network was trained for many levels and is called with the image
        as it is, whatever sigma. Known by the file's name for ``dncnn_15``, ``dncnn_25``, ``dncnn_50``,
        ``dncnn_gray_blind``, ``dncnn_color_blind`` and ``dncnn3``.
    device, tile
        As for `plugplay.denoisers.from_torch`.
    """
    net = load_network(weights, "dncnn")
    return _denoiser(net, takes_sigma=False, noise_level=_level(weights, noise_level), device=device, tile=tile)


def ffdnet(*, weights: str | os.PathLike[str], device: str = "cpu", tile: int | None = 512) -> TorchDenoiser:
    """Make an FFDNet, gray or colour, of any depth and width; trained for sigma up to 75/255.

    Parameters are as for `dncnn`; above its largest sigma the input is rescaled.
    """
    net = load_network(weights, "ffdnet")
    return _denoiser(net, takes_sigma=True, max_sigma=75 / 255, device=device, tile=tile)


def drunet(*, weights: str | os.PathLike[str], device: str = "cpu", tile: int | None = 512) -> TorchDenoiser:
    """Make a DRUNet, gray or colour, of any depth and widths; trained for sigma up to 50/255.

    Parameters are as for `dncnn`; above its largest sigma the input is rescaled.
    """
    net = load_network(weights, "drunet")
    return _denoiser(net, takes_sigma="map", max_sigma=50 / 255, device=device, tile=tile)


def load_network(path: str | os.PathLike[str], name: str) -> Any:
    """Read a weight file, recognise the network in it and fill it; refuse all but the one called `name`."""
    require("torch")
    from plugplay.denoisers.learned.dncnn import DnCNN
    from plugplay.denoisers.learned.drunet import DRUNet
    from plugplay.denoisers.learned.ffdnet import FFDNet

    tensors = read_tensors(path)
    file = f"weights {Path(path).name!r}"
    candidates = (kind.matching(tensors) for kind in (DRUNet, FFDNet, DnCNN))
    net = next((candidate for candidate in candidates if candidate is not None), None)
    # Its convolutions are dilated, which tensors do not show: it would be taken for a DnCNN and give rubbish.
    if net is None or "ircnn" in Path(path).stem.lower():
        some = ", ".join(f"{key!r} {tuple(t.shape)}" for key, t in list(tensors.items())[:3])
        raise ValueError(
            f"{file} are not those of a DnCNN, FFDNet or DRUNet: {len(tensors)} tensors such as {some}. Any network "
            "works if you make the module yourself and pass it to plugplay.denoisers.from_torch"
        )
    if net.title.lower() != name:
        raise ValueError(f"{file} belong to a {net.title}: use plugplay.denoisers.get({net.title.lower()!r}, ...)")
    wrong = differences(tensors, net.state_dict())
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise ValueError(f"{file} look like a {net.title} but do not fit one: {'; '.join(wrong[:3])}{more}")
    # Names and shapes are compared above; not strict only because of the counters that old files lack.
    net.load_state_dict(tensors, strict=False)
    return net


def _level(weights: str | os.PathLike[str], noise_level: float | Literal["blind"] | None) -> float | None:
    stem = Path(weights).stem.lower()
    if noise_level == "blind":
        return None
    if noise_level is not None:
        return check_number(noise_level, "noise_level", above=0)
    if stem in _BLIND:
        return None
    if match := _LEVEL.fullmatch(stem):
        return int(match[1]) / 255
    raise ValueError(
        f"the noise that {Path(weights).name!r} was trained for is in neither its tensors nor its name: give "
        "noise_level=, a number on the scale [0, 1] such as 25 / 255, or 'blind'"
    )


def _denoiser(
    net: Any,
    *,
    takes_sigma: bool | Literal["map"],
    noise_level: float | None = None,
    max_sigma: float | None = None,
    device: str,
    tile: int | None,
) -> TorchDenoiser:
    return from_torch(
        net,
        takes_sigma=takes_sigma,
        channels=net.channels,
        noise_level=noise_level,
        max_sigma=max_sigma,
        device=device,
        multiple=net.multiple,
        tile=tile,
        overlap=net.reach,
        name=net.title.lower(),
    )
