"""The network as a PyTorch module: for training, and for those who work in PyTorch anyway."""

from __future__ import annotations

import torch
from torch import Tensor, cat, nn

from plugplay.denoisers.net.facts import BLOCKS, BOUND, SMOOTHING, WEIGHTS, WIDTH, level_of, strength
from plugplay.denoisers.net.opponent import OPPONENT

__all__ = ["Network", "TorchNet", "detail_of"]


class Block(nn.Module):
    """Two convolutions whose result is added to their input; a new block is the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum."""
        return x + self.second(self.first(x).relu())


class Network(nn.Module):
    r"""Estimate what BM3D has missed in one luminance and two chrominances, in units of the noise.

    With the noisy image y, BM3D's estimate b of it, and its local mean m,

    .. math::

        c = L \tanh\bigl(f\bigl((y - b) / \sigma,\ \operatorname{asinh}((b - m) / \sigma),\ s\bigr) / L\bigr),
        \qquad D_\sigma(y) = b + \sigma c, \qquad L = 2,

    where f is a chain of residual blocks of 3x3 convolutions at half the resolution. The hyperbolic tangent bounds the
    correction, :math:`|D_\sigma(y) - b| \le L \sigma`, whatever the weights; the last layer begins at zero, so that
    training begins at BM3D.

    Its inputs are y - b in units of sigma and b - m in units of sigma, ``(N, 3, H, W)`` in an orthonormal basis, with H
    and W even, and three facts s, ``(N, 3, 1, 1)``: whether the image is coloured, whether BM3D works as it does within
    a restoration, and the noise level. A gray image has chrominances zero. Its output is c.

    Examples
    --------
    >>> import torch
    >>> Network()(torch.zeros(1, 3, 16, 24), torch.zeros(1, 3, 16, 24), torch.zeros(1, 3, 1, 1)).shape
    torch.Size([1, 3, 16, 24])
    """

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Conv2d(24 + 3, WIDTH, 3, padding=1)
        self.body = nn.Sequential(*(Block(WIDTH) for _ in range(BLOCKS)))
        self.tail = nn.Conv2d(WIDTH, 12, 3, padding=1)
        nn.init.zeros_(self.tail.weight)
        nn.init.zeros_(self.tail.bias)

    def forward(self, rest: Tensor, detail: Tensor, facts: Tensor) -> Tensor:
        """Return the correction in units of sigma."""
        small = packed(cat([rest, detail.asinh()], dim=1))
        maps = facts.expand(small.shape[0], 3, small.shape[2], small.shape[3])
        features = self.head(cat([small, maps], dim=1)).relu()
        return BOUND * (unpacked(self.tail(self.body(features))) / BOUND).tanh()


def packed(x: Tensor) -> Tensor:
    """Make channels of the four pixels of every 2 x 2 square, in the order of SpaceToDepth in ONNX."""
    count, channels, height, width = x.shape
    squares = x.reshape(count, channels, height // 2, 2, width // 2, 2)
    return squares.permute(0, 3, 5, 1, 2, 4).reshape(count, 4 * channels, height // 2, width // 2)


def unpacked(x: Tensor) -> Tensor:
    """Undo `packed`, as DepthToSpace in ONNX."""
    count, channels, height, width = x.shape
    squares = x.reshape(count, 2, 2, channels // 4, height, width)
    return squares.permute(0, 3, 4, 1, 5, 2).reshape(count, channels // 4, 2 * height, 2 * width)


def detail_of(pilot: Tensor) -> Tensor:
    """Return the pilot minus its mean over 5 x 5 pixels, of those that are within the image."""
    mean = nn.functional.avg_pool2d(pilot, SMOOTHING, 1, SMOOTHING // 2, count_include_pad=False)
    return pilot - mean


class TorchNet(nn.Module):
    """The correction of the denoiser "net" in PyTorch, with the weights that come with plugplay; on any device.

    Called with the noisy batch and BM3D's estimate of it, both ``(N, C, H, W)`` on the scale [0, 1], where C is 1 or 3,
    and one sigma; differentiable in both.

    Parameters
    ----------
    restoration : bool
        Whether the estimate is that of BM3D within a restoration, ``BM3D(purpose="restoration")``, instead of
        ``BM3D(stages=3)``.

    Examples
    --------
    >>> noisy = torch.full((1, 1, 13, 9), 0.5)
    >>> TorchNet()(noisy, noisy, 0.1).shape
    torch.Size([1, 1, 13, 9])
    """

    basis: Tensor

    def __init__(self, *, restoration: bool = False) -> None:
        super().__init__()
        from safetensors.torch import load_file

        self.restoration = restoration
        self.network = Network()
        self.network.load_state_dict(load_file(WEIGHTS))
        self.register_buffer("basis", torch.from_numpy(OPPONENT).float(), persistent=False)

    def forward(self, noisy: Tensor, pilot: Tensor, sigma: float) -> Tensor:
        """Return the corrected estimate."""
        if noisy.ndim != 4 or noisy.shape[1] not in (1, 3) or noisy.shape != pilot.shape:
            raise ValueError(
                "noisy and pilot must have one shape, (N, 1, H, W) or (N, 3, H, W); "
                f"got {tuple(noisy.shape)} and {tuple(pilot.shape)}"
            )
        gain = sigma * strength(sigma)
        if gain == 0:
            return pilot
        colour = noisy.shape[1] == 3
        rows, columns = noisy.shape[2:]
        even = (0, columns % 2, 0, rows % 2)
        rest, estimate = (
            nn.functional.pad(self._planes(x, colour), even, mode="replicate") for x in (noisy - pilot, pilot)
        )
        facts = torch.tensor([float(colour), float(self.restoration), level_of(sigma)], device=noisy.device)
        found = self.network(rest / sigma, detail_of(estimate) / sigma, facts.reshape(1, 3, 1, 1))[
            :, :, :rows, :columns
        ]
        found = torch.einsum("ij,nihw->njhw", self.basis, found) if colour else found[:, :1]
        return pilot + gain * found

    def _planes(self, x: Tensor, colour: bool) -> Tensor:
        return torch.einsum("ij,njhw->nihw", self.basis, x) if colour else nn.functional.pad(x, (0, 0, 0, 0, 0, 2))
