"""The network as a PyTorch module: for training, and for those who work in PyTorch anyway."""

from __future__ import annotations

import torch
from torch import Tensor, cat, nn

from plugplay.denoisers.net.denoiser import MIDDLE, MULTIPLE, strength
from plugplay.denoisers.net.opponent import OPPONENT
from plugplay.denoisers.net.runtime import WEIGHTS

__all__ = ["BLOCKS", "BOUND", "WIDTHS", "Network", "TorchNet"]

WIDTHS = (48, 96, 128)
BLOCKS = (1, 1, 2)
# No pixel of luminance or chrominance moves by more than this many standard deviations of the noise.
BOUND = 4.0


class Block(nn.Module):
    """Two convolutions whose result is added to their input; a new block is the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        nn.init.zeros_(self.second.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum."""
        return x + self.second(self.first(x).relu())


class Network(nn.Module):
    r"""Estimate the noise in one luminance and two chrominances, in units of its standard deviation.

    A U-shaped network of residual blocks at a half, a quarter and an eighth of the resolution, without biases:

    .. math:: n = L \tanh(f(x / \sigma, s) / L), \qquad D_\sigma(x) = x - \sigma n, \qquad L = 4.

    Dividing by sigma makes the denoiser equivariant to scale, :math:`D_{a\sigma}(a x) = a D_\sigma(x)`, and the
    hyperbolic tangent makes it bounded, :math:`|D_\sigma(x) - x| \le L \sigma`, whatever the weights.

    Its input is ``(N, 3, H, W)``, luminance and chrominances in an orthonormal basis, centred on zero and divided by
    sigma, with H and W multiples of 8; and the switches s, ``(N, 2, 1, 1)``: 1 where luminance and chrominance have
    noise, 0 where not. A gray image has chrominance zero without noise. Its output is n.

    Examples
    --------
    >>> import torch
    >>> Network()(torch.zeros(1, 3, 16, 24), torch.ones(1, 2, 1, 1)).shape
    torch.Size([1, 3, 16, 24])
    """

    def __init__(self) -> None:
        super().__init__()
        fine, middle, coarse = WIDTHS
        self.head = nn.Conv2d(12 + 2, fine, 3, padding=1, bias=False)
        self.down_fine = _blocks(fine, BLOCKS[0])
        self.halve_fine = nn.Conv2d(fine, middle, 2, stride=2, bias=False)
        self.down_middle = _blocks(middle, BLOCKS[1])
        self.halve_middle = nn.Conv2d(middle, coarse, 2, stride=2, bias=False)
        self.bottom = _blocks(coarse, BLOCKS[2])
        self.double_middle = nn.Conv2d(coarse, 4 * middle, 1, bias=False)
        self.up_middle = _blocks(middle, BLOCKS[1])
        self.double_fine = nn.Conv2d(middle, 4 * fine, 1, bias=False)
        self.up_fine = _blocks(fine, BLOCKS[0])
        self.tail = nn.Conv2d(fine, 12, 3, padding=1, bias=False)
        nn.init.zeros_(self.tail.weight)

    def forward(self, image: Tensor, switches: Tensor) -> Tensor:
        """Return the noise in units of its standard deviation."""
        return self.body(self.features(image, switches))

    def features(self, image: Tensor, switches: Tensor) -> Tensor:
        """Return what the first layer makes of the image; training computes it in single precision."""
        small = packed(image)
        maps = switches.expand(small.shape[0], 2, small.shape[2], small.shape[3])
        found: Tensor = self.head(cat([small, maps], dim=1))
        return found

    def body(self, features: Tensor) -> Tensor:
        """Return what all other layers make of it."""
        fine = self.down_fine(features)
        middle = self.down_middle(self.halve_fine(fine))
        coarse = self.bottom(self.halve_middle(middle))
        middle = self.up_middle(middle + unpacked(self.double_middle(coarse)))
        fine = self.up_fine(fine + unpacked(self.double_fine(middle)))
        return BOUND * (unpacked(self.tail(fine)) / BOUND).tanh()


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


def _blocks(width: int, count: int) -> nn.Sequential:
    return nn.Sequential(*(Block(width) for _ in range(count)))


class TorchNet(nn.Module):
    """The denoiser "net" in PyTorch, with the weights that come with plugplay; differentiable, on any device.

    Called with a batch ``(N, C, H, W)`` on the scale [0, 1], where C is 1 or 3, and one sigma.

    Examples
    --------
    >>> TorchNet()(torch.full((1, 1, 13, 9), 0.5), 0.1).shape
    torch.Size([1, 1, 13, 9])
    """

    basis: Tensor

    def __init__(self) -> None:
        super().__init__()
        from safetensors.torch import load_file

        self.network = Network()
        self.network.load_state_dict(load_file(WEIGHTS))
        self.register_buffer("basis", torch.from_numpy(OPPONENT).float(), persistent=False)

    def forward(self, image: Tensor, sigma: float) -> Tensor:
        """Return the image without its noise."""
        if image.ndim != 4 or image.shape[1] not in (1, 3):
            raise ValueError(f"the batch must have the shape (N, 1, H, W) or (N, 3, H, W); got {tuple(image.shape)}")
        gain = sigma * strength(sigma)
        if gain == 0:
            return image
        colour = image.shape[1] == 3
        seen = (image - MIDDLE) / sigma
        planes = torch.einsum("ij,njhw->nihw", self.basis, seen) if colour else nn.functional.pad(seen, (0,) * 5 + (2,))
        rows, columns = image.shape[2:]
        # Edges are repeated, since PyTorch reflects only as far as the image reaches.
        padded = nn.functional.pad(planes, (0, -columns % MULTIPLE, 0, -rows % MULTIPLE), mode="replicate")
        switches = torch.tensor([1.0, float(colour)], device=image.device).reshape(1, 2, 1, 1)
        noise = self.network(padded, switches)[:, :, :rows, :columns]
        noise = torch.einsum("ij,nihw->njhw", self.basis, noise) if colour else noise[:, :1]
        power = noise.square().mean(dim=(1, 2, 3), keepdim=True)
        return image - gain * noise / power.clamp(min=1).sqrt()
