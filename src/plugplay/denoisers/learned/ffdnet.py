"""FFDNet (Zhang et al., 2018): convolutions at half the resolution, with a map of the noise level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, cat, nn

from plugplay.denoisers.learned.layout import chain_of_convolutions

__all__ = ["FFDNet"]


class FFDNet(nn.Module):
    """Every 2 x 2 block of pixels becomes 4 channels, sigma one more; `depth` convolutions; and back.

    Parameters
    ----------
    channels : int
        1 for gray, 3 for colour.
    width : int
        Channels of the hidden layers: 64 in the published gray network, 96 in the colour one.
    depth : int
        Number of convolutions: 15 in the published gray network, 12 in the colour one.
    """

    title = "FFDNet"

    def __init__(self, *, channels: int, width: int, depth: int) -> None:
        super().__init__()
        self.channels, self.reach, self.multiple = channels, 2 * depth + 1, 2
        layers: list[Any] = [nn.Conv2d(4 * channels + 1, width, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
        layers.append(nn.Conv2d(width, 4 * channels, 3, padding=1))
        self.model = nn.Sequential(*layers)
        self.split, self.join = nn.PixelUnshuffle(2), nn.PixelShuffle(2)

    @classmethod
    def matching(cls, tensors: Mapping[str, Tensor]) -> FFDNet | None:
        """Return a network of the size of these tensors, or None if they are not an FFDNet's."""
        convolutions = chain_of_convolutions(tensors)
        if len(convolutions) < 2 or convolutions[0].shape[1] != convolutions[-1].shape[0] + 1:
            return None
        width, inputs = convolutions[0].shape[:2]
        if inputs % 4 != 1:
            return None
        return cls(channels=inputs // 4, width=width, depth=len(convolutions))

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        """Return the clean image; height and width are even."""
        small = self.split(x)
        level = sigma.expand(len(small), 1, *small.shape[2:])
        return self.join(self.model(cat([small, level], dim=1)))
