"""From expressions to an order of work: what is computed when, and how much past each keeps.

A plan holds no arrays. One plan serves one clock between two crossings; `make_stages` cuts an
expression graph where values pass from symbol to symbol or from clock to clock.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf

from tradingbot.features.graph import nodes as kinds
from tradingbot.features.graph.nodes import Clock, Node

Reads = dict[Node, tuple[Node, ...]]  # a node → the nodes it is computed from, no constants


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
        sources: Nodes whose values are given: inputs, crossings, what other plans computed.
    """

    steps: tuple[tuple[Node, ...], ...]
    history_bars: dict[Node, int]
    needed_until: dict[Node, float]
    last_use: dict[Node, int]
    outputs: frozenset[Node]
    sources: frozenset[Node]

    @property
    def inputs(self) -> tuple[kinds.Input, ...]:
        """The inputs that the plan reads."""
        return tuple(node for (node, *_) in self.steps if isinstance(node, kinds.Input))


@dataclass(frozen=True)
class Stage:
    """One plan between crossings, on one clock.

    Attributes:
        clock: Of every node in the plan.
        plan: The work.
        handed_on: Outputs that a later stage or crossing reads.
    """

    clock: Clock
    plan: Plan
    handed_on: frozenset[Node]


def make_plan(outputs: Sequence[Node], given: Collection[Node] = ()) -> Plan:
    """Order the work for `outputs`, each shared sub-expression once.

    Crossings, market values at bars and the nodes that are `given` are sources, like inputs.
    """
    reads = _in_order(outputs, frozenset(given))
    sources = frozenset(node for node in reads if node in given or _is_source(node))
    steps = _group(reads, sources)
    history = dict.fromkeys(reads, 0)
    last_use: dict[Node, int] = {}
    for index, step in enumerate(steps):
        for node in step:
            last_use.setdefault(node, index)
            for argument in reads[node]:
                last_use[argument] = index
                history[argument] = max(history[argument], _look_back(node))
    needed = _needed_until(reads, outputs)
    return Plan(steps, history, needed, last_use, frozenset(outputs), sources)


def make_stages(outputs: Sequence[Node]) -> tuple[Stage, ...]:
    """Cut the graph of `outputs` into stages, in order of work.

    Stage 0 has what each symbol's own bars give; behind each crossing follows what the market's
    clock makes of it, then what the symbols' clocks make of both.
    """
    places: dict[tuple[int, Clock], list[Node]] = {}
    handed_on: set[Node] = set()
    for node, arguments in _whole_graph(outputs).items():
        places.setdefault(_place(node), []).append(node)
        crosses = isinstance(node, kinds.Crossing | kinds.AtBars)
        handed_on.update(a for a in arguments if crosses or _place(a) != _place(node))
    stages = []
    for place in sorted(places):  # "market" before "symbol"
        nodes = places[place]
        wanted = [node for node in outputs if _place(node) == place]
        wanted += [node for node in nodes if node in handed_on]
        given = frozenset(n for p, group in places.items() if p != place for n in group)
        plan = make_plan(list(dict.fromkeys(wanted)), given)
        stages.append(Stage(place[1], plan, frozenset(handed_on & plan.outputs)))
    return tuple(stages)


def _place(node: Node) -> tuple[int, Clock]:
    return node.stage, node.clock


def _is_source(node: Node) -> bool:
    return isinstance(node, kinds.Input | kinds.Crossing | kinds.AtBars)


def _variable(node: Node) -> tuple[Node, ...]:
    return tuple(a for a in node.arguments if not isinstance(a, kinds.Constant))


def _look_back(node: Node) -> int:
    if isinstance(node, kinds.Lag):
        return node.bars
    return node.bars - 1 if isinstance(node, kinds.Windowed) else 0


def _whole_graph(outputs: Sequence[Node]) -> Reads:
    reads: dict[Node, tuple[Node, ...]] = {}
    pending = list(outputs)
    while pending:
        node = pending.pop()
        if node not in reads:
            reads[node] = _variable(node)
            pending.extend(reads[node])
    return reads


def _in_order(outputs: Sequence[Node], given: frozenset[Node]) -> Reads:
    """Arguments before users, depth first: values are used soon after they are made."""
    ordered: dict[Node, tuple[Node, ...]] = {}

    def visit(node: Node) -> None:
        if node in ordered or isinstance(node, kinds.Constant):
            return
        arguments = () if node in given or _is_source(node) else _variable(node)
        for argument in arguments:
            visit(argument)
        ordered[node] = arguments

    for output in outputs:
        visit(output)
    return ordered


def _group(reads: Reads, sources: frozenset[Node]) -> tuple[tuple[Node, ...], ...]:
    """Put recursions that do not wait for one another into one step."""
    recursive = {n for n in reads if isinstance(n, kinds.Recursive) and n not in sources}
    depth: dict[Node, int] = {}
    for node, arguments in reads.items():
        below = max((depth[argument] for argument in arguments), default=0)
        depth[node] = below + (node in recursive)
    steps: list[tuple[Node, ...]] = []
    for level in range(max(depth.values(), default=0) + 1):
        here = [node for node in reads if depth[node] == level]
        recursions = [n for n in here if isinstance(n, kinds.Recursive) and n in recursive]
        for sums in (False, True):
            group = tuple(node for node in recursions if (node.weight is None) == sums)
            if group:
                steps.append(group)
        steps.extend((node,) for node in here if node not in recursive)
    return tuple(steps)


def _needed_until(reads: Reads, outputs: Sequence[Node]) -> dict[Node, float]:
    needed: dict[Node, float] = dict.fromkeys(reads, -inf)
    needed.update(dict.fromkeys(outputs, inf))
    for node in reversed(reads):
        if not reads[node]:
            continue
        for position, argument in enumerate(node.arguments):
            if isinstance(argument, kinds.Constant):
                continue
            is_seed = isinstance(node, kinds.Recursive) and position == 1
            until = node.start if isinstance(node, kinds.Recursive) and is_seed else needed[node]
            needed[argument] = max(needed[argument], until)
    return needed
