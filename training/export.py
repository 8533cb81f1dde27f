"""Write what ships: the averaged weights in half precision, and the network's graph for ONNX Runtime.

``python -m training.export`` reads the checkpoint. The weights are stored once, as safetensors; the ONNX file holds the
graph only and points into that file.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper
from safetensors.numpy import save

from plugplay.denoisers.net import facts
from training.train import CHECKPOINT, Trainer

__all__ = ["build_graph", "export", "main"]

FOLDER = facts.FOLDER
WEIGHTS, GRAPH = facts.WEIGHTS.name, facts.GRAPH.name
OPSET, IR_VERSION = 17, 8  # what ONNX Runtime 1.15 and later read


class Graph:
    """The nodes of the network, in the words of the PyTorch module."""

    def __init__(self, weights: dict[str, NDArray[np.float16]]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []

    def node(self, kind: str, *inputs: str, **attributes: int | float | list[int]) -> str:
        """Add a node and return the name of its output."""
        output = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolution(self, name: str, x: str) -> str:
        """Apply ``name.weight`` and ``name.bias``; the size stays."""
        weight, bias = (self.node("Cast", f"{name}.{part}", to=TensorProto.FLOAT) for part in ("weight", "bias"))
        return self.node("Conv", x, weight, bias, kernel_shape=[3, 3], pads=[1] * 4)


def build_graph(weights: dict[str, NDArray[np.float16]]) -> list[onnx.NodeProto]:
    """Return the nodes from ``rest``, ``pilot`` and ``facts`` to ``correction``."""
    graph = Graph(weights)
    margin = [facts.SMOOTHING // 2] * 4
    mean = graph.node("AveragePool", "pilot", kernel_shape=[facts.SMOOTHING] * 2, pads=margin)
    detail = graph.node("Asinh", graph.node("Sub", "pilot", mean))
    small = graph.node("SpaceToDepth", graph.node("Concat", "rest", detail, axis=1), blocksize=2)
    # The facts become planes of the size of the packed image.
    size = graph.node("Shape", small, start=2)
    maps = graph.node("Expand", "facts", graph.node("Concat", "ones", size, axis=0))
    x = graph.node("Relu", graph.convolution("head", graph.node("Concat", small, maps, axis=1)))
    for index in range(facts.BLOCKS):
        inner = graph.node("Relu", graph.convolution(f"body.{index}.first", x))
        x = graph.node("Add", x, graph.convolution(f"body.{index}.second", inner))
    ratio = graph.node("Div", graph.node("DepthToSpace", graph.convolution("tail", x), blocksize=2), "bound")
    last = graph.node("Mul", graph.node("Tanh", ratio), "bound")
    return [*graph.nodes, helper.make_node("Identity", [last], ["correction"])]


def export(tensors: dict[str, torch.Tensor], folder: Path) -> None:
    """Write weights and graph into a folder."""
    weights = {name: tensor.contiguous().numpy().astype(np.float16) for name, tensor in sorted(tensors.items())}
    content = save(weights)
    planes = ["batch", 3, "height", "width"]
    graph = helper.make_graph(
        build_graph(weights),
        "plugplay",
        [
            helper.make_tensor_value_info("rest", TensorProto.FLOAT, planes),
            helper.make_tensor_value_info("pilot", TensorProto.FLOAT, planes),
            helper.make_tensor_value_info("facts", TensorProto.FLOAT, ["batch", 3, 1, 1]),
        ],
        [helper.make_tensor_value_info("correction", TensorProto.FLOAT, planes)],
        [
            helper.make_tensor("ones", TensorProto.INT64, [2], [1, 1]),
            helper.make_tensor("bound", TensorProto.FLOAT, [], [facts.BOUND]),
            *_pointers(content),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    (folder / WEIGHTS).write_bytes(content)
    (folder / GRAPH).write_bytes(model.SerializeToString())
    onnx.checker.check_model(folder / GRAPH)


def _pointers(content: bytes) -> list[onnx.TensorProto]:
    """Return tensors without values that say where in the safetensors file the values are."""
    length = int.from_bytes(content[:8], "little")
    pointers = []
    for name, entry in json.loads(content[8 : 8 + length]).items():
        begin, end = entry["data_offsets"]
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT16, dims=entry["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", WEIGHTS), ("offset", 8 + length + begin), ("length", end - begin)):
            tensor.external_data.add(key=key, value=str(value))
        pointers.append(tensor)
    return pointers


def main() -> None:
    """Export the checkpoint's averaged weights."""
    trainer = Trainer.new(0)
    trainer.restore(CHECKPOINT)
    export(trainer.average.state_dict(), FOLDER)
    size = sum((FOLDER / name).stat().st_size for name in (WEIGHTS, GRAPH))
    print(f"step {trainer.step}: {size / 1e3:.0f} kB in {FOLDER}")


if __name__ == "__main__":
    main()
