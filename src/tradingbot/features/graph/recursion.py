"""Recursions that share a form, advanced together row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.graph.nodes import Recursive
from tradingbot.features.graph.operations import Array


class RecursionGroup:
    """K recursions over N columns; the state is their last values, NaN before their start."""

    def __init__(self, nodes: Sequence[Recursive], columns: int, *, rows: int) -> None:
        shape = (len(nodes), columns)
        self.nodes = tuple(nodes)
        self.latest: Array = np.full(shape, np.nan)
        self._starts = [node.start for node in nodes]
        weights = [node.weight for node in nodes]
        self._weights = (
            None
            if weights[0] is None
            else np.repeat(np.array(weights, dtype=np.float64)[:, None], columns, axis=1)
        )
        self._x: Array = np.empty((rows, *shape))
        self._out: Array = np.empty((rows, *shape))
        self._gap: Array = np.empty(shape)

    def advance(
        self, xs: Sequence[Array], seeds: Sequence[Array | None], ticks: NDArray[np.int64]
    ) -> list[Array]:
        """Step over R rows without touching the state.

        Args:
            xs: K arrays (R, N) to smooth or add up.
            seeds: K arrays (R, N), None once every column is past that recursion's start.
            ticks: (N,) how many rows each column has seen before these.

        Returns:
            K arrays (R, N), valid until the next call.
        """
        length = len(xs[0])
        x, out = self._x[:length], self._out[:length]
        for k, values in enumerate(xs):
            x[:, k] = values
        held: list[bool] = np.asarray(np.isnan(x).any(axis=(1, 2))).tolist()
        starting = self._find_starts(seeds, ticks, length)
        previous, gap, weights = self.latest, self._gap, self._weights
        # Short arrays, many rows: what is not looked up and not called here is half the time.
        add, subtract, multiply = np.add, np.subtract, np.multiply
        for row, (now, result) in enumerate(zip(x, out, strict=True)):
            if weights is None:
                add(previous, now, result)
            else:
                subtract(now, previous, gap)
                multiply(gap, weights, gap)
                add(previous, gap, result)
            if held[row]:
                np.copyto(result, previous, where=np.isnan(now))
            for k, seed in starting.get(row, ()) if starting else ():
                np.copyto(result[k], seed[row], where=ticks + row == self._starts[k])
            previous = result
        return [out[:, k] for k in range(len(self.nodes))]

    def _find_starts(
        self, seeds: Sequence[Array | None], ticks: NDArray[np.int64], length: int
    ) -> dict[int, list[tuple[int, Array]]]:
        """Rows in which some column begins, and the recursions (with their seeds) that do so."""
        starting: dict[int, list[tuple[int, Array]]] = {}
        pending = [(k, seed) for k, seed in enumerate(seeds) if seed is not None]
        if not (pending and ticks.size):
            return starting
        first, last = int(ticks.min()), int(ticks.max()) + length - 1
        for k, seed in pending:
            if not first <= self._starts[k] <= last:
                continue
            rows = self._starts[k] - ticks
            for row in set(rows[(rows >= 0) & (rows < length)].tolist()):
                starting.setdefault(row, []).append((k, seed))
        return starting

    def commit(self, rows: int, present: NDArray[np.bool_] | None) -> None:
        """Make the last of `rows` rows the state, in the columns that are `present` (None: all)."""
        latest = self._out[rows - 1]
        if present is None:
            np.copyto(self.latest, latest)
        else:
            np.copyto(self.latest, latest, where=present)
