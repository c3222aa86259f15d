"""Encoders as graphs: the window form, and the streaming form with its memory in and out.

Both are those of `networks.encoders`, up to rounding: sums are added in another order.
"""

from __future__ import annotations

from typing import Any, Protocol

from tradingbot.domain.errors import ConfigError
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.encoders.mlp import WindowMLP
from tradingbot.networks.encoders.recurrent import RecurrentEncoder
from tradingbot.networks.encoders.row import RowEncoder, SkipEncoder
from tradingbot.networks.encoders.transformer import TransformerEncoder
from tradingbot.serving.export.onnx_graph import OnnxGraph
from tradingbot.serving.export.recurrent_graph import RecurrentGraph
from tradingbot.serving.export.transformer_graph import TransformerGraph
from tradingbot.serving.graph_contract import MemoryTensor


class EncoderGraph(Protocol):
    """How one kind of encoder is written into a graph; F features, D numbers, W bars."""

    @property
    def memory(self) -> tuple[MemoryTensor, ...]:
        """What streaming carries from bar to bar; zeros before the first one."""

    def write_window(self, graph: OnnxGraph, window: str, known: str) -> str:
        """Return the embedding (B, D) of windows (B, W, F); the last `known` (B,) bars exist."""

    def write_stream(self, graph: OnnxGraph, row: str, memory: list[str]) -> tuple[list[str], str]:
        """Return the memory after bars (B, F), and their embeddings (B, D)."""


def describe_encoder(encoder: Encoder) -> EncoderGraph:
    """Return how an encoder is written.

    Raises:
        ConfigError: If there is no graph of its kind.
    """
    kinds: dict[type[Encoder], Any] = {
        RowEncoder: _RowGraph,
        SkipEncoder: _SkipGraph,
        WindowMLP: _WindowMLPGraph,
        RecurrentEncoder: RecurrentGraph,
        TransformerEncoder: TransformerGraph,
    }
    kind = kinds.get(type(encoder))
    if kind is None:
        names = ", ".join(each.__name__ for each in kinds)
        rule = f"an encoder must be one of {names} to be exported"
        raise ConfigError(rule, was=type(encoder).__name__)
    written: EncoderGraph = kind(encoder)
    return written


def window_model(encoder: Encoder) -> bytes:
    """Return the model `window` (B, W, F), `known` (B,) → `embedding` (B, D)."""
    graph = OnnxGraph("encoder_window")
    window = graph.add_input("window", (encoder.lookback_bars, encoder.n_features))
    known = graph.add_input("known", (), "int64")
    embedding = describe_encoder(encoder).write_window(graph, window, known)
    graph.add_output("embedding", embedding, (encoder.width,))
    return graph.to_bytes()


def stream_model(encoder: Encoder) -> bytes:
    """Return the model `row` (B, F) and memory → `embedding` (B, D) and the memory after it."""
    graph, written = OnnxGraph("encoder_stream"), describe_encoder(encoder)
    row = graph.add_input("row", (encoder.n_features,))
    before = [graph.add_input(each.name, each.shape, each.dtype) for each in written.memory]
    after, embedding = written.write_stream(graph, row, before)
    graph.add_output("embedding", embedding, (encoder.width,))
    for each, value in zip(written.memory, after, strict=True):
        graph.add_output(each.name_after, value, each.shape, each.dtype)
    return graph.to_bytes()


class _RowGraph:
    """The row itself: nothing is remembered."""

    memory: tuple[MemoryTensor, ...] = ()

    def __init__(self, encoder: RowEncoder) -> None:
        self._encoder = encoder

    def write_window(self, graph: OnnxGraph, window: str, known: str) -> str:
        """Return the last row, with the number of known bars read: it must be 1."""
        return graph.squeeze(window, 1)

    def write_stream(self, graph: OnnxGraph, row: str, memory: list[str]) -> tuple[list[str], str]:
        """Return the row."""
        return [], row


class _SkipGraph:
    """The row, then gain × what an encoder makes of it."""

    def __init__(self, encoder: SkipEncoder) -> None:
        self._encoder, self._inner = encoder, describe_encoder(encoder.inner)

    @property
    def memory(self) -> tuple[MemoryTensor, ...]:
        """The inner encoder's."""
        return self._inner.memory

    def write_window(self, graph: OnnxGraph, window: str, known: str) -> str:
        """Return the last row beside the embedding."""
        last = self._encoder.lookback_bars - 1
        row = graph.squeeze(graph.slice(window, 1, last, last + 1), 1)
        return self._beside(graph, row, self._inner.write_window(graph, window, known))

    def write_stream(self, graph: OnnxGraph, row: str, memory: list[str]) -> tuple[list[str], str]:
        """Return the row beside the embedding."""
        after, learned = self._inner.write_stream(graph, row, memory)
        return after, self._beside(graph, row, learned)

    def _beside(self, graph: OnnxGraph, row: str, learned: str) -> str:
        scaled = graph.apply("Mul", learned, graph.constant(self._encoder.gain))
        return graph.apply("Concat", row, scaled, axis=-1)


class _WindowMLPGraph:
    """The flattened window and its flags through layers: no convolution is left over."""

    def __init__(self, encoder: WindowMLP) -> None:
        self._encoder = encoder

    @property
    def memory(self) -> tuple[MemoryTensor, ...]:
        """The last W − 1 rows and their flags."""
        encoder = self._encoder
        shape = (encoder.lookback_bars - 1, encoder.n_features + 1)
        return (MemoryTensor(name="rows", shape=shape),)

    def write_window(self, graph: OnnxGraph, window: str, known: str) -> str:
        """Return the embedding of a window whose unknown rows are zero and flagged so."""
        exists = graph.apply("Cast", graph.known_bars(known, self._encoder.lookback_bars), to=1)
        flag = graph.unsqueeze(exists, 2)
        kept = graph.apply("Mul", window, flag)
        return self._encode(graph, graph.apply("Concat", kept, flag, axis=-1))

    def write_stream(self, graph: OnnxGraph, row: str, memory: list[str]) -> tuple[list[str], str]:
        """Return the rows without the oldest, and the embedding of all of them."""
        # A flag of 1 for each row of the batch: its first number times 0, plus 1.
        first = graph.slice(row, 1, 0, 1)
        flag = graph.apply(
            "Add", graph.apply("Mul", first, graph.constant(0.0)), graph.constant(1.0)
        )
        flagged = graph.unsqueeze(graph.apply("Concat", row, flag, axis=-1), 1)
        rows = graph.apply("Concat", memory[0], flagged, axis=1)
        count = self._encoder.lookback_bars
        return [graph.slice(rows, 1, 1, count)], self._encode(graph, rows)

    def _encode(self, graph: OnnxGraph, rows: str) -> str:
        hidden = graph.reshape(rows, 0, self._encoder.flatten.in_features)
        for layer in (self._encoder.flatten, *self._encoder.layers):
            hidden = graph.apply("Gelu", graph.linear(hidden, layer))
        return graph.layer_norm(hidden, self._encoder.norm)
