"""From a PyTorch module to a denoiser: scale, channels, sizes, tiles and devices."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plugplay.arrays.checks import FloatArray, check_integer, check_number, float_image
from plugplay.denoisers.learned.runtime import require, usable_device

if TYPE_CHECKING:
    from plugplay.denoisers.base import Denoiser, Progress

__all__ = ["TorchDenoiser", "from_torch"]

# The middle of [0, 1]: a rescaled image moves away from it to both sides and stays as near to what the network was
# trained on as it can. Rescaling about 0 would make it darker or brighter than anything the network has seen.
PIVOT = 0.5
# One step of the 8-bit images that networks learn from; they seldom see less noise than that.
MIN_SIGMA = 1 / 255


def from_torch(
    net: Any,
    *,
    takes_sigma: bool | Literal["map"] = True,
    channels: int | None = None,
    noise_level: float | None = None,
    max_sigma: float | None = None,
    min_sigma: float = MIN_SIGMA,
    device: str = "cpu",
    multiple: int = 1,
    tile: int | None = 512,
    overlap: int = 64,
    name: str | None = None,
) -> TorchDenoiser:
    r"""Make a denoiser of a PyTorch module, yours or anyone's.

    The module is called in evaluation mode without gradients on float batches ``(1, C, H, W)`` on the scale [0, 1]
    and must return the same shape. It is copied: yours keeps its training flag, its device and its weights, and
    training it further does not change the denoiser.

    Parameters
    ----------
    net : torch.nn.Module
        The network.
    takes_sigma : bool or "map"
        True: called as ``net(x, sigma)`` with sigma a tensor of the shape ``(1, 1, 1, 1)``. ``"map"``: called as
        ``net(x)`` with a plane filled with sigma appended as the last channel. False: called as ``net(x)``.
    channels : int, optional
        The number of channels the network denoises; None if it takes any. A network for 1 channel treats colour
        channels one by one. A network for 3 channels sees a gray image three times and is told
        :math:`\sqrt 3\,\sigma`, because noise that is the same in three channels is as strong in their mean, which
        is returned, as independent noise of :math:`\sqrt 3\,\sigma`.
    noise_level : float, optional
        Only with ``takes_sigma=False``: the standard deviation s that the network was trained to remove. At another
        sigma its input is rescaled about mid-gray so that the noise becomes s, and its output is scaled back:
        :math:`D_\sigma(x) = \tfrac12 + \tfrac\sigma s \bigl(N\bigl(\tfrac12 + \tfrac s\sigma (x - \tfrac12)\bigr)
        - \tfrac12\bigr)`. None: the network is blind and is called with the image as it is.
    max_sigma : float, optional
        Only for networks that take sigma: the largest they were trained for. Above it, which the first iterations of
        a restoration often are, the input is rescaled by the same rule, with s = `max_sigma`.
    min_sigma : float
        The noise level below which the network no longer improves an image, on the scale [0, 1]; a restoration does
        not go below it. The network is called as it is for smaller sigmas, too. Default 1/255.
    device : str
        ``"cpu"``, ``"cuda"`` or ``"mps"``.
    multiple : int
        Height and width must be multiples of this; images are padded by repeating their edge, and cropped.
    tile : int or None
        Side of the squares into which larger images are cut, which bounds the memory; None: no tiles.
    overlap : int
        Pixels around a tile that are computed and thrown away. From the network's reach (its receptive radius)
        on, tiles change nothing.
    name : str, optional
        For messages and records. Default the module's class name.

    Returns
    -------
    TorchDenoiser
        A callable ``(image, sigma) -> image``; at sigma 0 it returns the image.
    """
    torch = require("torch")
    if not isinstance(net, torch.nn.Module):
        raise TypeError(f"net must be a torch.nn.Module (an object, not its class); got {net!r}")
    if not isinstance(takes_sigma, bool) and takes_sigma != "map":
        raise ValueError(f"takes_sigma must be True, False or 'map'; got {takes_sigma!r}")
    if noise_level is not None and takes_sigma is not False:
        raise ValueError("noise_level is for networks that do not take sigma: give takes_sigma=False with it")
    if max_sigma is not None and takes_sigma is False:
        raise ValueError("max_sigma is for networks that take sigma; for others, noise_level says what they can do")
    try:
        own = copy.deepcopy(net)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise ValueError(f"{type(net).__name__} cannot be copied ({error}); pass net.eval() loaded afresh") from None
    return TorchDenoiser(
        net=own.eval().requires_grad_(False).to(usable_device(device)),
        name=type(net).__name__ if name is None else name,
        takes_sigma=takes_sigma,
        channels=None if channels is None else check_integer(channels, "channels", minimum=1),
        noise_level=None if noise_level is None else check_number(noise_level, "noise_level", above=0),
        max_sigma=None if max_sigma is None else check_number(max_sigma, "max_sigma", above=0),
        min_sigma=check_number(min_sigma, "min_sigma", minimum=0, maximum=1),
        multiple=check_integer(multiple, "multiple", minimum=1),
        tile=None if tile is None else check_integer(tile, "tile", minimum=1),
        overlap=check_integer(overlap, "overlap", minimum=0),
    )


@dataclass(frozen=True, eq=False)
class TorchDenoiser:
    """A network as a denoiser; made by `from_torch`, which says what the fields mean."""

    net: Any
    name: str
    takes_sigma: bool | Literal["map"]
    channels: int | None
    noise_level: float | None
    max_sigma: float | None
    min_sigma: float
    multiple: int
    tile: int | None
    overlap: int

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise."""
        return self._denoise(image, sigma, None)

    def session(self, progress: Progress | None = None) -> Denoiser:
        """Return the same denoiser, which remembers nothing, with a report after every tile."""
        return lambda image, sigma, /: self._denoise(image, sigma, progress)

    def _denoise(self, image: FloatArray, sigma: float, progress: Progress | None) -> FloatArray:
        noisy = float_image(image, "image")
        sigma = check_number(sigma, "sigma", minimum=0)
        if sigma == 0:
            return noisy.copy()
        planes = noisy[np.newaxis] if noisy.ndim == 2 else np.moveaxis(noisy, -1, 0)
        batches, level = self._batches(planes, sigma)
        parts = len(batches) * len(self._tiles(planes))
        done = 0

        def report() -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done / parts)

        clean = np.concatenate([self._rescaled(batch, level, report) for batch in batches])
        if len(clean) != len(planes):
            clean = clean.mean(axis=0, keepdims=True)
        return np.ascontiguousarray(np.moveaxis(clean, 0, -1)).reshape(noisy.shape).astype(noisy.dtype)

    def _batches(self, planes: FloatArray, sigma: float) -> tuple[list[FloatArray], float]:
        """Return the planes in groups of as many channels as the network knows, and the noise in them."""
        if self.channels is None or self.channels == len(planes):
            return [planes], sigma
        if self.channels == 1:
            return [plane[np.newaxis] for plane in planes], sigma
        if len(planes) == 1:
            return [np.repeat(planes, self.channels, axis=0)], math.sqrt(self.channels) * sigma
        raise ValueError(
            f"denoiser {self.name!r} is for images with {self.channels} channels, and the image has {len(planes)}; "
            "a network for gray images treats any number of channels, one by one"
        )

    def _rescaled(self, planes: FloatArray, sigma: float, report: Callable[[], None]) -> FloatArray:
        """Bring the noise to a level that the network was trained for."""
        level = self.noise_level
        if self.max_sigma is not None and sigma > self.max_sigma:
            level = self.max_sigma
        if level is None or level == sigma:
            return self._in_tiles(planes, sigma, report)
        gain = level / sigma
        clean = self._in_tiles(PIVOT + gain * (planes - PIVOT), level, report)
        return PIVOT + (clean - PIVOT) / gain

    def _tiles(self, planes: FloatArray) -> list[Tile]:
        height, width = (round_up(side, self.multiple) for side in planes.shape[1:])
        return list(tiles((height, width), tile=self.tile, overlap=self.overlap, multiple=self.multiple))

    def _in_tiles(self, planes: FloatArray, sigma: float, report: Callable[[], None]) -> FloatArray:
        rows, columns = planes.shape[1:]
        height, width = round_up(rows, self.multiple), round_up(columns, self.multiple)
        padded = np.pad(planes, ((0, 0), (0, height - rows), (0, width - columns)), mode="edge")
        clean = np.empty_like(padded)
        for part in self._tiles(planes):
            window = self._forward(padded[(slice(None), *part.window)], sigma)
            clean[(slice(None), *part.core)] = window[(slice(None), *part.inner)]
            report()
        return clean[:, :rows, :columns]

    def _forward(self, planes: FloatArray, sigma: float) -> FloatArray:
        """Call the network on one window."""
        torch = require("torch")
        kind = next((p for p in self.net.parameters() if p.is_floating_point()), torch.zeros(1))
        x = torch.from_numpy(np.array(planes)).to(kind.dtype).to(kind.device)[None]
        level = torch.full((1, 1, 1, 1), sigma, dtype=kind.dtype, device=kind.device)
        with torch.no_grad():
            if self.takes_sigma == "map":
                clean = self.net(torch.cat([x, level.expand(1, 1, *x.shape[2:])], dim=1))
            else:
                clean = self.net(x, level) if self.takes_sigma else self.net(x)
        if not isinstance(clean, torch.Tensor) or clean.shape != x.shape:
            got = tuple(clean.shape) if isinstance(clean, torch.Tensor) else f"a {type(clean).__name__}"
            raise ValueError(f"network {self.name!r} returned {got} for a batch of shape {tuple(x.shape)}")
        found: FloatArray = clean[0].cpu().double().numpy()
        return found


@dataclass(frozen=True)
class Tile:
    """A rectangle of the result, and the larger one that has to be computed for it.

    Attributes
    ----------
    core : (slice, slice)
        What is kept, in coordinates of the image.
    window : (slice, slice)
        What the network sees, in coordinates of the image.
    inner : (slice, slice)
        The core in coordinates of the window.
    """

    core: tuple[slice, slice]
    window: tuple[slice, slice]
    inner: tuple[slice, slice]


def round_up(value: int, multiple: int) -> int:
    """Return the smallest multiple that is at least `value`.

    Examples
    --------
    >>> round_up(13, 8), round_up(16, 8)
    (16, 16)
    """
    return -(-value // multiple) * multiple


def tiles(shape: tuple[int, int], *, tile: int | None, overlap: int, multiple: int) -> Iterator[Tile]:
    """Cut a plane whose sides are multiples of `multiple` into cores of `tile` pixels with `overlap` around them.

    A window ends where the image ends, so that a network pads exactly where it would without tiles; all its edges
    lie on multiples, so that layers that change the resolution see the same grid. If the overlap is at least the
    network's reach, the result is the same as without tiles.

    Examples
    --------
    >>> [(t.core[1], t.window[1]) for t in tiles((4, 12), tile=8, overlap=2, multiple=4)]
    [(slice(0, 8, None), slice(0, 12, None)), (slice(8, 12, None), slice(4, 12, None))]
    """
    side = max(shape) if tile is None else round_up(tile, multiple)
    margin = round_up(overlap, multiple)
    for top in range(0, shape[0], side):
        for left in range(0, shape[1], side):
            rows, columns = (_spans(start, side, margin, end) for start, end in ((top, shape[0]), (left, shape[1])))
            core, window, inner = zip(rows, columns, strict=True)
            yield Tile(core, window, inner)


def _spans(start: int, side: int, margin: int, end: int) -> tuple[slice, slice, slice]:
    stop = min(start + side, end)
    first = max(start - margin, 0)
    return slice(start, stop), slice(first, min(stop + margin, end)), slice(start - first, stop - first)
