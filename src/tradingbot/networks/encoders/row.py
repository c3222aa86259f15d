"""The row itself, alone or beside what an encoder makes of it.

Alone, for markets whose signal is in the row: nothing to learn, nothing to compute.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tradingbot.networks.encoders.encoder import Encoder, Memory


class RowEncoder(Encoder):
    """Embedding = features; D = F and W = 1."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.n_features = self.width = n_features
        self.lookback_bars = 1

    def forward(
        self, table: Tensor, first: Tensor | None = None, n_last: int | None = None
    ) -> Tensor:
        """Hand rows on; see `Encoder.forward`."""
        return table if n_last is None else table[:, -n_last:]

    def begin_stream(self, n_series: int, *, first: int = 0, lead: int = 0) -> Memory:
        """Remember nothing."""
        return (torch.zeros(n_series, 0),)

    def stream(self, memory: Memory, row: Tensor) -> tuple[Memory, Tensor]:
        """Hand the bar on."""
        return memory, row


FIRST_GAIN = 0.01
"""Not 0: what is multiplied by 0 learns nothing."""


class SkipEncoder(Encoder):
    """Embedding = the F features of the bar, then gain × the D numbers of an encoder; F + D.

    Pre-training adds and hides nothing. The encoder's numbers are multiplied by gains that begin
    near 0 and grow only as the tasks of pre-training ask for it, so that heads are not taught by
    numbers that say nothing yet. Sources: LayerScale, Touvron et al. 2021; ReZero, Bachlechner et
    al. 2020.
    """

    def __init__(self, inner: Encoder) -> None:
        """Stand around an encoder, which learns as it would alone."""
        super().__init__()
        self.inner = inner
        self.n_features, self.lookback_bars = inner.n_features, inner.lookback_bars
        self.width = inner.n_features + inner.width
        self.gain = nn.Parameter(torch.full((inner.width,), FIRST_GAIN))

    def padded_bars(self, n_bars: int) -> int:
        """Return what the encoder needs."""
        return self.inner.padded_bars(n_bars)

    def forward(
        self, table: Tensor, first: Tensor | None = None, n_last: int | None = None
    ) -> Tensor:
        """Encode histories (M, T, F) → (M, T, F + D); see `Encoder.forward`."""
        rows = table if n_last is None else table[:, -n_last:]
        return self._beside(rows, self.inner(table, first, n_last))

    def begin_stream(self, n_series: int, *, first: int = 0, lead: int = 0) -> Memory:
        """Return the encoder's memory; the row needs none."""
        return self.inner.begin_stream(n_series, first=first, lead=lead)

    def stream(self, memory: Memory, row: Tensor) -> tuple[Memory, Tensor]:
        """Take one bar; costs what the encoder costs."""
        memory, learned = self.inner.stream(memory, row)
        return memory, self._beside(row, learned)

    def _beside(self, rows: Tensor, learned: Tensor) -> Tensor:
        return torch.cat([rows, self.gain * learned], dim=-1)
