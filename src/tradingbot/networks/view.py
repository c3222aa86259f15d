"""How learners see rows of the exogenous table: ready embeddings, or an encoder that learns too."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from tradingbot.networks.embedding import Precision, autocast, embed_table
from tradingbot.networks.encoders.encoder import Encoder


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
