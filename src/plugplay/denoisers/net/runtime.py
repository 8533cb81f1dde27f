"""ONNX Runtime, loaded when the network is first used."""

from __future__ import annotations

import importlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GRAPH", "WEIGHTS", "noise_in"]

FOLDER = Path(__file__).parent
# The graph points into the weights, which PyTorch reads as well.
GRAPH, WEIGHTS = FOLDER / "graph.onnx", FOLDER / "weights.safetensors"


def noise_in(image: NDArray[np.float32], *, colour: bool, workers: int) -> NDArray[np.float32]:
    """Return the noise that the network sees in ``(3, H, W)``, luminance and chrominances in units of sigma."""
    switches = np.array([1, colour], np.float32).reshape(1, 2, 1, 1)
    (noise,) = _loaded(workers).run(["noise"], {"image": image[np.newaxis], "switches": switches})
    found: NDArray[np.float32] = noise[0]
    return found


# Reading the graph takes longer than denoising a small image; what is kept is never changed.
@lru_cache(maxsize=4)
def _loaded(workers: int) -> Any:
    try:
        runtime = importlib.import_module("onnxruntime")
    except ModuleNotFoundError as error:
        if error.name != "onnxruntime":
            raise
        raise ValueError(
            "the denoiser 'net' needs ONNX Runtime, which is not installed: pip install 'plugplay[net]'"
        ) from None
    options = runtime.SessionOptions()
    options.intra_op_num_threads = workers
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    # Threads that have nothing to do sleep: between two calls, a restoration has other work for the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Without an arena, memory is returned after every call.
    options.enable_cpu_mem_arena = False
    return runtime.InferenceSession(GRAPH, options, providers=["CPUExecutionProvider"])
