"""Nodes of a feature expression: what is computed, never how or for how many bars.

A node is immutable and known by its `digest`, a hash of its structure: equal expressions are one
object and one computation, a changed formula has another digest. `evaluator` evaluates them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from weakref import WeakValueDictionary

Clock = Literal["symbol", "market"]


class _OneOfEach(type):
    """Gives the existing node where one of the same structure exists: equal means identical."""

    _known: ClassVar[WeakValueDictionary[str, Node]] = WeakValueDictionary()

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        node = super().__call__(*args, **kwargs)
        return cls._known.setdefault(node.digest, node)


@dataclass(frozen=True, eq=False)
class Node(metaclass=_OneOfEach):
    """One number per symbol and bar (clock "symbol") or per grid time (clock "market").

    Attributes:
        arguments: Nodes this one is computed from.
        label: The node's own operation and parameters.
        digest: Hash of the whole structure.
        warm_up_bars: Ticks of the node's clock before the first defined value.
        finite_memory: Whether the value depends on the last `warm_up_bars + 1` ticks only.
        clock: What makes it tick: the symbol's own bars, or every time of the grid.
        stage: Crossings from symbol to symbol below it; 0: made of its own symbol alone.
    """

    arguments: tuple[Node, ...] = ()
    label: str = field(init=False, default="")
    digest: str = field(init=False, default="")
    warm_up_bars: int = field(init=False, default=0)
    finite_memory: bool = field(init=False, default=True)
    clock: Clock = field(init=False, default="symbol")
    stage: int = field(init=False, default=0)

    @property
    def text(self) -> str:
        """The whole formula in words."""
        if not self.arguments:
            return self.label
        return f"{self.label}({', '.join(argument.text for argument in self.arguments)})"

    def __add__(self, other: Node | float) -> Node:
        return apply("add", self, other)

    def __sub__(self, other: Node | float) -> Node:
        return apply("subtract", self, other)

    def __rsub__(self, other: float) -> Node:
        return apply("subtract", other, self)

    def __mul__(self, other: Node | float) -> Node:
        return apply("multiply", self, other)

    def __rmul__(self, other: float) -> Node:
        return apply("multiply", other, self)

    def __truediv__(self, other: Node | float) -> Node:
        return apply("divide", self, other)

    def __neg__(self) -> Node:
        return apply("negative", self)

    def _describe(self, label: str, *, warm_up_bars: int, finite: bool = True) -> None:
        clocks = {a.clock for a in self.arguments if not isinstance(a, Constant)}
        if len(clocks) > 1:
            raise ValueError(f"arguments of {label} must tick on one clock, were {sorted(clocks)}")
        structure = "|".join([type(self).__name__, label, *(a.digest for a in self.arguments)])
        changes = {
            "label": label,
            "digest": hashlib.sha256(structure.encode()).hexdigest(),
            "warm_up_bars": warm_up_bars,
            "finite_memory": finite and all(a.finite_memory for a in self.arguments),
            "clock": clocks.pop() if clocks else "symbol",
            "stage": max((a.stage for a in self.arguments), default=0),
        }
        for name, value in changes.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """A number, the same at every bar."""

    value: float = 0.0

    def __post_init__(self) -> None:
        self._describe(repr(self.value), warm_up_bars=0)


@dataclass(frozen=True, eq=False)
class Input(Node):
    """A bar field, the exchange-local day or time, or an as-of joined covariate."""

    name: str = ""
    optional: bool = False  # an absent covariate reads as NaN instead of failing

    def __post_init__(self) -> None:
        self._describe(f"{self.name}?" if self.optional else self.name, warm_up_bars=0)


@dataclass(frozen=True, eq=False)
class Elementwise(Node):
    """A named function of the arguments' values at the same tick."""

    function: str = ""  # a key of operations.ELEMENTWISE

    def __post_init__(self) -> None:
        warm_up_bars = max(argument.warm_up_bars for argument in self.arguments)
        self._describe(self.function, warm_up_bars=warm_up_bars)


@dataclass(frozen=True, eq=False)
class Lag(Node):
    """The argument's value some ticks ago."""

    bars: int = 1

    def __post_init__(self) -> None:
        (x,) = self.arguments
        if self.bars < 1:
            raise ValueError(f"a lag must look back at least 1 bar, was {self.bars}")
        self._describe(f"lag[{self.bars}]", warm_up_bars=x.warm_up_bars + self.bars)


@dataclass(frozen=True, eq=False)
class Windowed(Node):
    """A named function of the arguments' last `bars` values, in a fixed order of operations."""

    function: str = ""  # a key of operations.WINDOWED
    bars: int = 1

    def __post_init__(self) -> None:
        warm_up_bars = max(argument.warm_up_bars for argument in self.arguments)
        if self.bars < 2:
            raise ValueError(f"a window must span at least 2 bars, was {self.bars}")
        label = f"{self.function}[{self.bars}]"
        self._describe(label, warm_up_bars=warm_up_bars + self.bars - 1)


@dataclass(frozen=True, eq=False)
class Recursive(Node):
    """Smoothing y ← y + weight·(x − y), or the running sum y ← y + x where weight is None.

    Arguments are x and the seed: y is undefined before tick `start`, equals the seed there, and
    steps from then on. Where x is NaN after the start, y keeps its value.
    """

    start: int = 0
    weight: float | None = None

    def __post_init__(self) -> None:
        x, seed = self.arguments
        if seed.warm_up_bars > self.start or x.warm_up_bars > self.start + 1:
            raise ValueError(
                f"start must be at or after the seed's warm-up of {seed.warm_up_bars} bars"
                f" and x's of {x.warm_up_bars}, was {self.start}"
            )
        step = "running_sum" if self.weight is None else f"smooth[{self.weight!r}]"
        self._describe(f"{step}[from {self.start}]", warm_up_bars=self.start, finite=False)


@dataclass(frozen=True, eq=False)
class Since(Node):
    """The argument from tick `start` on, undefined before."""

    start: int = 0

    def __post_init__(self) -> None:
        (x,) = self.arguments
        warm_up_bars = max(self.start, x.warm_up_bars)
        self._describe(f"since[{self.start}]", warm_up_bars=warm_up_bars)


@dataclass(frozen=True, eq=False)
class Crossing(Node):
    """Base of what is made of several symbols' values at one grid time: a stage of its own."""

    def _cross(self, label: str, clock: Clock) -> None:
        if any(x.clock != "symbol" for x in self.arguments):
            text = ", ".join(x.text for x in self.arguments)
            raise ValueError(f"a cross-section must be taken of symbol values, was of {text}")
        warm_up_bars = max(argument.warm_up_bars for argument in self.arguments)
        self._describe(label, warm_up_bars=warm_up_bars)
        object.__setattr__(self, "clock", clock)
        object.__setattr__(self, "stage", self.stage + 1)


@dataclass(frozen=True, eq=False)
class CrossSection(Crossing):
    """Mean over the symbols that have a bar at a grid time and a defined value there.

    With a `symbol`: the value of that one, undefined at the grid times at which it has no bar.
    """

    symbol: str = ""

    def __post_init__(self) -> None:
        self._cross(f"of[{self.symbol}]" if self.symbol else "mean_over_symbols", "market")


@dataclass(frozen=True, eq=False)
class AcrossSymbols(Crossing):
    """A named function of all symbols' values at a grid time that gives each symbol its own.

    Arguments are x and, where only symbols of the same group are compared, the group's number.
    """

    function: str = ""  # a key of operations.ACROSS

    def __post_init__(self) -> None:
        self._cross(f"across[{self.function}]", "symbol")


@dataclass(frozen=True, eq=False)
class AtBars(Node):
    """A market value on the symbol's clock: as it stands at the grid time of each of its bars."""

    def __post_init__(self) -> None:
        (x,) = self.arguments
        if x.clock != "market":
            raise ValueError(f"at_bars must be given a market value, was {x.text}")
        self._describe("at_bars", warm_up_bars=x.warm_up_bars)
        object.__setattr__(self, "clock", "symbol")


def apply(function: str, *arguments: Node | float) -> Node:
    """Apply an elementwise function of `operations.ELEMENTWISE`; numbers become constants.

    Where symbol and market values meet, the market's are read at the symbol's bars.
    """
    nodes = tuple(a if isinstance(a, Node) else Constant(value=float(a)) for a in arguments)
    varying = [node for node in nodes if not isinstance(node, Constant)]
    if {node.clock for node in varying} == {"symbol", "market"}:
        nodes = tuple(at_bars(node) if node.clock == "market" else node for node in nodes)
    return Elementwise(arguments=nodes, function=function)


def lag(x: Node, bars: int) -> Node:
    """Return x as it was `bars` ticks ago."""
    return Lag(arguments=(x,), bars=bars)


def rolling(function: str, x: Node, bars: int, *more: Node) -> Node:
    """Apply a function of `operations.WINDOWED` to the last `bars` values of x (and of `more`)."""
    return Windowed(arguments=(x, *more), function=function, bars=bars)


def mean(x: Node, bars: int) -> Node:
    """Return the simple moving average of x."""
    return rolling("sum", x, bars) / float(bars)


def since(x: Node, start: int) -> Node:
    """Return x, undefined before tick `start` (counted from 0)."""
    return Since(arguments=(x,), start=start)


def smooth(x: Node, weight: float, *, start: int, seed: Node) -> Node:
    """Return the exponentially smoothed x: seed at tick `start`, then y + weight·(x − y)."""
    return Recursive(arguments=(x, seed), start=start, weight=weight)


def running_sum(x: Node, *, start: int, seed: Node) -> Node:
    """Return the sum of x after tick `start`, plus the seed's value there."""
    return Recursive(arguments=(x, seed), start=start)


def over_symbols(x: Node) -> Node:
    """Return the mean over the symbols present at each grid time."""
    return CrossSection(arguments=(x,))


def of_symbol(x: Node, symbol: str) -> Node:
    """Return one symbol's x for the whole market, e.g. the return of `SPY`."""
    return CrossSection(arguments=(x,), symbol=symbol)


def across(function: str, x: Node, group: Node | None = None) -> Node:
    """Apply a function of `operations.ACROSS` to x of all symbols, or of those of one's group."""
    return AcrossSymbols(arguments=(x,) if group is None else (x, group), function=function)


def at_bars(x: Node) -> Node:
    """Return a market value as it stands at each of a symbol's bars."""
    return AtBars(arguments=(x,))
