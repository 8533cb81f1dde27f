r"""Which network a file holds: found by the tensors, their shapes and which of them there are.

Chains of convolutions are published in several layouts, which all become the one of `networks`:

* ``model.N`` (KAIR): biases, batch normalisation merged into the convolutions;
* ``dncnn.N``, with or without ``module.`` before it: no biases, batch normalisation with running statistics, or none
  in the networks of four layers;
* ``in_conv``, ``conv_list.N``, ``out_conv`` (DeepInverse): what is found is added to the image, not subtracted;
* ``intermediate_dncnn.itermediate_dncnn.N`` (FFDNet of IPOL): no biases, batch normalisation, a map of the noise level
  for each channel of the image, all of them before the image, and what is found is the noise.

Any other name before N will do. In evaluation mode batch normalisation is an affine map of each channel,
:math:`\gamma (h - \mu) / \sqrt{s^2 + \epsilon} + \beta`, and is merged into the convolution before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from torch import Tensor, cat, nn, no_grad, ones, zeros

from plugplay.denoisers.learned.networks import DnCNN, DRUNet, FFDNet

__all__ = ["UnknownLayoutError", "network_of"]

ACCEPTED = (
    "a DnCNN (convolutions of 3 x 3 in a chain, C channels in and out), an FFDNet (the same with 4 C + 1 or 5 C "
    "channels in and 4 C out), both with or without biases and batch normalisation, and a DRUNet (m_head, m_down1 to "
    "m_tail)"
)
_NUMBERED = re.compile(r"((?:.*\.)?)(\d+)")
_CONVOLUTION = {"weight", "bias"}
_NORM = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
# What is added to the variances in batch normalisation, which tensors do not tell: PyTorch's default, which networks
# without biases are trained with, and that of the authors of DnCNN, whose networks have biases.
_EPS, _AUTHORS_EPS = 1e-5, 1e-4


class UnknownLayoutError(ValueError):
    """The tensors are not those of a network that is known; the message says why, as the end of a sentence."""


def network_of(tensors: Mapping[str, Tensor], *, norm_eps: float | None = None) -> Any:
    """Return the network that these tensors belong to, filled with them."""
    if any(name.startswith("m_head.") for name in tensors):
        return _drunet(tensors)
    found = _Chain.read(tensors, norm_eps)
    inputs, outputs = found.widths[0], found.widths[-1]
    channels, maps = outputs // 4, inputs - outputs
    if maps == 0:
        sign = -1 if found.adds else 1
        return found.fill(DnCNN(found.widths), last=sign)
    if outputs % 4 == 0 and maps == channels and (channels > 1 or found.is_of_ipol):
        # Equal maps of the noise level count as one, the sum of their kernels, and it comes last.
        first = found.kernels[0]
        kernel = cat([first[:, channels:], first[:, :channels].sum(dim=1, keepdim=True)], dim=1)
        net = FFDNet((outputs + 1, *found.widths[1:]), finds_noise=True)
        return _Chain(kernels=[kernel, *found.kernels[1:]], biases=found.biases).fill(net)
    if outputs % 4 == 0 and maps == 1:
        return found.fill(FFDNet(found.widths))
    raise UnknownLayoutError(f"a chain of convolutions with {inputs} channels in and {outputs} out is not known")


@dataclass(frozen=True, eq=False, kw_only=True)
class _Chain:
    """Convolutions of 3 x 3 with ReLUs between them, batch normalisation merged into them."""

    kernels: list[Tensor]
    biases: list[Tensor]
    adds: bool = False
    is_of_ipol: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels before, between and after the convolutions."""
        return (self.kernels[0].shape[1], *(kernel.shape[0] for kernel in self.kernels))

    @classmethod
    def read(cls, tensors: Mapping[str, Tensor], norm_eps: float | None) -> _Chain:
        """Find the chain among the tensors, or raise."""
        modules: dict[str, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            path, _, kind = name.rpartition(".")
            modules.setdefault(path, {})[kind] = tensor
        places = _places(modules)
        layers = _layers(modules, places)
        biased = "bias" in layers[0].convolution
        eps = norm_eps if norm_eps is not None else _AUTHORS_EPS if biased else _EPS
        merged = [_merged(layer, eps) for layer in layers]
        return cls(
            kernels=[kernel for kernel, _ in merged],
            biases=[bias for _, bias in merged],
            adds="in_conv" in modules,
            # With one channel, shapes are those of KAIR's FFDNet, which always has biases.
            is_of_ipol=not biased or "intermediate_dncnn" in places[0][1],
        )

    def fill(self, net: Any, *, last: int = 1) -> Any:
        """Return `net` with these tensors in its chain; the last convolution is multiplied by `last`."""
        convolutions = [layer for layer in net.model if isinstance(layer, nn.Conv2d)]
        with no_grad():
            for layer, kernel, bias in zip(convolutions, self.kernels, self.biases, strict=True):
                layer.weight.copy_(kernel)
                layer.bias.copy_(bias)
            convolutions[-1].weight.mul_(last)
            convolutions[-1].bias.mul_(last)
        return net


@dataclass(frozen=True, eq=False)
class _Layer:
    """A convolution and its batch normalisation, if any."""

    place: int
    name: str
    convolution: Mapping[str, Tensor]
    norm: Mapping[str, Tensor] | None = None

    @property
    def end(self) -> int:
        """The place of the last of them."""
        return self.place if self.norm is None else self.place + 1


def _layers(modules: Mapping[str, Mapping[str, Tensor]], places: list[tuple[int, str]]) -> list[_Layer]:
    """Return the convolutions of a chain, or raise if the modules are not one."""
    layers: list[_Layer] = []
    for place, name in places:
        module = modules[name]
        if _is_convolution(module):
            layers.append(_Layer(place, name, module))
        elif layers and layers[-1].norm is None and place == layers[-1].place + 1 and "running_mean" in module:
            _check_norm(name, module, len(layers[-1].convolution["weight"]))
            layers.append(replace(layers.pop(), norm=module))
        else:
            shapes = ", ".join(f"{kind} {tuple(tensor.shape)}" for kind, tensor in module.items())
            raise UnknownLayoutError(f"{name!r} ({shapes}) is not a convolution of 3 x 3 or batch normalisation of one")
    if len(layers) < 2 or layers[-1].norm is not None:
        raise UnknownLayoutError("a chain has two convolutions or more, and ends with one")
    for layer, following in pairwise(layers):
        between = f"between {layer.name!r} and {following.name!r}"
        if following.place != layer.end + 2:
            raise UnknownLayoutError(f"one layer without tensors, a ReLU, is expected {between}")
        if following.convolution["weight"].shape[1] != len(layer.convolution["weight"]):
            raise UnknownLayoutError(f"the number of channels changes {between}")
    return layers


def _places(modules: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return the modules in their order, with their places in the chain; layers without tensors have places, too."""
    named = {"in_conv", "out_conv"}
    if named <= set(modules):
        inner = sorted((int(m[2]), path) for path in set(modules) - named if (m := _NUMBERED.fullmatch(path)))
        if len(inner) == len(modules) - len(named) and [number for number, _ in inner] == list(range(len(inner))):
            return [(2 * place, path) for place, path in enumerate(["in_conv", *(p for _, p in inner), "out_conv"])]
    numbered = [(_NUMBERED.fullmatch(path), path) for path in modules]
    stray = next((path for match, path in numbered if match is None), None)
    if stray is not None:
        raise UnknownLayoutError(f"{stray!r} is not a numbered layer of a chain")
    prefixes = sorted({match[1] for match, _ in numbered if match})
    if len(prefixes) > 1:
        raise UnknownLayoutError(f"there are several chains, {prefixes[0]!r} and {prefixes[1]!r}")
    return sorted((int(match[2]), path) for match, path in numbered if match)


def _is_convolution(module: Mapping[str, Tensor]) -> bool:
    kernel, bias = module.get("weight"), module.get("bias")
    if kernel is None or kernel.ndim != 4 or tuple(kernel.shape[2:]) != (3, 3) or set(module) - _CONVOLUTION:
        return False
    return bias is None or tuple(bias.shape) == (kernel.shape[0],)


def _check_norm(path: str, module: Mapping[str, Tensor], width: int) -> None:
    if unknown := set(module) - _NORM:
        raise UnknownLayoutError(f"'{path}.{min(unknown)}' is not known in batch normalisation")
    if "running_var" not in module:
        raise UnknownLayoutError(f"'{path}.running_var' is missing")
    for kind, tensor in module.items():
        if kind != "num_batches_tracked" and tuple(tensor.shape) != (width,):
            raise UnknownLayoutError(f"'{path}.{kind}' has the shape {tuple(tensor.shape)} instead of ({width},)")


def _merged(layer: _Layer, eps: float) -> tuple[Tensor, Tensor]:
    """Return kernel and bias of a convolution that does what this one and its batch normalisation do."""
    kernel, norm = layer.convolution["weight"].double(), layer.norm
    bias = layer.convolution.get("bias", zeros(len(kernel))).double()
    if norm is None:
        return kernel, bias
    mean, variance = norm["running_mean"].double(), norm["running_var"].double()
    scale = norm.get("weight", ones(len(kernel))).double() / (variance + eps).sqrt()
    return kernel * scale[:, None, None, None], norm.get("bias", zeros(len(kernel))).double() + (bias - mean) * scale


def _drunet(tensors: Mapping[str, Tensor]) -> Any:
    """Return a DRUNet of the size of these tensors; whatever has a head is compared with it, tensor by tensor."""
    blocks = sum(1 for name in tensors if name.startswith("m_body.") and name.endswith(".res.0.weight"))
    names = ("m_head.weight", "m_tail.weight", *(f"m_down{scale}.{blocks}.weight" for scale in (1, 2, 3)))
    missing = [name for name in names if name not in tensors or tensors[name].ndim != 4]
    if missing or blocks == 0:
        raise UnknownLayoutError(f"it looks like a DRUNet, but {(missing or ['m_body'])[0]!r} is missing")
    head, tail, *strided = (tensors[name] for name in names)
    net = DRUNet(channels=tail.shape[0], widths=[head.shape[0], *(t.shape[0] for t in strided)], blocks=blocks)
    wrong = list(differences(tensors, net.state_dict()))
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise UnknownLayoutError(f"it looks like a DRUNet, but {'; '.join(wrong[:3])}{more}")
    net.load_state_dict(tensors)
    return net


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """Say in words how the tensors that were found differ, in names and shapes, from those that are wanted."""
    for name in wanted:
        if name not in found:
            yield f"{name!r} is missing"
    for name in found:
        if name not in wanted:
            yield f"{name!r} is not known"
    for name in wanted:
        if name in found and tuple(found[name].shape) != tuple(wanted[name].shape):
            yield f"{name!r} has the shape {tuple(found[name].shape)} instead of {tuple(wanted[name].shape)}"
