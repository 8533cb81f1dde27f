"""ONNX Runtime, loaded when the network is first used."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plugplay.denoisers.net.facts import GRAPH

__all__ = ["correction"]


def correction(
    rest: NDArray[np.float32], pilot: NDArray[np.float32], facts: tuple[float, float, float], *, workers: int
) -> NDArray[np.float32]:
    """Return what the network adds to the pilot, ``(3, H, W)`` in units of sigma, as its inputs are."""
    told = np.array(facts, np.float32).reshape(1, 3, 1, 1)
    inputs = {"rest": rest[np.newaxis], "pilot": pilot[np.newaxis], "facts": told}
    (found,) = _loaded(workers).run(["correction"], inputs)
    planes: NDArray[np.float32] = found[0]
    return planes


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
