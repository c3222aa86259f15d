"""Evaluates a plan over time, some rows at a time, keeping just the past that it needs.

Batch hands it long blocks, streaming single rows: both run this one piece of code, and no value
depends on where a block ends. Each column counts its own ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.graph import nodes as kinds
from tradingbot.features.graph.nodes import Node
from tradingbot.features.graph.operations import ELEMENTWISE, SINGLE, WINDOWED, Array
from tradingbot.features.graph.plan import Plan
from tradingbot.features.graph.recursion import RecursionGroup

Compute = Callable[[int], None]  # computes the given number of rows of a step
Emit = Callable[[Node, Array], None]  # called with (R, N) values that must be copied at once


class Evaluator:
    """State of one plan over N columns."""

    def __init__(self, plan: Plan, columns: int, *, rows: int, capacity: int) -> None:
        """Prepare the buffers.

        Args:
            plan: What to compute.
            columns: N.
            rows: Most rows in one call of `advance`.
            capacity: Rows that may be appended before the past is moved to the front; ≥ rows.
        """
        self.ticks: NDArray[np.int64] = np.zeros(columns, dtype=np.int64)
        self._bars = plan.history_bars
        self._lowest_tick = 0
        self._capacity, self._cursor = capacity, 0
        self._past: dict[Node, Array] = {
            node: np.full((bars + capacity, columns), np.nan, dtype=_dtype(node, plan))
            for node, bars in plan.history_bars.items()
            if bars
        }
        self._scratch = _assign_scratch(plan, (rows, columns), exclude=self._past)
        self._values: dict[Node, Any] = _constants(plan)
        self._groups: list[RecursionGroup] = []
        self._steps = [
            (
                max(plan.needed_until[node] for node in step),
                self._source(step[0])
                if step[0] in plan.sources
                else self._compile(step, columns, rows),
                tuple(node for node in step if node in plan.outputs),
            )
            for step in plan.steps
        ]

    def advance(self, inputs: Mapping[Node, Array], rows: int, emit: Emit) -> None:
        """Compute the next `rows` rows of every node and emit the outputs.

        Args:
            inputs: Values (R, N) of each source of the plan.
            rows: R.
            emit: Receives each output as soon as it is known.
        """
        if self._cursor + rows > self._capacity:
            for node, past in self._past.items():
                bars = self._bars[node]
                past[:bars] = past[self._cursor : self._cursor + bars]
            self._cursor = 0
        values, lowest_tick = self._values, self._lowest_tick
        values.update(inputs)
        for needed_until, compute, outputs in self._steps:
            if needed_until < lowest_tick:
                continue
            compute(rows)
            for node in outputs:
                emit(node, values[node])

    def commit(self, rows: int, present: NDArray[np.bool_] | None = None) -> None:
        """Keep the rows just computed as past, in the columns that are `present` (None: all).

        Where a column is not present (only allowed for one row), its past stays as it was.
        """
        for group in self._groups:
            group.commit(rows, present)
        if present is not None:
            absent = np.flatnonzero(~present)
            for node, past in self._past.items():
                end = self._cursor + self._bars[node]
                past[self._cursor + 1 : end + 1, absent] = past[self._cursor : end, absent]
        self._cursor += rows
        self.ticks += rows if present is None else present
        self._lowest_tick = int(self.ticks.min(initial=np.iinfo(np.int64).max))

    def snapshot(self) -> dict[str, Array]:
        """Copy the state: ticks, the past that is looked back on, and the recursions."""
        state: dict[str, Array] = {"ticks": self.ticks.copy()}
        for node, past in self._past.items():
            kept = past[self._cursor : self._cursor + self._bars[node]]
            state[f"past/{node.digest}"] = kept.copy()
        for group in self._groups:
            for node, latest in zip(group.nodes, group.latest, strict=True):
                state[f"latest/{node.digest}"] = latest.copy()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a state that `snapshot` gave for the same plan and columns."""
        self.ticks[:] = state["ticks"]
        self._lowest_tick = int(self.ticks.min(initial=np.iinfo(np.int64).max))
        self._cursor = 0
        for node, past in self._past.items():
            past[: self._bars[node]] = state[f"past/{node.digest}"]
        for group in self._groups:
            for node, latest in zip(group.nodes, group.latest, strict=True):
                latest[:] = state[f"latest/{node.digest}"]

    def _compile(self, step: tuple[Node, ...], columns: int, rows: int) -> Compute:
        """Bind one step to its buffers: what can be looked up once is not looked up per bar."""
        node = step[0]
        if isinstance(node, kinds.Recursive):
            nodes = [node for node in step if isinstance(node, kinds.Recursive)]
            self._groups.append(RecursionGroup(nodes, columns, rows=rows))
            return self._recursion(self._groups[-1])
        if isinstance(node, kinds.Elementwise):
            return self._elementwise(node)
        if isinstance(node, kinds.Windowed):
            return self._windowed(node)
        if isinstance(node, kinds.Since):
            return self._since(node)
        assert isinstance(node, kinds.Lag)
        return self._lag(node)

    def _target(self, node: Node) -> Callable[[int], Array]:
        """Where a node's newest rows are written: the end of its past, or scratch."""
        if node not in self._past:
            scratch = self._scratch[node]
            whole = len(scratch)
            return lambda rows: scratch if rows == whole else scratch[:rows]
        return self._seen(node, 0)

    def _seen(self, node: Node, back: int) -> Callable[[int], Array]:
        """A node's newest rows and the `back` rows before them."""
        past, bars = self._past[node], self._bars[node]

        def seen(rows: int) -> Array:
            start = self._cursor + bars
            return past[start - back : start + rows]

        return seen

    def _elementwise(self, node: kinds.Elementwise) -> Compute:
        function, target, values = ELEMENTWISE[node.function], self._target(node), self._values
        arguments = node.arguments
        pair = arguments if len(arguments) == 2 else None  # the usual case, spelled out for speed

        def compute(rows: int) -> None:
            out = values[node] = target(rows)
            if pair is not None:
                function(values[pair[0]], values[pair[1]], out=out)
            else:
                function(*[values[argument] for argument in arguments], out=out)

        return compute

    def _windowed(self, node: kinds.Windowed) -> Compute:
        function, target, values = WINDOWED[node.function], self._target(node), self._values
        seen, bars = [self._seen(a, node.bars - 1) for a in node.arguments], node.bars

        def compute(rows: int) -> None:
            out = values[node] = target(rows)
            function(*[rows_of(rows) for rows_of in seen], bars, out)

        return compute

    def _since(self, node: kinds.Since) -> Compute:
        (x,), target, values, start = node.arguments, self._target(node), self._values, node.start

        def compute(rows: int) -> None:
            out = values[node] = target(rows)
            np.copyto(out, values[x])
            if self._lowest_tick < start:
                early = self.ticks + np.arange(rows)[:, None] < start
                np.copyto(out, np.nan, where=early)

        return compute

    def _lag(self, node: kinds.Lag) -> Compute:
        seen, values = self._seen(node.arguments[0], node.bars), self._values
        keep = self._target(node) if node in self._past else None

        def compute(rows: int) -> None:
            values[node] = seen(rows)[:rows]
            if keep is not None:
                out = keep(rows)
                np.copyto(out, values[node])

        return compute

    def _source(self, node: Node) -> Compute:
        """Inputs and what other plans computed: given; keep what is looked back on."""
        keep, values = self._target(node) if node in self._past else None, self._values

        def compute(rows: int) -> None:
            if keep is not None:
                np.copyto(keep(rows), values[node])

        return compute

    def _recursion(self, group: RecursionGroup) -> Compute:
        values = self._values
        kept = [(node, self._target(node)) for node in group.nodes if node in self._past]

        def compute(rows: int) -> None:
            xs = [values[node.arguments[0]] for node in group.nodes]
            seeds = [
                values[node.arguments[1]] if node.start >= self._lowest_tick else None
                for node in group.nodes
            ]
            values.update(zip(group.nodes, group.advance(xs, seeds, self.ticks), strict=True))
            for node, keep in kept:
                np.copyto(keep(rows), values[node])

        return compute


def _constants(plan: Plan) -> dict[Node, Any]:
    arguments = [a for step in plan.steps for node in step for a in node.arguments]
    return {node: node.value for node in arguments if isinstance(node, kinds.Constant)}


def _dtype(node: Node, plan: Plan) -> type[np.floating]:
    single = isinstance(node, kinds.Elementwise) and node.function == SINGLE
    return np.float32 if single and node not in plan.sources else np.float64


def _assign_scratch(
    plan: Plan, shape: tuple[int, int], *, exclude: Mapping[Node, Array]
) -> dict[Node, Array]:
    """Give each node without a past a buffer, reusing those whose values are no longer read."""
    assigned: dict[Node, Array] = {}
    free: list[Array] = []
    for index, step in enumerate(plan.steps):
        for node in step:
            is_computed = isinstance(node, kinds.Elementwise | kinds.Windowed | kinds.Since)
            if not is_computed or node in exclude or node in plan.sources:
                continue
            if _dtype(node, plan) is np.float32:
                assigned[node] = np.empty(shape, dtype=np.float32)
            else:
                assigned[node] = free.pop() if free else np.empty(shape)
        for node, last in plan.last_use.items():
            if last == index and node in assigned and assigned[node].dtype == np.float64:
                free.append(assigned[node])
    return assigned
