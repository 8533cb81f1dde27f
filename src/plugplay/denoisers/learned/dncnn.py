"""DnCNN (Zhang et al., "Beyond a Gaussian denoiser", 2017): a chain of convolutions that predicts the noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from plugplay.denoisers.learned.layout import chain_of_convolutions

__all__ = ["DnCNN"]

# The published networks were trained with this and not with PyTorch's default; tensors do not tell.
NORM_EPS = 1e-4


class DnCNN(nn.Module):
    """The image minus the noise found by `depth` convolutions of 3 x 3.

    Parameters
    ----------
    channels : int
        1 for gray, 3 for colour.
    width : int
        Channels of the hidden layers.
    depth : int
        Number of convolutions: 17 in the networks for one noise level, 20 in the blind ones.
    norm : bool
        Batch normalisation after the inner convolutions; published files have it merged into them.
    bias : bool
        Whether the convolutions have biases.
    """

    title = "DnCNN"

    def __init__(self, *, channels: int, width: int, depth: int, norm: bool = False, bias: bool = True) -> None:
        super().__init__()
        self.channels, self.reach, self.multiple = channels, depth, 1
        layers: list[Any] = [nn.Conv2d(channels, width, 3, padding=1, bias=bias), nn.ReLU()]
        for _ in range(depth - 2):
            layers.append(nn.Conv2d(width, width, 3, padding=1, bias=bias))
            if norm:
                layers.append(nn.BatchNorm2d(width, eps=NORM_EPS))
            layers.append(nn.ReLU())
        layers.append(nn.Conv2d(width, channels, 3, padding=1, bias=bias))
        self.model = nn.Sequential(*layers)

    @classmethod
    def matching(cls, tensors: Mapping[str, Tensor]) -> DnCNN | None:
        """Return a network of the size of these tensors, or None if they are not a DnCNN's."""
        convolutions = chain_of_convolutions(tensors)
        if len(convolutions) < 2 or convolutions[0].shape[1] != convolutions[-1].shape[0]:
            return None
        width, channels = convolutions[0].shape[:2]
        return cls(
            channels=channels,
            width=width,
            depth=len(convolutions),
            norm=any(name.endswith(".running_mean") for name in tensors),
            bias="model.0.bias" in tensors,
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the clean image."""
        return x - self.model(x)
