"""From expressions to an order of work: what is computed when, and how much past each keeps.

A plan holds no arrays. One plan serves one clock; `split_by_clock` cuts an expression graph at
its cross-sections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from tradingbot.features.graph import nodes as kinds
from tradingbot.features.graph.nodes import Node


@dataclass(frozen=True)
class Plan:
    """The work of one clock.

    Attributes:
        steps: Groups in order of work. A group has one node, or several recursions that share a
            form and advance together.
        history_bars: How many past values of a node its users look back on.
        needed_until: Last tick at which a node matters: seeds of recursions are needed only once.
        last_use: Index of the step after which a node's values are not read any more.
        outputs: Nodes whose values are wanted.
    """

    steps: tuple[tuple[Node, ...], ...]
    history_bars: dict[Node, int]
    needed_until: dict[Node, float]
    last_use: dict[Node, int]
    outputs: frozenset[Node]

    @property
    def inputs(self) -> tuple[kinds.Input, ...]:
        """The inputs that the plan reads."""
        return tuple(node for (node, *_) in self.steps if isinstance(node, kinds.Input))


def make_plan(outputs: Sequence[Node]) -> Plan:
    """Order the work for `outputs`, each shared sub-expression once; cross-sections are inputs."""
    nodes = _in_order(outputs)
    steps = _group(nodes)
    history = dict.fromkeys(nodes, 0)
    last_use: dict[Node, int] = {}
    for index, step in enumerate(steps):
        for node in step:
            last_use.setdefault(node, index)
            for argument in _variable(node):
                last_use[argument] = index
                history[argument] = max(history[argument], _look_back(node))
    return Plan(steps, history, _needed_until(nodes, outputs), last_use, frozenset(outputs))


def split_by_clock(outputs: Sequence[Node]) -> tuple[Plan, Plan]:
    """Return the plan on the symbols' clocks and the one on the market's.

    The first also yields what the second takes cross-sections of.
    """
    market = make_plan([node for node in outputs if node.clock == "market"])
    sections = [node for (node, *_) in market.steps if isinstance(node, kinds.CrossSection)]
    own = [node for node in outputs if node.clock == "symbol"]
    return make_plan([*own, *(node.arguments[0] for node in sections)]), market


def _read_by(node: Node) -> tuple[Node, ...]:
    return () if isinstance(node, kinds.CrossSection) else node.arguments


def _variable(node: Node) -> tuple[Node, ...]:
    return tuple(a for a in _read_by(node) if not isinstance(a, kinds.Constant))


def _look_back(node: Node) -> int:
    if isinstance(node, kinds.Lag):
        return node.bars
    return node.bars - 1 if isinstance(node, kinds.Windowed) else 0


def _in_order(outputs: Sequence[Node]) -> list[Node]:
    """Arguments before users, depth first: values are used soon after they are made."""
    ordered: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node in ordered or isinstance(node, kinds.Constant):
            return
        for argument in _read_by(node):
            visit(argument)
        ordered[node] = None

    for output in outputs:
        visit(output)
    return list(ordered)


def _group(nodes: Sequence[Node]) -> tuple[tuple[Node, ...], ...]:
    """Put recursions that do not wait for one another into one step."""
    depth: dict[Node, int] = {}
    for node in nodes:
        below = max((depth.get(argument, 0) for argument in _read_by(node)), default=0)
        depth[node] = below + isinstance(node, kinds.Recursive)
    steps: list[tuple[Node, ...]] = []
    for level in range(max(depth.values(), default=0) + 1):
        here = [node for node in nodes if depth[node] == level]
        recursions = [node for node in here if isinstance(node, kinds.Recursive)]
        for sums in (False, True):
            group = tuple(node for node in recursions if (node.weight is None) == sums)
            if group:
                steps.append(group)
        steps.extend((node,) for node in here if not isinstance(node, kinds.Recursive))
    return tuple(steps)


def _needed_until(nodes: Sequence[Node], outputs: Sequence[Node]) -> dict[Node, float]:
    needed: dict[Node, float] = dict.fromkeys(nodes, -inf)
    needed.update(dict.fromkeys(outputs, inf))
    for node in reversed(nodes):
        for position, argument in enumerate(_read_by(node)):
            if isinstance(argument, kinds.Constant):
                continue
            is_seed = isinstance(node, kinds.Recursive) and position == 1
            until = node.start if isinstance(node, kinds.Recursive) and is_seed else needed[node]
            needed[argument] = max(needed[argument], until)
    return needed
