"""A function of tensors (…, 1) as straight-line C for one lane: the same operations in order.

The simulator is written once, for tensors. At a hundred lanes a tensor operation costs far more in
calling than in arithmetic. So the function is recorded as a graph of tensor operations, as for
`market.compiled`, and every operation is written down as a statement on plain numbers: results are
those of the tensors, bit for bit where the operation is exact (all but logarithms and the like).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx

Values = NDArray[np.object_]
"""An array of `Value`, of the shape of the tensor that it stands for."""
_C_TYPES = {"d": "double", "i": "int64_t", "b": "int"}


class Unwritable(Exception):  # noqa: N818 - not an error: the tensors are used as they are
    """An operation, or a number format, that there is no statement for."""


@dataclass(frozen=True)
class Value:
    """One number: a constant or the name of a variable, and its kind."""

    text: str
    kind: str
    """d floating point, i whole, b true or false."""


@dataclass
class LaneProgram:
    """Statements in order; an expression that occurs twice is written once."""

    names: dict[str, str] = field(default_factory=dict)
    operands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    results: list[list[Value]] = field(default_factory=list)
    """One list per result of the function, first axis first."""

    def write(self, text: str, kind: str, *operands: Value) -> Value:
        """Write a statement, unless it is written; `{}` stands for each operand in turn."""
        expression = text.format(*(value.text for value in operands))
        if expression not in self.names:
            name = f"v{len(self.names)}"
            self.names[expression] = name
            self.operands[name] = tuple(value.text for value in operands)
            self.kinds[name] = kind
        return Value(self.names[expression], kind)

    def statements(self, wanted: Sequence[Value], known: Sequence[str] = ()) -> list[str]:
        """Return the statements that some values need, in order, less those known already."""
        needed: set[str] = set()
        stack = [value.text for value in wanted]
        while stack:
            name = stack.pop()
            if name in self.operands and name not in needed and name not in known:
                needed.add(name)
                stack += self.operands[name]
        return [
            f"const {_C_TYPES[self.kinds[name]]} {name} = {expression};"
            for expression, name in self.names.items()
            if name in needed
        ]


def write_lane_program(
    function: Callable[..., tuple[Tensor, ...]], inputs: Mapping[str, Tensor]
) -> LaneProgram:
    """Record a function and write it down.

    Args:
        function: Of tensors whose last axis is the lane; its arguments are `inputs`, its results a
            tuple of tensors (…, 1).
        inputs: Name of a C array → an example of it with one lane, (k, 1) or (1,). An element is
            read as `name[i]`, of (1,) as `name[0]`.

    Raises:
        Unwritable: If an operation is not known, or a number is not float64, whole or bool.
    """
    graph = make_fx(function)(*inputs.values())
    program, places = LaneProgram(), {}
    arguments = iter(inputs.items())
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            name, example = next(arguments)
            places[node] = _elements(name, example)
        elif node.op == "get_attr":
            places[node] = _constants(getattr(graph, node.target))
        elif node.op == "call_function":
            places[node] = _apply(program, node, places)
        elif node.op == "output":
            results = [places[each] for each in node.args[0]]
            program.results = [[*_as_values(each).ravel()] for each in results]
    return program


def _elements(name: str, example: Tensor) -> Values:
    kind = _kind(example.dtype)
    values = np.empty(example.shape, dtype=object)
    for place, index in enumerate(np.ndindex(*example.shape)):
        values[index] = Value(f"{name}[{place}]", kind)
    return values


def _constants(tensor: Tensor) -> Values:
    values = np.empty(tensor.shape, dtype=object)
    for index in np.ndindex(*tensor.shape):
        values[index] = _constant(tensor[index].item(), _kind(tensor.dtype))
    return values


def _constant(number: float | bool, kind: str) -> Value:
    if kind != "d":
        return Value(str(int(number)), kind)
    if math.isfinite(number):
        return Value(f"({float(number).hex()})", kind)
    return Value("NAN" if math.isnan(number) else "INFINITY" if number > 0 else "(-INFINITY)", kind)


def _kind(dtype: torch.dtype) -> str:
    kinds = {torch.float64: "d", torch.int32: "i", torch.int64: "i", torch.bool: "b"}
    if dtype not in kinds:
        raise Unwritable(f"numbers of {dtype}")
    return kinds[dtype]


def _apply(program: LaneProgram, node: fx.Node, places: Mapping[fx.Node, Any]) -> Any:
    arguments: Any = fx.map_arg(node.args, places.__getitem__)
    if node.target is operator.getitem:
        return arguments[0][arguments[1]]
    name = str(node.target).split(".")[1]
    if name in _SHAPES:
        return _SHAPES[name](*arguments, **node.kwargs)
    example = node.meta.get("val")
    if not isinstance(example, Tensor):
        raise Unwritable(f"{node.target} without an example")
    kind, shape = _kind(example.dtype), tuple(example.shape)
    if name in _FILLED:
        number = _FILLED[name](arguments)
        return np.broadcast_to(_as_values(_constant(number, kind)), shape)
    if name == "arange":
        return _constants(torch.arange(*arguments, dtype=example.dtype))
    if name in ("sum", "any"):
        return _folded(program, arguments, kind, "({} + {})" if name == "sum" else "({} || {})")
    return _elementwise(program, name, arguments, dict(node.kwargs), kind)


def _elementwise(
    program: LaneProgram, name: str, arguments: Sequence[Any], kwargs: dict[str, Any], kind: str
) -> Values:
    if kwargs.get("alpha", 1) != 1 or kwargs.get("rounding_mode"):
        raise Unwritable(f"{name} with {kwargs}")
    if name == "rsub":
        name, arguments = "sub", (arguments[1], arguments[0], *arguments[2:])
    if name == "clamp":
        low, high = ((*arguments, None, None))[1:3]
        value = arguments[0]
        for bound, which in ((low, "clamp_min"), (high, "clamp_max")):
            if bound is not None:
                value = _elementwise(program, which, (value, bound), {}, kind)
        return np.asarray(value)
    if name not in _TEXTS:
        raise Unwritable(name)
    text, casts = _TEXTS[name]
    operands = [_as_values(argument) for argument in arguments]
    shape = np.broadcast_shapes(*(each.shape for each in operands))
    spread = [np.broadcast_to(each, shape) for each in operands]
    result = np.empty(shape, dtype=object)
    for index in itertools.product(*(range(size) for size in shape)):
        values = [each[index] for each in spread]
        if casts == "result":
            values = [_cast(program, value, kind) for value in values]
        elif casts == "branches":
            values = [values[0], *(_cast(program, value, kind) for value in values[1:])]
        result[index] = program.write(text, kind, *values) if text else values[0]
    return result


def _as_values(argument: Any) -> Values:
    if isinstance(argument, np.ndarray):
        return argument
    if not isinstance(argument, Value):
        whole = "b" if isinstance(argument, bool) else "i"
        argument = _constant(argument, whole if isinstance(argument, int) else "d")
    holder: Values = np.empty((), dtype=object)
    holder[()] = argument
    return holder


def _cast(program: LaneProgram, value: Value, kind: str) -> Value:
    if value.kind == kind:
        return value
    if kind == "b":
        return program.write("({} != 0)", "b", value)
    return program.write(f"(({_C_TYPES[kind]}){{}})", kind, value)


def _folded(program: LaneProgram, arguments: Sequence[Any], kind: str, text: str) -> Values:
    values, (axis, *_) = arguments[0], [*np.atleast_1d(arguments[1])]
    if len(arguments) > 2 and arguments[2]:
        raise Unwritable("a sum that keeps its axis")
    moved = np.moveaxis(values, axis, 0)
    result = np.empty(moved.shape[1:], dtype=object)
    for index in np.ndindex(*result.shape):
        total = _cast(program, moved[0][index], kind)
        for row in moved[1:]:
            total = program.write(text, kind, total, _cast(program, row[index], kind))
        result[index] = total
    return result


_SHAPES: Mapping[str, Callable[..., Any]] = {
    "unbind": lambda values, axis=0: list(np.moveaxis(values, axis, 0)),
    "select": lambda values, axis, place: np.take(values, place, axis),
    "slice": lambda values, axis, start, stop, step=1: np.moveaxis(
        np.moveaxis(values, axis, 0)[start:stop:step], 0, axis
    ),
    "stack": lambda parts, axis=0: np.stack(parts, axis),
    "cat": lambda parts, axis=0: np.concatenate(parts, axis),
    "unsqueeze": np.expand_dims,
    "alias": lambda values: values,
    "detach": lambda values: values,
    "clone": lambda values, **_: values,
    "view": lambda values, shape: values.reshape(shape),
    "expand": lambda values, shape: np.broadcast_to(values, [*shape]),
}
_FILLED: Mapping[str, Callable[[Sequence[Any]], float]] = {
    "scalar_tensor": lambda arguments: float(arguments[0]),
    "zeros_like": lambda _: 0.0,
    "ones_like": lambda _: 1.0,
    "full_like": lambda arguments: float(arguments[1]),
    "zeros": lambda _: 0.0,
    "ones": lambda _: 1.0,
    "full": lambda arguments: float(arguments[1]),
}
_TEXTS: Mapping[str, tuple[str, str]] = {
    # Operands become the kind of the result first; comparisons take them as they are.
    "add": ("({} + {})", "result"),
    "sub": ("({} - {})", "result"),
    "mul": ("({} * {})", "result"),
    "div": ("({} / {})", "result"),
    "neg": ("(-{})", "result"),
    "abs": ("ABSOLUTE({})", "result"),
    "sign": ("SIGN({})", "result"),
    "reciprocal": ("(1.0 / {})", "result"),
    "sqrt": ("sqrt({})", "result"),
    "log": ("log({})", "result"),
    "log1p": ("log1p({})", "result"),
    "exp": ("exp({})", "result"),
    "tanh": ("tanh({})", "result"),
    "minimum": ("LOWER({}, {})", "result"),
    "maximum": ("HIGHER({}, {})", "result"),
    "clamp_min": ("AT_LEAST({}, {})", "result"),
    "clamp_max": ("AT_MOST({}, {})", "result"),
    "_to_copy": ("", "result"),
    "where": ("({} ? {} : {})", "branches"),
    "eq": ("({} == {})", "none"),
    "ne": ("({} != {})", "none"),
    "lt": ("({} < {})", "none"),
    "le": ("({} <= {})", "none"),
    "gt": ("({} > {})", "none"),
    "ge": ("({} >= {})", "none"),
    "bitwise_and": ("({} & {})", "result"),
    "bitwise_or": ("({} | {})", "result"),
    "bitwise_not": ("(!{})", "result"),
    "logical_and": ("({} && {})", "none"),
    "logical_or": ("({} || {})", "none"),
    "logical_not": ("(!{})", "none"),
    "isfinite": ("isfinite({})", "none"),
    "isnan": ("isnan({})", "none"),
}
"""Operation → statement, and which operands are cast to the kind of the result."""
