"""Evaluates a plan over time, some rows at a time, keeping just the past that it needs.

Batch hands it long blocks, streaming single rows: both run this one piece of code, and no value
depends on where a block ends. Each column counts its own ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.graph.nodes import (
    Constant,
    CrossSection,
    Elementwise,
    Input,
    Lag,
    Node,
    Recursive,
    Since,
    Windowed,
)
from tradingbot.features.graph.operations import ELEMENTWISE, SINGLE, WINDOWED, Array
from tradingbot.features.graph.plan import Plan
from tradingbot.features.graph.recursion import RecursionGroup

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
        self._plan = plan
        self.ticks: NDArray[np.int64] = np.zeros(columns, dtype=np.int64)
        self._lowest_tick = 0
        self._capacity, self._cursor = capacity, 0
        self._past: dict[Node, Array] = {
            node: np.full((bars + capacity, columns), np.nan, dtype=_dtype(node))
            for node, bars in plan.history_bars.items()
            if bars
        }
        self._scratch = _assign_scratch(plan, (rows, columns), exclude=self._past)
        self._groups = {
            step: RecursionGroup([n for n in step if isinstance(n, Recursive)], columns, rows=rows)
            for step in plan.steps
            if isinstance(step[0], Recursive)
        }
        self._values: dict[Node, Array | float] = {
            argument: argument.value
            for step in plan.steps
            for node in step
            for argument in node.arguments
            if isinstance(argument, Constant)
        }

    def advance(self, inputs: Mapping[Node, Array], rows: int, emit: Emit) -> None:
        """Compute the next `rows` rows of every node and emit the outputs.

        Args:
            inputs: Values (R, N) of each input (or cross-section) node.
            rows: R.
            emit: Receives each output as soon as it is known.
        """
        if self._cursor + rows > self._capacity:
            for node, past in self._past.items():
                bars = self._plan.history_bars[node]
                past[:bars] = past[self._cursor : self._cursor + bars]
            self._cursor = 0
        needed_until, outputs, values = self._plan.needed_until, self._plan.outputs, self._values
        for step in self._plan.steps:
            if step in self._groups:
                self._advance_group(step, rows)
            else:
                (node,) = step
                if needed_until[node] < self._lowest_tick:
                    continue
                values[node] = self._compute(node, inputs, rows)
            for node in step:
                if node in outputs:
                    emit(node, values[node])  # type: ignore[arg-type]

    def commit(self, rows: int, present: NDArray[np.bool_] | None = None) -> None:
        """Keep the rows just computed as past, in the columns that are `present` (None: all).

        Where a column is not present (only allowed for one row), its past stays as it was.
        """
        for group in self._groups.values():
            group.commit(rows, present)
        if present is not None:
            absent = np.flatnonzero(~present)
            for node, past in self._past.items():
                end = self._cursor + self._plan.history_bars[node]
                past[self._cursor + 1 : end + 1, absent] = past[self._cursor : end, absent]
        self._cursor += rows
        self.ticks += rows if present is None else present
        self._lowest_tick = int(self.ticks.min()) if len(self.ticks) else 0

    def snapshot(self) -> dict[str, Array]:
        """Copy the state: ticks, the past that is looked back on, and the recursions."""
        state: dict[str, Array] = {"ticks": self.ticks.copy()}
        for node, past in self._past.items():
            bars = self._plan.history_bars[node]
            state[f"past/{node.digest}"] = past[self._cursor : self._cursor + bars].copy()
        for group in self._groups.values():
            for node, latest in zip(group.nodes, group.latest, strict=True):
                state[f"latest/{node.digest}"] = latest.copy()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a state that `snapshot` gave for the same plan and columns."""
        self.ticks[:] = state["ticks"]
        self._lowest_tick = int(self.ticks.min()) if len(self.ticks) else 0
        self._cursor = 0
        for node, past in self._past.items():
            past[: self._plan.history_bars[node]] = state[f"past/{node.digest}"]
        for group in self._groups.values():
            for node, latest in zip(group.nodes, group.latest, strict=True):
                latest[:] = state[f"latest/{node.digest}"]

    def _advance_group(self, step: tuple[Node, ...], rows: int) -> None:
        group, values = self._groups[step], self._values
        xs = [values[node.arguments[0]] for node in group.nodes]
        seeds = [
            values[node.arguments[1]] if node.start >= self._lowest_tick else None
            for node in group.nodes
        ]
        results = group.advance(xs, seeds, self.ticks)  # type: ignore[arg-type]
        for node, result in zip(group.nodes, results, strict=True):
            values[node] = result
            if node in self._past:
                target = self._target(node, rows)
                np.copyto(target, result)
                values[node] = target

    def _compute(self, node: Node, inputs: Mapping[Node, Array], rows: int) -> Array:
        if isinstance(node, Elementwise):
            target = self._target(node, rows)
            ELEMENTWISE[node.function](*[self._values[a] for a in node.arguments], out=target)
            return target
        if isinstance(node, Windowed):
            target = self._target(node, rows)
            seen = self._seen(node.arguments[0], node.bars - 1, rows + node.bars - 1)
            WINDOWED[node.function](seen, node.bars, target)
            return target
        if isinstance(node, Since):
            target = self._target(node, rows)
            np.copyto(target, self._values[node.arguments[0]])
            if self._lowest_tick < node.start:
                ticks = self.ticks + np.arange(rows)[:, None]
                np.copyto(target, np.nan, where=ticks < node.start)
            return target
        if isinstance(node, Lag):
            values = self._seen(node.arguments[0], node.bars, rows)
        else:
            assert isinstance(node, Input | CrossSection)
            values = inputs[node]
        if node not in self._past:
            return values
        target = self._target(node, rows)
        np.copyto(target, values)
        return target

    def _target(self, node: Node, rows: int) -> Array:
        past = self._past.get(node)
        if past is None:
            return self._scratch[node][:rows]
        start = self._cursor + self._plan.history_bars[node]
        return past[start : start + rows]

    def _seen(self, node: Node, back: int, count: int) -> Array:
        """`count` rows of a node's values, from `back` rows before the newest block on."""
        start = self._cursor + self._plan.history_bars[node] - back
        return self._past[node][start : start + count]


def _dtype(node: Node) -> type[np.floating]:
    single = isinstance(node, Elementwise) and node.function == SINGLE
    return np.float32 if single else np.float64


def _assign_scratch(
    plan: Plan, shape: tuple[int, int], *, exclude: Mapping[Node, Array]
) -> dict[Node, Array]:
    """Give each node without a past a buffer, reusing those whose values are no longer read."""
    assigned: dict[Node, Array] = {}
    free: list[Array] = []
    for index, step in enumerate(plan.steps):
        for node in step:
            if node in exclude or not isinstance(node, Elementwise | Windowed | Since):
                continue
            if _dtype(node) is np.float32:
                assigned[node] = np.empty(shape, dtype=np.float32)
            else:
                assigned[node] = free.pop() if free else np.empty(shape)
        for node, last in plan.last_use.items():
            if last == index and node in assigned and assigned[node].dtype == np.float64:
                free.append(assigned[node])
    return assigned
