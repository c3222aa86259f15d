"""A function of tensors (…, 1) as straight-line C for one lane: the same operations in order.

The simulator is written once, for tensors. A tensor operation of a few lanes costs far more in
calling than in arithmetic, one of many lanes more in memory traffic. So the function is called once
on one lane, and every tensor operation that it calls is written down as a statement on plain
numbers: results are those of the tensors, bit for bit where the operation is
exact (all but logarithms and the like). `lane_loop` prints the statements as a loop over lanes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

from tradingbot.market.native.operations import CASTS, KINDS, LIKE, SHAPES, TEXTS

Values = NDArray[np.object_]
"""An array of `Value`, of the shape of the tensor that it stands for."""


class Unwritable(Exception):  # noqa: N818 - not an error: the tensors are used as they are
    """An operation, or a number format, that there is no statement for."""


@dataclass(frozen=True)
class Value:
    """One number: a constant or the name of a variable, and its kind."""

    text: str
    kind: str
    """d floating point, i whole, b true or false."""


class Statement(NamedTuple):
    """One variable of a program."""

    name: str
    kind: str
    expression: str
    operands: tuple[str, ...]
    """Constants and variables that the expression reads."""


@dataclass
class LaneProgram:
    """Statements in order; an expression that occurs twice is written once."""

    names: dict[str, str] = field(default_factory=dict)
    written: dict[str, Statement] = field(default_factory=dict)
    """By name, in order."""
    results: list[list[Value]] = field(default_factory=list)
    """One list per result of the function, first axis first."""

    def write(self, text: str, kind: str, *operands: Value) -> Value:
        """Write a statement, unless it is written; `{}` stands for each operand in turn."""
        expression = text.format(*(value.text for value in operands))
        if expression not in self.names:
            name = f"v{len(self.names)}"
            self.names[expression] = name
            reads = tuple(value.text for value in operands)
            self.written[name] = Statement(name, kind, expression, reads)
        return Value(self.names[expression], kind)


def write_lane_program(
    function: Callable[..., tuple[Tensor, ...]], inputs: Mapping[str, Tensor]
) -> LaneProgram:
    """Record a function and write it down.

    Args:
        function: Of tensors whose last axis is the lane; its arguments are `inputs`, its results a
            tuple of tensors (…, 1).
        inputs: Name → an example of it with one lane, (k, 1) or (1,). An element is the variable
            `name_i`, of (1,) `name_0`. All floating-point examples have one number format.

    Raises:
        Unwritable: If an operation is not known, or a number is of another format.
    """
    program = LaneProgram()
    with _OperationRecorder(program) as recorder:
        for name, example in inputs.items():
            recorder.note(example, _elements(name, example))
        results = function(*inputs.values())
        program.results = [[*recorder.values_of(result).ravel()] for result in results]
    return program


class _OperationRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Write a statement for every operation on what follows from the inputs.

    Operations are carried out as well: whatever follows from no input is a constant, and is read
    from the tensor that holds it.
    """

    def __init__(self, program: LaneProgram) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._program = program
        self._noted: dict[int, tuple[Tensor, Values]] = {}
        """By identity; tensors are kept, so that no other takes their place in memory."""

    def note(self, tensor: Tensor, values: Values) -> None:
        """Say which numbers a tensor stands for."""
        self._noted[id(tensor)] = tensor, values

    def values_of(self, tensor: Tensor) -> Values:
        """Return the numbers that a tensor stands for."""
        if id(tensor) in self._noted:
            return self._noted[id(tensor)][1]
        with _disable_current_modes():
            return _constants(tensor)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # a guard against torch.compile that would import all of it: a second or two

    def __torch_dispatch__(
        self,
        operation: torch._ops.OpOverload,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        result = operation(*args, **kwargs)
        name = operation.overloadpacket.__name__
        leaves = tree_leaves((args, kwargs))
        if name in LIKE or not any(id(leaf) in self._noted for leaf in leaves):
            return result
        if operation._schema.is_mutable:
            raise Unwritable(f"{name}, which writes into a tensor")
        arguments, options = tree_map_only(Tensor, self.values_of, (args, kwargs))
        made = [result] if isinstance(result, Tensor) else result
        if not isinstance(made, list | tuple):
            raise Unwritable(f"{name}, which looks at numbers")
        values = _apply(self._program, name, arguments, options, made[0])
        for tensor, each in zip(made, values if made is result else [values], strict=True):
            self.note(tensor, each)
        return result


def _elements(name: str, example: Tensor) -> Values:
    kind = _kind(example.dtype)
    values = np.empty(example.shape, dtype=object)
    for place, index in enumerate(np.ndindex(*example.shape)):
        values[index] = Value(f"{name}_{place}", kind)
    return values


def _constants(tensor: Tensor) -> Values:
    values = np.empty(tensor.shape, dtype=object)
    for index in np.ndindex(*tensor.shape):
        values[index] = _constant(tensor[index].item(), _kind(tensor.dtype))
    return values


def _constant(number: float | bool, kind: str) -> Value:
    if kind == "b":
        return Value(f"WHOLE({-int(number)})", kind)  # true is all bits set
    if kind == "i":
        return Value(f"WHOLE({int(number)})", kind)
    if math.isfinite(number):
        return Value(f"REAL({float(number).hex()})", kind)
    text = "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"
    return Value(f"REAL({text})", kind)


def _kind(dtype: torch.dtype) -> str:
    kinds = {torch.int32: "i", torch.int64: "i", torch.bool: "b"}
    if dtype in (torch.float32, torch.float64):
        return "d"
    if dtype not in kinds:
        raise Unwritable(f"numbers of {dtype}")
    return kinds[dtype]


def _apply(
    program: LaneProgram, name: str, arguments: Any, options: dict[str, Any], example: Tensor
) -> Any:
    if name in SHAPES:
        return SHAPES[name](*arguments, **options)
    kind = _kind(example.dtype)
    if name in ("sum", "any"):
        return _folded(program, arguments, kind, "({} + {})" if name == "sum" else "({} | {})")
    return _elementwise(program, name, arguments, options, kind)


def _elementwise(
    program: LaneProgram, name: str, arguments: Sequence[Any], kwargs: dict[str, Any], kind: str
) -> Values:
    if kwargs.get("alpha", 1) != 1 or kwargs.get("rounding_mode"):
        raise Unwritable(f"{name} with {kwargs}")
    if kind == "b":  # masks have all bits set: their product is not that of ones
        name = {"mul": "bitwise_and", "add": "bitwise_or"}.get(name, name)
    if name == "rsub":
        name, arguments = "sub", (arguments[1], arguments[0], *arguments[2:])
    if name == "clamp":
        low, high = ((*arguments, None, None))[1:3]
        value = arguments[0]
        for bound, which in ((low, "clamp_min"), (high, "clamp_max")):
            if bound is not None:
                value = _elementwise(program, which, (value, bound), {}, kind)
        return np.asarray(value)
    if name not in TEXTS or kind not in KINDS.get(name, "dib"):
        raise Unwritable(f"{name} of kind {kind}")
    text, casts = TEXTS[name]
    if name.startswith("clamp_") and kind == "i":
        text = text.replace("(", "_WHOLE(", 1)
    operands = [_as_values(argument) for argument in arguments]
    shape = np.broadcast_shapes(*(each.shape for each in operands))
    spread = [np.broadcast_to(each, shape) for each in operands]
    result = np.empty(shape, dtype=object)
    for index in itertools.product(*(range(size) for size in shape)):
        values = _cast_all(program, [each[index] for each in spread], casts, kind)
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


def _cast_all(
    program: LaneProgram, values: Sequence[Value], casts: str, kind: str
) -> Sequence[Value]:
    if casts == "branches":
        condition = _cast(program, values[0], "b")
        return [condition, *(_cast(program, value, kind) for value in values[1:])]
    if casts == "common":
        kinds = {value.kind for value in values}
        kind = next(each for each in "dib" if each in kinds)
    return [_cast(program, value, "d" if casts == "real" else kind) for value in values]


def _cast(program: LaneProgram, value: Value, kind: str) -> Value:
    if value.kind == kind:
        return value
    if value.text.startswith("WHOLE("):
        number = int(value.text.removeprefix("WHOLE(").removesuffix(")"))
        return _constant(-number if value.kind == "b" else number, kind)
    return program.write(CASTS[value.kind + kind], kind, value)


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
