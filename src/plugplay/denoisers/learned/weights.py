"""Reading weights from a local file. Nothing is downloaded, and nothing from a file is ever executed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from plugplay.denoisers.learned.runtime import require

__all__ = ["read_tensors"]

# Under these names training scripts store the tensors next to other things.
WRAPPERS = ("state_dict", "params_ema", "params", "model_state_dict", "net", "model")
# Left by torch.nn.DataParallel.
PREFIX = "module."


def read_tensors(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the tensors in a file of PyTorch (.pth, .pt, ...) or safetensors, by name, as float32.

    Files of PyTorch are pickles, which can run any program when they are loaded. They are read with
    ``weights_only=True``, which knows tensors and plain containers and refuses everything else.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"weights must be the path of a file; got {path!r}")
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no weight file {os.fspath(file)!r}; plugplay downloads nothing: get the file from its authors"
        )
    loaded = _safetensors(file) if file.suffix == ".safetensors" else _pickle(file)
    tensors = _unwrapped(loaded, file)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise ValueError(f"weights {file.name!r}: {name!r} has NaN or infinite values")
    return {name: t.float() if t.is_floating_point() else t for name, t in tensors.items()}


def _safetensors(file: Path) -> Any:
    reader = require("safetensors.torch")
    try:
        return reader.load_file(file, device="cpu")
    except Exception as error:  # a damaged file may fail anywhere
        raise ValueError(f"weights {file.name!r} cannot be read as safetensors: {_one_line(error)}") from None


def _pickle(file: Path) -> Any:
    torch = require("torch")
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or hostile file may fail anywhere
        raise ValueError(
            f"weights {file.name!r} cannot be read: the file is damaged, or holds something other than tensors, "
            f"which is refused because it could run a program ({_one_line(error)})"
        ) from None


def _unwrapped(loaded: Any, file: Path) -> dict[str, Any]:
    torch = require("torch")
    if isinstance(loaded, dict):
        loaded = next((loaded[key] for key in WRAPPERS if isinstance(loaded.get(key), dict)), loaded)
    named = isinstance(loaded, dict) and all(isinstance(name, str) for name in loaded)
    if not named or not loaded or not all(isinstance(value, torch.Tensor) for value in loaded.values()):
        raise ValueError(
            f"weights {file.name!r} hold {_described(loaded)}; a state dict is needed, that is tensors by name "
            "(save it with torch.save(net.state_dict(), path))"
        )
    return {name.removeprefix(PREFIX): tensor for name, tensor in loaded.items()}


def _described(loaded: Any) -> str:
    if isinstance(loaded, dict):
        first = ", ".join(repr(key) for key in list(loaded)[:3])
        return f"a dict with {len(loaded)} entries ({first})" if loaded else "an empty dict"
    return f"a {type(loaded).__name__}"


def _one_line(error: Exception) -> str:
    """Return the start of a message; PyTorch's go on for paragraphs."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:200] + " ..."
