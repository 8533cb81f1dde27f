"""The published networks: DnCNN, FFDNet and DRUNet, each in one form, whatever the layout of the file.

DnCNN and FFDNet are chains of convolutions with biases and ReLUs between them. `layouts` brings what is published, with
batch normalisation or another order of channels, to this form.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, cat, nn

__all__ = ["DRUNet", "DnCNN", "FFDNet"]


def chain(widths: Sequence[int]) -> nn.Sequential:
    """Return convolutions of 3 x 3 with ReLUs between them; `widths` are the channels before, between and after."""
    layers: list[Any] = []
    for before, after in pairwise(widths):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class DnCNN(nn.Module):
    """The image minus the noise found by a chain of convolutions (Zhang et al., "Beyond a Gaussian denoiser", 2017).

    Parameters
    ----------
    widths : sequence of int
        Channels before, between and after the convolutions. Published networks have 1 or 3 at the ends, 64 between
        and 17 convolutions for one noise level, 20 for all.
    """

    title = "DnCNN"

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.channels, self.reach, self.multiple = widths[0], len(widths) - 1, 1
        self.model = chain(widths)

    def forward(self, x: Tensor) -> Tensor:
        """Return the clean image."""
        return x - self.model(x)


class FFDNet(nn.Module):
    """Every 2 x 2 block of pixels becomes 4 channels, sigma one more; convolutions; and back (Zhang et al., 2018).

    Parameters
    ----------
    widths : sequence of int
        Channels before, between and after the convolutions: 4 C + 1 for an image with C channels, 64 between in the
        published gray networks with 15 convolutions, 96 in the colour ones with 12, and 4 C.
    finds_noise : bool
        Whether the convolutions give the noise, which is subtracted, or the clean image.
    """

    title = "FFDNet"

    def __init__(self, widths: Sequence[int], *, finds_noise: bool = False) -> None:
        super().__init__()
        self.channels, self.reach, self.multiple = widths[-1] // 4, 2 * len(widths) - 1, 2
        self.finds_noise = finds_noise
        self.model = chain(widths)
        self.split, self.join = nn.PixelUnshuffle(2), nn.PixelShuffle(2)

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        """Return the clean image; height and width are even."""
        small = self.split(x)
        level = sigma.expand(len(small), 1, *small.shape[2:])
        found = self.join(self.model(cat([small, level], dim=1)))
        return x - found if self.finds_noise else found


class DRUNet(nn.Module):
    """A U-Net of residual blocks without biases; the input's last channel is a map of the noise level.

    From Zhang et al., "Plug-and-Play image restoration with deep denoiser prior", 2021.

    Parameters
    ----------
    channels : int
        1 for gray, 3 for colour.
    widths : sequence of 4 int
        Channels at each scale: 64, 128, 256, 512 in the published networks.
    blocks : int
        Residual blocks at each scale: 4 in the published networks.
    """

    title = "DRUNet"

    def __init__(self, *, channels: int, widths: Sequence[int], blocks: int) -> None:
        super().__init__()
        self.channels, self.multiple = channels, 8
        # Each residual block reaches 2 pixels of its scale: on the way down, at the bottom, on the way up. The head
        # and the tail reach one each, and the blocks of 8 x 8 that become one pixel need not be centred.
        self.reach = 2 + 2 * blocks * (1 + 2 + 4) * 2 + 2 * blocks * 8 + 8
        a, b, c, d = widths
        self.m_head = nn.Conv2d(channels + 1, a, 3, padding=1, bias=False)
        self.m_down1, self.m_down2, self.m_down3 = (_down(i, o, blocks) for i, o in ((a, b), (b, c), (c, d)))
        self.m_body = nn.Sequential(*(_Residual(d) for _ in range(blocks)))
        self.m_up3, self.m_up2, self.m_up1 = (_up(i, o, blocks) for i, o in ((d, c), (c, b), (b, a)))
        self.m_tail = nn.Conv2d(a, channels, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the clean image; height and width are multiples of 8."""
        x1 = self.m_head(x)
        x2 = self.m_down1(x1)
        x3 = self.m_down2(x2)
        x4 = self.m_down3(x3)
        up = self.m_up3(self.m_body(x4) + x4)
        up = self.m_up2(up + x3)
        up = self.m_up1(up + x2)
        return self.m_tail(up + x1)


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        first, second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.res = nn.Sequential(first, nn.ReLU(), second)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.res(x)


def _down(width: int, wider: int, blocks: int) -> nn.Sequential:
    return nn.Sequential(*(_Residual(width) for _ in range(blocks)), nn.Conv2d(width, wider, 2, stride=2, bias=False))


def _up(width: int, narrower: int, blocks: int) -> nn.Sequential:
    grow = nn.ConvTranspose2d(width, narrower, 2, stride=2, bias=False)
    return nn.Sequential(grow, *(_Residual(narrower) for _ in range(blocks)))
