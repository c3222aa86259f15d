"""The row itself, for markets whose signal is in the row: nothing to learn, nothing to compute."""

from __future__ import annotations

import torch
from torch import Tensor

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
