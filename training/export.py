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

from plugplay.denoisers.net import module
from training.train import CHECKPOINT, Trainer

__all__ = ["build_graph", "export", "main"]

FOLDER = Path(module.__file__).parent
WEIGHTS, GRAPH = "weights.safetensors", "graph.onnx"
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
        """Apply ``name.weight``: with a 3 x 3 kernel the size stays, with 2 x 2 it is halved."""
        size = self.weights[f"{name}.weight"].shape[-1]
        weight = self.node("Cast", f"{name}.weight", to=TensorProto.FLOAT)
        margin, stride = (1, 1) if size == 3 else (0, size)
        return self.node("Conv", x, weight, kernel_shape=[size] * 2, pads=[margin] * 4, strides=[stride] * 2)

    def blocks(self, name: str, count: int, x: str) -> str:
        """Apply residual blocks."""
        for index in range(count):
            inner = self.node("Relu", self.convolution(f"{name}.{index}.first", x))
            x = self.node("Add", x, self.convolution(f"{name}.{index}.second", inner))
        return x

    def doubled(self, name: str, x: str) -> str:
        """Double the resolution."""
        return self.node("DepthToSpace", self.convolution(name, x), blocksize=2)


def build_graph(weights: dict[str, NDArray[np.float16]]) -> list[onnx.NodeProto]:
    """Return the nodes from ``image`` and ``switches`` to ``noise``."""
    graph = Graph(weights)
    fine_blocks, middle_blocks, coarse_blocks = module.BLOCKS
    small = graph.node("SpaceToDepth", "image", blocksize=2)
    # The switches become two planes of the size of the packed image.
    size = graph.node("Shape", small, start=2)
    maps = graph.node("Expand", "switches", graph.node("Concat", "ones", size, axis=0))
    features = graph.convolution("head", graph.node("Concat", small, maps, axis=1))
    fine = graph.blocks("down_fine", fine_blocks, features)
    middle = graph.blocks("down_middle", middle_blocks, graph.convolution("halve_fine", fine))
    coarse = graph.blocks("bottom", coarse_blocks, graph.convolution("halve_middle", middle))
    middle = graph.blocks("up_middle", middle_blocks, graph.node("Add", middle, graph.doubled("double_middle", coarse)))
    fine = graph.blocks("up_fine", fine_blocks, graph.node("Add", fine, graph.doubled("double_fine", middle)))
    ratio = graph.node("Div", graph.doubled("tail", fine), "bound")
    last = graph.node("Mul", graph.node("Tanh", ratio), "bound")
    return [*graph.nodes, helper.make_node("Identity", [last], ["noise"])]


def export(tensors: dict[str, torch.Tensor], folder: Path) -> None:
    """Write weights and graph into a folder."""
    weights = {name: tensor.contiguous().numpy().astype(np.float16) for name, tensor in sorted(tensors.items())}
    content = save(weights)
    planes = ["batch", 3, "height", "width"]
    graph = helper.make_graph(
        build_graph(weights),
        "plugplay",
        [
            helper.make_tensor_value_info("image", TensorProto.FLOAT, planes),
            helper.make_tensor_value_info("switches", TensorProto.FLOAT, ["batch", 2, 1, 1]),
        ],
        [helper.make_tensor_value_info("noise", TensorProto.FLOAT, planes)],
        [
            helper.make_tensor("ones", TensorProto.INT64, [2], [1, 1]),
            helper.make_tensor("bound", TensorProto.FLOAT, [], [module.BOUND]),
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
    print(f"step {trainer.step}: {size / 1e6:.2f} MB in {FOLDER}")


if __name__ == "__main__":
    main()
