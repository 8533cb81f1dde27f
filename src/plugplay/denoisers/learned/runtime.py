"""PyTorch, imported only when a learned denoiser is made, and the device it runs on."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["require", "usable_device"]

DEVICES = ("cpu", "cuda", "mps")


def require(module: str) -> Any:
    """Import a module of the extra ``[torch]``, or say how to install it.

    Examples
    --------
    >>> require("nosuchmodule")
    Traceback (most recent call last):
    ImportError: learned denoisers need nosuchmodule, which is not installed: pip install 'plugplay[torch]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Something missing inside an installed PyTorch is another problem, with its own message.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ImportError(
            f"learned denoisers need {error.name}, which is not installed: pip install 'plugplay[torch]'"
        ) from None


def usable_device(device: str) -> Any:
    """Return the ``torch.device``, if this machine has it."""
    torch = require("torch")
    if not isinstance(device, str):
        raise TypeError(f"device must be a string such as {', '.join(map(repr, DEVICES))}; got {device!r}")
    kind, _, index = device.partition(":")
    if kind not in DEVICES or not (index.isdecimal() or device == kind):
        raise ValueError(f"device must be one of {', '.join(map(repr, DEVICES))} (or 'cuda:1', ...); got {device!r}")
    available = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}[kind]
    if int(index or 0) >= available:
        raise ValueError(
            f"device {device!r} is not available: PyTorch {torch.__version__} sees {available} {kind} device(s) here. "
            "Use device='cpu', or install the PyTorch that fits your hardware"
        )
    return torch.device(device)
