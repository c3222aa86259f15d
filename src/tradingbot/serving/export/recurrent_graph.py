"""The LSTM as a graph: a window is unrolled over its W bars, a stream advances W lanes at once."""

from __future__ import annotations

from typing import Any

from tradingbot.networks.encoders.recurrent import RecurrentEncoder
from tradingbot.serving.export.onnx_graph import OnnxGraph
from tradingbot.serving.graph_contract import MemoryTensor

_State = tuple[str, str]
"""Hidden and cell state of a layer."""


class RecurrentGraph:
    """Writes a `RecurrentEncoder`."""

    def __init__(self, encoder: RecurrentEncoder) -> None:
        self._encoder = encoder
        self._cells: list[Any] = [*encoder.cells]

    @property
    def memory(self) -> tuple[MemoryTensor, ...]:
        """Hidden and cell states (W, D) of each layer: one lane per window under way."""
        shape = (self._encoder.lookback_bars, self._encoder.width)
        return tuple(
            MemoryTensor(name=f"{kind}_{layer}", shape=shape)
            for layer in range(len(self._cells))
            for kind in ("hidden", "state")
        )

    def write_window(self, graph: OnnxGraph, window: str, known: str) -> str:
        """Return the embedding after W steps; states stay zero while bars do not exist."""
        bars = self._encoder.lookback_bars
        entered = graph.linear(window, self._cells[0].enter)
        memory: list[_State | None] = [None for _ in self._cells]
        for bar in range(bars):
            gates = graph.squeeze(graph.slice(entered, 1, bar, bar + 1), 1)
            age = graph.constant([bars - 1 - bar], "int64")
            exists = graph.apply("Cast", graph.apply("Greater", known, age), to=1)
            memory = [*self._step(graph, gates, memory, graph.unsqueeze(exists, 1))]
        last = memory[-1]
        assert last is not None
        return graph.layer_norm(last[0], self._encoder.norm)

    def write_stream(self, graph: OnnxGraph, row: str, memory: list[str]) -> tuple[list[str], str]:
        """Advance every lane; lane 0 is complete, and an empty one is added at the end."""
        bars = self._encoder.lookback_bars
        gates = graph.linear(graph.unsqueeze(row, 1), self._cells[0].enter)
        pairs: list[_State | None] = [*zip(memory[::2], memory[1::2], strict=True)]
        states = [value for pair in self._step(graph, gates, pairs, None) for value in pair]
        complete = graph.squeeze(graph.slice(states[-2], 1, 0, 1), 1)
        after = []
        for value in states:
            rest = graph.slice(value, 1, 1, bars) if bars > 1 else None
            empty = graph.apply("Mul", graph.slice(value, 1, 0, 1), graph.constant(0.0))
            after.append(empty if rest is None else graph.apply("Concat", rest, empty, axis=1))
        return after, graph.layer_norm(complete, self._encoder.norm)

    def _step(
        self, graph: OnnxGraph, gates: str, memory: list[_State | None], exists: str | None
    ) -> list[_State]:
        """Advance every layer by a bar; `exists` (B, 1) times what it holds."""
        after: list[_State] = []
        for layer, (cell, before) in enumerate(zip(self._cells, memory, strict=True)):
            entered = gates if layer == 0 else graph.linear(after[-1][0], cell.enter)
            hidden, state = self._advance(graph, cell, entered, before)
            if exists is not None:
                hidden = graph.apply("Mul", hidden, exists)
                state = graph.apply("Mul", state, exists)
            after.append((hidden, state))
        return after

    def _advance(self, graph: OnnxGraph, cell: Any, entered: str, before: _State | None) -> _State:
        """Return hidden and state after gates (…, 4D); None before is zeros."""
        gates = entered
        if before is not None:
            again = graph.apply("MatMul", before[0], graph.constant(cell.again.t()))
            gates = graph.apply("Add", entered, again)
        enter, keep, candidate, leave = graph.split("Split", 4, gates, axis=-1, num_outputs=4)
        opened = graph.apply("Sigmoid", enter)
        state = graph.apply("Mul", opened, graph.apply("Tanh", candidate))
        if before is not None:
            kept = graph.apply("Mul", graph.apply("Sigmoid", keep), before[1])
            state = graph.apply("Add", kept, state)
        shown = graph.apply("Mul", graph.apply("Sigmoid", leave), graph.apply("Tanh", state))
        return shown, state
