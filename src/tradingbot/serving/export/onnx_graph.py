"""ONNX graphs written node by node: the same weights give the same bytes.

A tracing exporter would write its own version, its source lines and its choice of operators into
the file; written by hand, a graph holds only what `serving.onnx_rules` allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from tradingbot.serving.graph_contract import BATCH, OPSET

_IR_VERSION = 10
_TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL}


class OnnxGraph:
    """Nodes of one graph in the order in which they were added; values are named by strings.

    Example:
        >>> graph = OnnxGraph("double")
        >>> row = graph.add_input("row", (3,))
        >>> graph.add_output("twice", graph.apply("Add", row, row), (3,))
        >>> len(graph.to_bytes()) > 0
        True
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._tensors: list[onnx.TensorProto] = []

    def add_input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> str:
        """Declare an input (B, *shape) of a batch of any size."""
        self._inputs.append(_declared(name, shape, dtype))
        return name

    def add_output(
        self, name: str, value: str, shape: tuple[int, ...], dtype: str = "float32"
    ) -> None:
        """Give a value (B, *shape) the name of an output."""
        self._nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self._outputs.append(_declared(name, shape, dtype))

    def constant(self, value: Any, dtype: str = "float32") -> str:
        """Keep numbers or a tensor as part of the model; equal ones are kept once."""
        array = _as_array(value, dtype)
        key = (dtype, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            self._constants[key] = name
            self._tensors.append(numpy_helper.from_array(array, name))
        return self._constants[key]

    def apply(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output and return the name of that."""
        return self.split(operator, 1, *inputs, **attributes)[0]

    def split(self, operator: str, n_outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node of several outputs and return their names."""
        number = len(self._nodes)
        outputs = [f"value_{number}_{place}" for place in range(n_outputs)]
        name = f"{operator}_{number}"
        self._nodes.append(helper.make_node(operator, inputs, outputs, name=name, **attributes))
        return outputs

    def linear(self, value: str, layer: nn.Linear) -> str:
        """Return `layer` of a value (…, I)."""
        product = self.apply("MatMul", value, self.constant(layer.weight.t()))
        return self.apply("Add", product, self.constant(layer.bias))

    def layer_norm(self, value: str, norm: nn.LayerNorm) -> str:
        """Return `norm` of a value (…, D)."""
        weights = self.constant(norm.weight), self.constant(norm.bias)
        return self.apply("LayerNormalization", value, *weights, axis=-1, epsilon=norm.eps)

    def reshape(self, value: str, *shape: int) -> str:
        """Return a value in another shape; 0 keeps an axis, −1 is what remains."""
        return self.apply("Reshape", value, self.constant(shape, "int64"))

    def slice(self, value: str, axis: int, start: int, stop: int) -> str:
        """Return places start … stop − 1 of an axis."""
        bounds = (self.constant([each], "int64") for each in (start, stop, axis))
        return self.apply("Slice", value, *bounds)

    def unsqueeze(self, value: str, *axes: int) -> str:
        """Return a value with axes of length 1 more."""
        return self.apply("Unsqueeze", value, self.constant(axes, "int64"))

    def squeeze(self, value: str, *axes: int) -> str:
        """Return a value without axes of length 1."""
        return self.apply("Squeeze", value, self.constant(axes, "int64"))

    def known_bars(self, known: str, n_bars: int) -> str:
        """Return which bars of a window exist, (B, W) bool, of the counts (B,) of those that do."""
        age = self.constant([[*range(n_bars - 1, -1, -1)]], "int64")
        return self.apply("Greater", self.unsqueeze(known, 1), age)

    def to_bytes(self) -> bytes:
        """Return the file of the model."""
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, self._tensors
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version, model.producer_name = _IR_VERSION, "tradingbot"
        data: bytes = model.SerializeToString(deterministic=True)
        return data


def _declared(name: str, shape: tuple[int, ...], dtype: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, _TYPES[dtype], [BATCH, *shape])


def _as_array(value: Any, dtype: str) -> NDArray[Any]:
    plain = value.detach().numpy() if isinstance(value, Tensor) else value
    return np.ascontiguousarray(plain, dtype=dtype).reshape(np.shape(plain))
