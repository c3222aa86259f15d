"""Embeddings of one new bar at a time, equal bit for bit to those of a whole table.

`embed_table` encodes a long history in chunks of `CHUNK_BARS` bars, each with the W − 1 bars before
it, and the last bits of an attention's sums depend on where a bar stands in its chunk. A live view
counts bars as the table does: its bar t is the table's bar t, through cached keys and values
(transformer), windows under way (LSTM) or the last rows (window network).

The bits are those of one machine, one number of torch's threads and float32 weights on a CPU: what
a table has as well.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tradingbot.domain.errors import ConfigError
from tradingbot.networks.embedding import CHUNK_BARS
from tradingbot.networks.encoders.encoder import Encoder, Memory
from tradingbot.networks.view import TableView

FEWEST_SERIES = 16
"""Fewer are filled up with zeros: products with a few rows go through other kernels, which add in
another order."""


class LiveView(TableView):
    """What N series look like at the newest bar; row i is series i.

    A bar's embedding is the table's from the `lookback_bars`-th bar on that was taken, and from the
    first one on where that is the table's first.
    """

    def __init__(
        self,
        encoder: Encoder,
        n_series: int,
        *,
        bar: int = 0,
        chunk_bars: int = CHUNK_BARS["cpu"],
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
            raise ConfigError(
                "a bar must have one row of features for every series",
                was=f"shape {tuple(row.shape)}",
                where=f"live view of {wanted[0]} series and {wanted[1]} features",
                remedy="Give zeros where a series has no bar, as the table does",
            )
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
