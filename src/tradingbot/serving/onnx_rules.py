"""What an ONNX file must be before ONNX Runtime sees it: few operators, no file but itself.

A file is parsed as a message, never run, until every rule holds. Rules: sizes, one operator set,
operators of a list (no control flow, nothing that makes a tensor out of a number), tensors whose
bytes are all there, inputs and outputs as the bundle declares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tradingbot.domain.errors import MissingExtraError, StorageError
from tradingbot.serving.graph_contract import BATCH, OPSET, Port

if TYPE_CHECKING:
    import onnx

try:
    from google.protobuf.message import DecodeError
    from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper
except ImportError as e:
    raise MissingExtraError("serve", package="onnx") from e

MAX_MODEL_BYTES = 512_000_000
_MAX_NODES = 20_000
ALLOWED_OPERATORS = frozenset(
    {
        *("Abs", "Add", "ArgMax", "Cast", "Concat", "Div", "Erf", "Exp", "Gather", "Gelu"),
        *("Greater", "GreaterOrEqual", "Identity", "LayerNormalization", "Less", "MatMul", "Max"),
        *("Min", "Mul", "ReduceMax", "Relu", "Reshape", "Round", "Sigmoid", "Slice", "Softmax"),
        *("Split", "Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze", "Where"),
    }
)
_PLAIN_ATTRIBUTES = frozenset({AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT})
_ELEMENTS: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.INT64: "int64",
    TensorProto.BOOL: "bool",
}


def check_model(
    data: bytes, inputs: Sequence[Port], outputs: Sequence[Port], *, where: str
) -> None:
    """Refuse a model that breaks a rule.

    Args:
        data: The file.
        inputs: What it must take, in order.
        outputs: What it must give.
        where: The file's name, for messages.

    Raises:
        StorageError: Naming the rule; nothing was run.
    """
    if len(data) > MAX_MODEL_BYTES:
        _refuse(f"a model must have at most {MAX_MODEL_BYTES:,} bytes", f"{len(data):,}", where)
    try:
        model = ModelProto.FromString(data)
    except DecodeError:
        _refuse("a model must be an ONNX file", "no such message", where)
    _check_model_fields(model, where)
    for node in model.graph.node:
        _check_node(node, where)
    for tensor in model.graph.initializer:
        _check_tensor(tensor, where)
    _check_ports("inputs", model.graph.input, inputs, where)
    _check_ports("outputs", model.graph.output, outputs, where)


def _check_model_fields(model: onnx.ModelProto, where: str) -> None:
    opsets = [(each.domain, each.version) for each in model.opset_import]
    if opsets != [("", OPSET)]:
        _refuse(f"a model must use operator set {OPSET} and no other", opsets, where)
    odd = {
        "functions": model.functions,
        "training steps": model.training_info,
        "sparse tensors": model.graph.sparse_initializer,
        "quantised tensors": model.graph.quantization_annotation,
    }
    for name, entries in odd.items():
        if entries:
            _refuse(f"a model must have no {name}", len(entries), where)
    if not 0 < len(model.graph.node) <= _MAX_NODES:
        _refuse(f"a model must have 1 … {_MAX_NODES:,} nodes", len(model.graph.node), where)


def _check_node(node: onnx.NodeProto, where: str) -> None:
    if node.domain or node.op_type not in ALLOWED_OPERATORS:
        was = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        _refuse("operators of a model must be on the list of those allowed", was[:80], where)
    for attribute in node.attribute:
        if attribute.type not in _PLAIN_ATTRIBUTES or attribute.ref_attr_name:
            was = f"{attribute.name[:40]} of {node.op_type}"
            _refuse("attributes of a model must be whole numbers or a fraction", was, where)


def _check_tensor(tensor: onnx.TensorProto, where: str) -> None:
    """Refuse a tensor that lies elsewhere, or whose bytes are not those that it declares."""
    name = tensor.name[:40]
    if tensor.external_data or tensor.data_location != TensorProto.DEFAULT:
        _refuse("a model must hold its tensors itself", f"{name} in another file", where)
    element = _ELEMENTS.get(tensor.data_type)
    if element is None:
        _refuse("tensors must be float32, int64 or bool", f"{name}: {tensor.data_type}", where)
    declared = np.dtype(element).itemsize
    for length in tensor.dims:
        declared *= length  # Python's integers do not overflow
    if len(tensor.raw_data) != declared or min(tensor.dims, default=0) < 0:
        was = f"{name}: {declared:,} bytes declared, {len(tensor.raw_data):,} there"
        _refuse("a tensor must have the bytes that it declares", was, where)
    if element == "float32" and not np.isfinite(numpy_helper.to_array(tensor)).all():
        _refuse("weights must be finite", f"NaN or infinity in {name}", where)


def _check_ports(word: str, found: Any, wanted: Sequence[Port], where: str) -> None:
    ports = [_read_port(each) for each in found]
    if ports != [*wanted]:
        odd = next((each for each in ports if each not in wanted), None)
        was = str(tuple(odd)) if odd is not None else [each.name for each in ports]
        _refuse(f"{word} of a model must be those that its bundle declares", was, where)


def _read_port(value: onnx.ValueInfoProto) -> Port:
    tensor = value.type.tensor_type
    axes = [each.dim_param or each.dim_value for each in tensor.shape.dim]
    is_batch = bool(axes) and axes[0] == BATCH
    shape = tuple(each if isinstance(each, int) else -1 for each in axes[1:]) if is_batch else (-1,)
    return Port(
        value.name,
        _ELEMENTS.get(tensor.elem_type, helper.tensor_dtype_to_string(tensor.elem_type)),
        shape,
    )


def _refuse(rule: str, was: object, where: str) -> NoReturn:
    raise StorageError(
        rule, was=was, where=where, remedy="Export the run again; do not serve this file"
    )
