"""DRUNet (Zhang et al., "Plug-and-Play image restoration with deep denoiser prior", 2021): a residual U-Net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

__all__ = ["DRUNet"]


class DRUNet(nn.Module):
    """Four scales of residual blocks without biases; the input's last channel is a map of the noise level.

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

    @classmethod
    def matching(cls, tensors: Mapping[str, Tensor]) -> DRUNet | None:
        """Return a network of the size of these tensors, or None if they are not a DRUNet's."""
        # Whatever has a head and a body of residual blocks is compared with a DRUNet, tensor by tensor.
        head, tail = tensors.get("m_head.weight"), tensors.get("m_tail.weight")
        blocks = sum(1 for name in tensors if name.startswith("m_body.") and name.endswith(".res.0.weight"))
        strided = [tensors.get(f"m_down{scale}.{blocks}.weight") for scale in (1, 2, 3)]
        found = [t for t in (head, tail, *strided) if t is not None and t.ndim == 4]
        if len(found) < 5 or blocks == 0:
            return None
        widths = [found[0].shape[0], *(t.shape[0] for t in found[2:])]
        return cls(channels=found[1].shape[0], widths=widths, blocks=blocks)

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
