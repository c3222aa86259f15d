"""The transformer as a graph: a window with its attention banded, a stream by keys and values.

The stream asks one query of the last `span` keys; PyTorch's lays it among others for equal bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.networks.encoders.transformer import TransformerEncoder
from tradingbot.serving.export.onnx_graph import OnnxGraph
from tradingbot.serving.graph_contract import MemoryTensor

_MASKED = -1.0e9
"""Score of what may not be seen, as in `networks.encoders.transformer`."""


class TransformerGraph:
    """Writes a `TransformerEncoder`: L blocks of H heads, width D, d = D ÷ H."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        self._encoder = encoder
        self._blocks: list[Any] = [*encoder.blocks]

    @property
    def memory(self) -> tuple[MemoryTensor, ...]:
        """Bars seen, up to W, and for every block the keys and values of the bars before."""
        width = 2 * self._encoder.width
        return (
            MemoryTensor(name="seen", shape=(1,), dtype="int64"),
            *(
                MemoryTensor(name=f"key_value_{layer}", shape=(span - 1, width))
                for layer, span in enumerate(self._encoder.spans)
            ),
        )

    def write_window(self, graph: OnnxGraph, window: str, known: str) -> str:
        """Return the embedding of the last bar; each block keeps only the bars still needed."""
        bars = self._encoder.lookback_bars
        exists = graph.known_bars(known, bars)
        hidden = graph.linear(window, self._encoder.project)
        for block in self._blocks:
            left = bars - (block.span - 1)
            absent = _absent(graph, exists)
            bias = graph.constant(_banded_bias(block, bars, left))
            hidden = self._attend_window(graph, block, hidden, (bars, left), (bias, absent))
            exists = graph.slice(exists, 1, bars - left, bars)
            bars = left
        return graph.squeeze(graph.layer_norm(hidden, self._encoder.norm), 1)

    def write_stream(self, graph: OnnxGraph, row: str, memory: list[str]) -> tuple[list[str], str]:
        """Take one bar: one query per block."""
        seen, *caches = memory
        hidden = graph.unsqueeze(graph.linear(row, self._encoder.project), 1)
        kept = []
        for block, cache in zip(self._blocks, caches, strict=True):
            span = block.span
            age = graph.constant([[*range(span - 1, -1, -1)]], "int64")
            absent = _absent(graph, graph.apply("GreaterOrEqual", seen, age))
            normed = graph.layer_norm(hidden, block.attention_norm)
            newest = graph.linear(normed, block.key_value)
            key_value = graph.apply("Concat", cache, newest, axis=1) if span > 1 else newest
            bias = graph.constant(block.distance_bias.flip(-1)[:, None])
            query = graph.linear(normed, block.query)
            attended = self._attend(graph, block, query, key_value, (bias, absent))
            hidden = _feed_forward(graph, block, hidden, attended)
            kept.append(graph.slice(key_value, 1, 1, span) if span > 1 else cache)
        more = graph.apply("Add", seen, graph.constant([1], "int64"))
        most = graph.constant([self._encoder.lookback_bars], "int64")
        embedding = graph.squeeze(graph.layer_norm(hidden, self._encoder.norm), 1)
        return [graph.apply("Min", more, most), *kept], embedding

    def _attend_window(
        self,
        graph: OnnxGraph,
        block: Any,
        hidden: str,
        counts: tuple[int, int],
        masks: tuple[str, str],
    ) -> str:
        """Map `counts[0]` bars (B, T, D) to the last `counts[1]` of them."""
        bars, left = counts
        normed = graph.layer_norm(hidden, block.attention_norm)
        key_value = graph.linear(normed, block.key_value)
        asked = graph.slice(normed, 1, bars - left, bars)
        query = graph.linear(asked, block.query)
        attended = self._attend(graph, block, query, key_value, masks)
        return _feed_forward(graph, block, graph.slice(hidden, 1, bars - left, bars), attended)

    def _attend(
        self, graph: OnnxGraph, block: Any, query: str, key_value: str, masks: tuple[str, str]
    ) -> str:
        """Let queries (B, Q, D) see keys, values (B, K, 2D); masks (H, Q, K) and (B, 1, 1, K)."""
        heads, width = block.n_heads, self._encoder.width // block.n_heads
        keys, values = graph.split("Split", 2, key_value, axis=-1, num_outputs=2)
        queries, keys, values = (
            graph.reshape(each, 0, -1, heads, width) for each in (query, keys, values)
        )
        queries, values = (
            graph.apply("Transpose", each, perm=[0, 2, 1, 3]) for each in (queries, values)
        )
        keys = graph.apply("Transpose", keys, perm=[0, 2, 3, 1])
        scores = graph.apply("MatMul", queries, keys)
        scores = graph.apply("Div", scores, graph.constant(math.sqrt(width)))
        for mask in masks:
            scores = graph.apply("Add", scores, mask)
        mixed = graph.apply("MatMul", graph.apply("Softmax", scores, axis=-1), values)
        ordered = graph.apply("Transpose", mixed, perm=[0, 2, 1, 3])
        return graph.reshape(ordered, 0, -1, self._encoder.width)


def _absent(graph: OnnxGraph, exists: str) -> str:
    """Return scores (B, 1, 1, K) of bars (B, K) that do not exist: masked; else 0."""
    score = graph.apply("Where", exists, graph.constant(0.0), graph.constant(_MASKED))
    return graph.unsqueeze(score, 1, 2)


def _banded_bias(block: Any, n_keys: int, n_queries: int) -> NDArray[np.float32]:
    """Return biases (H, Q, K): key j of the K is i + (K − Q) − j bars before query i."""
    bias = block.distance_bias.detach().numpy()
    query = np.arange(n_queries)[:, None] + n_keys - n_queries
    distance = query - np.arange(n_keys)[None]
    inside = (distance >= 0) & (distance < block.span)
    laid = bias[:, np.clip(distance, 0, block.span - 1)]
    return np.where(inside, laid, np.float32(_MASKED)).astype(np.float32)


def _feed_forward(graph: OnnxGraph, block: Any, hidden: str, attended: str) -> str:
    hidden = graph.apply("Add", hidden, graph.linear(attended, block.output))
    inner = graph.linear(graph.layer_norm(hidden, block.inner_norm), block.inner)
    outer = graph.linear(graph.apply("Gelu", inner), block.outer)
    return graph.apply("Add", hidden, outer)
