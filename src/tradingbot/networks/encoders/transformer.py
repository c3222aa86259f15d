"""The transformer: causal attention over a sliding window, with learned biases over the distance.

Layer l attends to the last `span_l` bars. Memories add up over layers, so spans are chosen with
Σ (span_l − 1) + 1 = `lookback_bars`: the embedding of a bar in a whole history then depends on the
same bars as in a window of its own, and the two are one number. Positions enter as distances only,
so it does not matter where a bar stands in the table.

Sources: Vaswani et al. 2017; pre-norm, Xiong et al. 2020; biases over the distance begin as in
Press et al. 2022; windows, Beltagy et al. 2020.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig, Memory
from tradingbot.networks.initialisation import drawn_linear

BLOCK_BARS = 16
"""Queries that share one matrix product; costs grow with T · (BLOCK_BARS + span)."""
_MASKED = -1.0e9
"""Score of what may not be seen: finite, so that a bar that does not exist yields no NaN."""


def layer_spans(lookback_bars: int, n_layers: int) -> tuple[int, ...]:
    """Share a lookback out among layers: Σ (span − 1) + 1 = lookback, wider ones first.

    Example:
        >>> layer_spans(24, 4)
        (7, 7, 7, 6)
        >>> layer_spans(2, 3)
        (2, 1, 1)
    """
    each, more = divmod(lookback_bars - 1, n_layers)
    return tuple(each + (layer < more) + 1 for layer in range(n_layers))


class TransformerEncoder(Encoder):
    """Input projection → attention blocks → layer norm."""

    def __init__(self, config: EncoderConfig, n_features: int, generator: torch.Generator) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards."""
        super().__init__()
        self.n_features, self.width = n_features, config.width
        self.lookback_bars = config.lookback_bars
        self.spans = layer_spans(config.lookback_bars, config.n_layers)
        self.project = drawn_linear(n_features, config.width, generator)
        self.blocks = nn.ModuleList(_Block(config, span, generator) for span in self.spans)
        self.norm = nn.LayerNorm(config.width)

    def padded_bars(self, n_bars: int) -> int:
        """Return whole blocks of queries: what is cut off a block is strided, or a smaller one."""
        return -(-n_bars // BLOCK_BARS) * BLOCK_BARS

    def forward(
        self, table: Tensor, first: Tensor | None = None, n_last: int | None = None
    ) -> Tensor:
        """Encode histories in time that is linear in T; see `Encoder.forward`."""
        n_bars = table.shape[1]
        wanted = n_bars if n_last is None else n_last
        bar = torch.arange(n_bars, device=table.device)[None]
        exists = bar >= (bar[:, :1] if first is None else first[:, None])
        # A block needs as many bars as the blocks after it look back, and no more.
        needed = [wanted + self.lookback_bars - 1]
        for span in self.spans:
            needed.append(needed[-1] - (span - 1))
        hidden = self.project(table[:, -needed[0] :])
        exists = exists[:, -needed[0] :]
        for block, count in zip(self._each_block(), needed[1:], strict=True):
            hidden = block(hidden, exists, min(count, hidden.shape[1]))
            exists = exists[:, -count:]
        return _normed(self.norm, hidden)

    def attention(self, table: Tensor, *, last_bars: int) -> Tensor:
        """Return how much the last block looks at each of its bars, (M, last_bars, span).

        Args:
            table: (M, T, F).
            last_bars: How many of the last bars are asked, at most T.

        Returns:
            Mean over heads; place l is the bar l bars back. Each bar's weights sum to 1; bars that
            do not exist have none.
        """
        hidden, exists = self.project(table), torch.ones_like(table[:1, :, 0], dtype=torch.bool)
        for block in self._each_block()[:-1]:
            hidden = block(hidden, exists, hidden.shape[1])
        return self._each_block()[-1].weights_by_lag(hidden, exists, last_bars)

    def begin_stream(self, n_series: int, *, first: int = 0, lead: int = 0) -> Memory:
        """Return the memory of B series of which nothing was seen yet; see `Encoder.begin_stream`.

        It is: bars seen (B, 1); for every block the place (B, L) of the next bar among the queries
        that share a matrix product in the pass over a whole history, of which the first series'
        counts for all; and for every block the keys and values (B, span − 1, 2D) of the bars
        before.
        """
        weight = self.project.weight
        seen = torch.zeros(n_series, 1, dtype=torch.int64, device=weight.device)
        caches = [weight.new_zeros(n_series, span - 1, 2 * self.width) for span in self.spans]
        behind, places = self.lookback_bars - 1, []
        for span in self.spans:
            behind -= span - 1
            # Where the first query of this block stands: it is asked for no bar before.
            places.append((first - max(0, lead - behind)) % BLOCK_BARS)
        # Places stay on the CPU: they are read at every bar.
        return (seen, torch.tensor([places]).repeat(n_series, 1), *caches)

    def stream(self, memory: Memory, row: Tensor) -> tuple[Memory, Tensor]:
        """Take one bar; costs one pass of one bar and a block of scores per layer."""
        seen, places, *caches = memory
        hidden = self.project(row.contiguous()[:, None])
        kept = []
        for block, cache, place in zip(self._each_block(), caches, places[0].tolist(), strict=True):
            age = torch.arange(cache.shape[1], -1, -1, device=row.device)
            hidden, cache = block.advance(hidden, cache, seen >= age, place)
            kept.append(cache)
        # Longer than any span says no more than the longest span.
        seen = (seen + 1).clamp_max(self.lookback_bars)
        places = (places + 1) % BLOCK_BARS
        return (seen, places, *kept), _normed(self.norm, hidden).squeeze(1)

    def _each_block(self) -> list[_Block]:
        return cast("list[_Block]", list(self.blocks))


class _Block(nn.Module):
    """Attention over the last `span` bars, then a layer per bar; both on normed inputs."""

    def __init__(self, config: EncoderConfig, span: int, generator: torch.Generator) -> None:
        super().__init__()
        width, inner = config.width, config.width * config.feedforward_factor
        self.n_heads, self.span = config.n_heads, span
        self.attention_norm, self.inner_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query = drawn_linear(width, width, generator)
        self.key_value = drawn_linear(width, 2 * width, generator, blocks=2)
        self.output = drawn_linear(width, width, generator)
        self.inner = drawn_linear(width, inner, generator)
        self.outer = drawn_linear(inner, width, generator)
        self.distance_bias = nn.Parameter(_first_bias(config.n_heads, span))

    def forward(self, hidden: Tensor, exists: Tensor, n_out: int) -> Tensor:
        """Map bars (M, T, D), of which `exists` (M or 1, T), to the last `n_out` of them."""
        normed = _normed(self.attention_norm, hidden)
        key_value = self.key_value(normed)
        return self._finish(hidden[:, -n_out:], normed[:, -n_out:], key_value, exists)

    def advance(
        self, hidden: Tensor, cache: Tensor, exists: Tensor, place: int
    ) -> tuple[Tensor, Tensor]:
        """Map one bar (B, 1, D) with the keys and values of the bars before; return both.

        The bar stands alone at its place in a block of queries, its keys where `_weigh` lays them:
        every sum then has the terms of the pass over a whole history in the same order, and
        zeros. One query by itself would go through a matrix-vector product, which adds otherwise.

        Args:
            hidden: (B, 1, D).
            cache: (B, span − 1, 2D).
            exists: (B, span), of the cached bars and this one.
            place: Of the bar in its block of queries, 0 … BLOCK_BARS − 1.
        """
        normed = _normed(self.attention_norm, hidden)
        key_value = torch.cat([cache, self.key_value(normed).to(cache.dtype)], dim=1)
        around = (place, BLOCK_BARS - 1 - place)
        query, laid = (
            functional.pad(part, (0, 0, *around)) for part in (self.query(normed), key_value)
        )
        attended = self._attend(query, laid, functional.pad(exists, around))
        # Contiguous: a layer adds its bias in another order to strided rows.
        here = attended[:, place : place + 1].contiguous()
        return self._feed_forward(hidden, here), key_value[:, 1:]

    def weights_by_lag(self, hidden: Tensor, exists: Tensor, n_out: int) -> Tensor:
        """Return the weights (M, n_out, span) of bars (M, T, D), mean over heads, by distance."""
        normed = _normed(self.attention_norm, hidden)
        weights, _ = self._weigh(self.query(normed[:, -n_out:]), self.key_value(normed), exists)
        mean = weights.mean(2)
        size = mean.shape[2]
        # Query i sees key i + span − 1 − lag.
        lag = torch.arange(self.span, device=mean.device)
        key = torch.arange(size, device=mean.device)[:, None] + self.span - 1 - lag
        by_lag = mean.gather(3, key.expand(*mean.shape[:2], *key.shape))
        return by_lag.flatten(1, 2)[:, :n_out]

    def _finish(self, hidden: Tensor, normed: Tensor, key_value: Tensor, exists: Tensor) -> Tensor:
        return self._feed_forward(hidden, self._attend(self.query(normed), key_value, exists))

    def _feed_forward(self, hidden: Tensor, attended: Tensor) -> Tensor:
        hidden = hidden + self.output(attended)
        inner = functional.gelu(self.inner(_normed(self.inner_norm, hidden)))
        outer: Tensor = self.outer(inner)
        return hidden + outer

    def _attend(self, query: Tensor, key_value: Tensor, exists: Tensor) -> Tensor:
        """Let queries (M, Q, D) see keys and values (M, K, 2D); the last of both is one bar."""
        n_series, n_queries, width = query.shape
        weights, values = self._weigh(query, key_value, exists)
        mixed: Tensor = weights @ values.transpose(-1, -2)
        return mixed.transpose(2, 3).reshape(n_series, -1, width)[:, :n_queries]

    def _weigh(self, query: Tensor, key_value: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
        """Return weights (M, blocks, H, C, span − 1 + C) of keys and the values they weigh.

        Queries are cut into blocks of C bars; a block sees its own C bars and the span − 1 before.
        """
        n_series, n_queries, width = query.shape
        before = self.span - 1
        size = min(BLOCK_BARS, n_queries)
        n_blocks = -(-n_queries // size)
        behind = n_blocks * size - n_queries
        ahead = before - (key_value.shape[1] - n_queries)
        heads = (self.n_heads, width // self.n_heads)
        blocks = functional.pad(query, (0, 0, 0, behind)).view(n_series, n_blocks, size, *heads)
        # (M, blocks, 2 · heads, width of a head, before + C)
        seen = functional.pad(key_value, (0, 0, ahead, behind)).unfold(1, before + size, size)
        keys, values = seen.view(*seen.shape[:2], 2, *heads, -1).unbind(2)
        there = functional.pad(exists, (ahead, behind)).unfold(1, before + size, size)
        absent = torch.where(there, 0.0, _MASKED).to(self.distance_bias.dtype)
        scores = blocks.transpose(2, 3) @ keys
        scores = scores / math.sqrt(heads[1]) + self._bias(size) + absent[:, :, None, None]
        return torch.softmax(scores, dim=-1).to(values.dtype), values

    def _bias(self, size: int) -> Tensor:
        """Lay biases out (H, C, span − 1 + C): query i sees key j at distance i + span − 1 − j."""
        ends = functional.pad(self.distance_bias.flip(-1), (size - 1, size - 1), value=_MASKED)
        return ends.unfold(-1, self.span - 1 + size, 1).flip(-2)


def _first_bias(n_heads: int, span: int) -> Tensor:
    """Begin with heads that forget at different rates, from 1/2 per bar to almost never."""
    slopes = 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)
    return -slopes[:, None] * torch.arange(span)


def _normed(norm: nn.LayerNorm, hidden: Tensor) -> Tensor:
    normed: Tensor = norm(hidden)
    return normed
