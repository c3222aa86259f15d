"""Formulas of `Maths` as straight-line functions of one account: the same numbers, no calls.

A formula that is written against `Maths` has no branches, so running it once on symbols records
every operation it will ever do. What was recorded is written down as the body of one function: with
constants in place, common expressions computed once, and what no result needs left out. Results
equal those of `FLOAT_MATHS` bit for bit, at a fraction of the time.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tradingbot.market.maths import FLOAT_MATHS

_NAME = re.compile(r"\bv\d+\b")
_LONGEST = 300
"""Characters of an expression that is still written inside another."""
Record = Any
"""A named tuple of numbers, plain tuples and further records."""
Traceable = Callable[[Any, Any], Sequence[Any]]
"""(record, maths) → results; calls no `int`, `float` or `bool` on what it is given."""


def straight_line(formula: Traceable, example: Record) -> Callable[[Record], list[float]]:
    """Turn a formula into a function of one record.

    Args:
        formula: Called once, with symbols.
        example: A record of the kind that the function will be called with; its numbers are not
            looked at, only which fields are numbers, tuples or records.

    Returns:
        A function that takes such a record and returns the formula's results.

    Raises:
        TypeError, AttributeError: If the formula does more with its numbers than `Maths`,
            operators, indexing and counting.
    """
    tape = _Tape()
    symbols = formula(_symbolise(tape, "record", example), _SYMBOLIC)
    results = [tape.name_of(symbol) for symbol in symbols]
    lines = tape.needed(results)
    text = "\n    ".join(["def evaluate(record):", *lines, f"return [{', '.join(results)}]"])
    names: dict[str, Any] = {
        "__builtins__": {},
        "sqrt": math.sqrt,
        "log": math.log,
        "log1p": math.log1p,
        "inf": math.inf,
        "nan": math.nan,
    }
    exec(text, names)
    function: Callable[[Record], list[float]] = names["evaluate"]
    return function


class _Tape:
    """Operations in order; an expression that occurs twice is written once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._operands: dict[str, tuple[str, ...]] = {}

    def write(self, expression: str, *operands: Any) -> Symbol:
        """Record an expression; `{}` stands for each operand in turn."""
        names = tuple(self.name_of(operand) for operand in operands)
        text = expression.format(*names)
        if text not in self._names:
            self._names[text] = f"v{len(self._names)}"
            self._operands[text] = names
        return Symbol(self, self._names[text])

    def name_of(self, value: Any) -> str:
        """Name a symbol, or write a constant out."""
        if isinstance(value, Symbol):
            return value.name
        return repr(value if isinstance(value, bool | int) else float(value))

    def needed(self, results: Sequence[str]) -> list[str]:
        """Return the lines that the results depend on, in order."""
        wanted, kept = set(results), []
        for text, name in reversed(self._names.items()):
            if name in wanted:
                wanted.update(self._operands[text])
                kept.append((name, text))
        return _inlined(kept[::-1], results)


def _inlined(steps: Sequence[tuple[str, str]], results: Sequence[str]) -> list[str]:
    """Write what is used once where it is used: a name costs a store and a load."""
    uses = Counter(_NAME.findall(" ".join([text for _, text in steps] + list(results) * 2)))
    written: dict[str, str] = {}
    lines = []
    for name, text in steps:
        whole = _NAME.sub(lambda found: written.get(found[0], found[0]), text)
        if uses[name] == 1 and len(whole) <= _LONGEST:
            written[name] = whole
        else:
            lines.append(f"{name} = {whole}")
    return lines


class Symbol:
    """A number that is not known yet; every operation on it is recorded."""

    __slots__ = ("name", "tape")

    def __init__(self, tape: _Tape, name: str) -> None:
        self.tape, self.name = tape, name

    def __bool__(self) -> bool:
        raise TypeError("a formula must not branch on its numbers: use Maths.where")

    def __neg__(self) -> Symbol:
        return self.tape.write("(-{})", self)

    __hash__ = None  # type: ignore[assignment]


def _binary(sign: str, *, swapped: bool = False) -> Callable[[Symbol, Any], Symbol]:
    def record(symbol: Symbol, other: Any) -> Symbol:
        left, right = (other, symbol) if swapped else (symbol, other)
        return symbol.tape.write(f"({{}} {sign} {{}})", left, right)

    return record


_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "and": "&", "or": "|",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
for _name, _sign in _OPERATORS.items():
    setattr(Symbol, f"__{_name}__", _binary(_sign))
    if _name in ("add", "sub", "mul", "truediv", "and", "or"):
        setattr(Symbol, f"__r{_name}__", _binary(_sign, swapped=True))


class _SymbolicRecord:
    """A record whose numbers are symbols; a property of its type is traced through."""

    def __init__(self, tape: _Tape, name: str, example: Record) -> None:
        self._tape, self._name, self._example = tape, name, example

    def __getattr__(self, field: str) -> Any:
        inherited = getattr(type(self._example), field, None)
        if isinstance(inherited, property) and inherited.fget is not None:
            return inherited.fget(self)
        value = getattr(self._example, field)
        place = self._tape.write(f"{{}}.{field}", Symbol(self._tape, self._name))
        return _symbolise(self._tape, place.name, value)


class _SymbolicTuple:
    """A tuple of numbers that may be indexed by a symbol."""

    def __init__(self, tape: _Tape, name: str, length: int) -> None:
        self._tape, self._symbol, self._length = tape, Symbol(tape, name), length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Symbol:
        if isinstance(index, int) and index >= self._length:
            raise IndexError(index)
        return self._tape.write("{}[{}]", self._symbol, index)

    def count(self, value: Any) -> Symbol:
        """Count how often a value occurs."""
        return self._tape.write("{}.count({})", self._symbol, value)


def _symbolise(tape: _Tape, name: str, example: Any) -> Any:
    if hasattr(example, "_fields"):
        return _SymbolicRecord(tape, name, example)
    if isinstance(example, tuple):
        return _SymbolicTuple(tape, name, len(example))
    return Symbol(tape, name)


class SymbolicMaths:
    """`Maths` of symbols: each function as `FloatMaths` computes it, written out."""

    def where(self, condition: Any, chosen: Any, other: Any) -> Any:
        """Choose one."""
        if not isinstance(condition, Symbol):
            return chosen if condition else other
        return condition.tape.write("({1} if {0} else {2})", condition, chosen, other)

    def minimum(self, a: Any, b: Any) -> Any:
        """Return the smaller."""
        return _write("({0} if {0} < {1} else {1})", FLOAT_MATHS.minimum, a, b)

    def maximum(self, a: Any, b: Any) -> Any:
        """Return the larger."""
        return _write("({0} if {0} > {1} else {1})", FLOAT_MATHS.maximum, a, b)

    def clip(self, a: Any, low: float, high: float) -> Any:
        """Cut to an interval."""
        cut = "({1} if {0} < {1} else ({2} if {0} > {2} else {0}))"
        return _write(cut, FLOAT_MATHS.clip, a, low, high)

    def absolute(self, a: Any) -> Any:
        """Return the magnitude."""
        return _write("({0} if {0} > 0.0 else (0.0 - {0}))", FLOAT_MATHS.absolute, a)

    def sign(self, a: Any) -> Any:
        """Return −1, 0 or 1."""
        signs = "(1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else 0.0))"
        return _write(signs, FLOAT_MATHS.sign, a)

    def sqrt(self, a: Any) -> Any:
        """Return the square root."""
        return _write("sqrt({})", FLOAT_MATHS.sqrt, a)

    def log(self, a: Any) -> Any:
        """Return the natural logarithm."""
        return _write("log({})", FLOAT_MATHS.log, a)

    def log1p(self, a: Any) -> Any:
        """Return the natural logarithm of 1 + a."""
        return _write("log1p({})", FLOAT_MATHS.log1p, a)


def _write(expression: str, of_floats: Callable[..., float], *operands: Any) -> Any:
    """Record an expression; where every operand is known it is computed at once."""
    tapes = [operand.tape for operand in operands if isinstance(operand, Symbol)]
    return tapes[0].write(expression, *operands) if tapes else of_floats(*operands)


_SYMBOLIC = SymbolicMaths()
