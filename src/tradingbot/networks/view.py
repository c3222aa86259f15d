"""How rows of the exogenous table are seen: ready embeddings, an encoder that learns, live bars."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.domain.errors import ConfigError
from tradingbot.networks.embedding import CHUNK_BARS, autocast, embed_table
from tradingbot.networks.encoders.encoder import Encoder, Memory
from tradingbot.networks.precision import Precision


class View(nn.Module, ABC):
    """Turns row numbers (series · T + bar) into embeddings (…, D)."""

    width: int
    """D."""

    @abstractmethod
    def look(self, row: Tensor) -> Tensor:
        """Return embeddings (…, D) of rows (…) without gradients, as of the last `refresh`."""

    @abstractmethod
    def forward(self, row: Tensor) -> Tensor:
        """Return embeddings (…, D) of rows (…), with gradients where something can learn."""

    @abstractmethod
    def segments(self, first: Tensor, length: int) -> Tensor:
        """Return embeddings (L, length, D) of runs of rows that begin at `first` (L,).

        With gradients, and for an encoder much cheaper than row by row: bars share their past. A
        run stays within its series.
        """

    @abstractmethod
    def refresh(self) -> None:
        """Bring `look` up to date with the weights."""


class TableView(View):
    """Embeddings that do not change: features as they are, or those of a frozen encoder."""

    table: Tensor

    def __init__(self, table: Tensor) -> None:
        """Keep a table (M, T, D); it is shared, not copied."""
        super().__init__()
        self.register_buffer("table", table.reshape(-1, table.shape[-1]), persistent=False)
        self.width = table.shape[-1]

    def look(self, row: Tensor) -> Tensor:
        """Gather rows."""
        return _gather(self.table, row)

    def forward(self, row: Tensor) -> Tensor:
        """Gather rows; there is nothing to learn."""
        return self.look(row)

    def segments(self, first: Tensor, length: int) -> Tensor:
        """Gather runs of rows."""
        return self.look(first[:, None] + torch.arange(length, device=first.device))

    def refresh(self) -> None:
        """Nothing changes."""


class EncoderView(View):
    """Embeddings of an encoder that learns: `look` is from a table, the rest has gradients.

    The table of embeddings follows the weights at `refresh` only; call it after weights were
    stepped or loaded. It is no part of the module's state.
    """

    features: Tensor
    embeddings: Tensor

    def __init__(
        self,
        encoder: Encoder,
        table: Tensor,
        *,
        precision: Precision = "float32",
        chunk_bars: int | None = None,
    ) -> None:
        """Keep a table (M, T, F), shared, and encode it; see `embed_table`."""
        super().__init__()
        self.encoder, self.width = encoder, encoder.width
        self.precision: Precision = precision
        self.chunk_bars = chunk_bars
        self.register_buffer("features", table, persistent=False)
        embeddings = table.new_empty(*table.shape[:2], self.width)
        self.register_buffer("embeddings", embeddings, persistent=False)
        self.refresh()

    def look(self, row: Tensor) -> Tensor:
        """Gather embeddings as of the last refresh."""
        return _gather(self.embeddings.view(-1, self.width), row)

    def forward(self, row: Tensor) -> Tensor:
        """Encode a window for every row."""
        runs = self._encode(row.reshape(-1), 1)
        return runs.view(*row.shape, self.width)

    def segments(self, first: Tensor, length: int) -> Tensor:
        """Encode runs in one pass over length + W − 1 bars each."""
        return self._encode(first, length)

    def refresh(self) -> None:
        """Encode the table anew, in chunks, without gradients."""
        embed_table(
            self.encoder,
            self.features,
            precision=self.precision,
            chunk_bars=self.chunk_bars,
            out=self.embeddings,
        )

    def _encode(self, first: Tensor, length: int) -> Tensor:
        """Encode runs (L, length, D) of rows that begin at `first` (L,)."""
        before = self.encoder.lookback_bars - 1
        bar = first % self.features.shape[1]
        missing = (before - bar).clamp_min(0)
        ages = torch.arange(-before, length, device=first.device)
        # Bars before the series are masked by the encoder; any row may stand in for them.
        rows = torch.maximum(first[:, None] + ages, (first - bar)[:, None])
        seen = _gather(self.features.view(-1, self.features.shape[-1]), rows)
        with autocast(seen.device, self.precision):
            embeddings: Tensor = self.encoder(seen, missing, length)
        return embeddings.to(seen.dtype)


def frozen_view(
    encoder: Encoder,
    table: Tensor,
    *,
    precision: Precision = "float32",
    chunk_bars: int | None = None,
) -> TableView:
    """Return a view of an encoder that does not learn: its embeddings of a table (M, T, F)."""
    return TableView(embed_table(encoder, table, precision=precision, chunk_bars=chunk_bars))


def _gather(table: Tensor, row: Tensor) -> Tensor:
    """Return rows (…, D) of a table (R, D)."""
    return table.index_select(0, row.reshape(-1)).view(*row.shape, table.shape[-1])


FEWEST_SERIES = 16
"""Fewer are filled up with zeros: products with a few rows go through other kernels, which add in
another order."""


class LiveView(TableView):
    """What N series look like at the newest bar, bit for bit as in a whole table; row i: series i.

    `embed_table` encodes a long history in chunks of `CHUNK_BARS` bars, each with the W − 1 bars
    before it, and the last bits of an attention's sums depend on where a bar stands in its chunk. A
    live view counts bars as the table does: its bar t is the table's bar t, through cached keys and
    values (transformer), windows under way (LSTM) or the last rows (window network). The bits are
    those of one machine, one number of torch's threads and float32 weights on a CPU: what a table
    has as well.

    A bar's embedding is the table's from the `lookback_bars`-th bar on that was taken, and from the
    first one on where that is the table's first.
    """

    def __init__(
        self, encoder: Encoder, n_series: int, *, bar: int = 0, chunk_bars: int = CHUNK_BARS["cpu"]
    ) -> None:
        """Begin with empty memories.

        Args:
            encoder: Frozen, on the CPU.
            n_series: N.
            bar: Number in the table of the first bar that will be taken.
            chunk_bars: Bars of the chunks that the table is encoded in: `embed_table`'s
                `chunk_bars`.
        """
        super().__init__(torch.zeros(n_series, 1, encoder.width))
        self.encoder, self.n_series = encoder, n_series
        self._n_rows, self._chunk_bars = max(n_series, FEWEST_SERIES), chunk_bars
        self.bar = bar
        """Number in the table of the bar that is taken next."""
        self._memory: Memory = self._begin(bar // chunk_bars)
        self._coming: Memory | None = None

    @property
    def lookback_bars(self) -> int:
        """W: so many bars must be taken before a view that began in the middle is the table's."""
        return self.encoder.lookback_bars

    @torch.no_grad()
    def take(self, row: Tensor) -> Tensor:
        """Take the next bar (N, F) of every series; return embeddings (N, D), also by `look`.

        Raises:
            ConfigError: If the bar is of other series or features.
        """
        wanted = (self.n_series, self.encoder.n_features)
        if tuple(row.shape) != wanted:
            rule = "a bar must have one row of features for every series"
            where = f"live view of {wanted[0]} series and {wanted[1]} features"
            remedy = "Give zeros where a series has no bar, as the table does"
            raise ConfigError(rule, was=f"shape {tuple(row.shape)}", where=where, remedy=remedy)
        rows = functional.pad(row.float(), (0, 0, 0, self._n_rows - self.n_series))
        coming = self._coming_memory()
        self._memory, embedding = self.encoder.stream(self._memory, rows)
        if coming is not None:
            coming, _ = self.encoder.stream(coming, rows)
        self._coming = coming
        self.bar += 1
        self.table.copy_(embedding[: self.n_series])
        return self.table

    def _coming_memory(self) -> Memory | None:
        """Return the memory of the next chunk, which begins with the W − 1 bars before it.

        At the chunk's first bar it becomes the memory that embeddings come from.
        """
        coming, at = self._coming, self.bar % self._chunk_bars
        if at == 0 and self.bar > 0:
            self._memory = coming or self._begin(self.bar // self._chunk_bars)
            coming = None
        if coming is None and at + self.lookback_bars - 1 >= self._chunk_bars:
            return self._begin(self.bar // self._chunk_bars + 1)
        return coming

    def _begin(self, chunk: int) -> Memory:
        """Return the memory of a chunk, as of the bar that is taken next."""
        lead = self.lookback_bars - 1 if chunk else 0
        first = self.bar - (chunk * self._chunk_bars - lead)
        return self.encoder.begin_stream(self._n_rows, first=first, lead=lead)
