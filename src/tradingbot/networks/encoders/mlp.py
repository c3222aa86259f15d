"""The flattened window through a plain network; the first layer is a convolution over time."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig, Memory
from tradingbot.networks.initialisation import drawn_linear

_VECTORISED_NUMBERS = 20_480
"""Inputs of a convolution of one series above which torch hands it to oneDNN."""


class WindowMLP(Encoder):
    """W bars of F numbers and a flag "this bar exists" → hidden layers → layer norm.

    A bar that does not exist is told from a row of zeros by its flag.
    """

    def __init__(self, config: EncoderConfig, n_features: int, generator: torch.Generator) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards."""
        super().__init__()
        self.n_features, self.width = n_features, config.width
        self.lookback_bars = config.lookback_bars
        count = config.lookback_bars * (n_features + 1)
        self.flatten = drawn_linear(count, config.width, generator)
        self.layers = nn.ModuleList(
            drawn_linear(config.width, config.width, generator) for _ in range(config.n_layers - 1)
        )
        self.norm = nn.LayerNorm(config.width)

    def padded_bars(self, n_bars: int) -> int:
        """Return bars enough for one series to get the kernel that several series get."""
        return max(n_bars, _VECTORISED_NUMBERS // (self.n_features + 1) + 1)

    def forward(
        self, table: Tensor, first: Tensor | None = None, n_last: int | None = None
    ) -> Tensor:
        """Slide the first layer over the bars; see `Encoder.forward`."""
        n_series, n_bars, _ = table.shape
        wanted = n_bars if n_last is None else n_last
        bar = torch.arange(n_bars, device=table.device)[None]
        exists = bar >= (bar[:, :1] if first is None else first[:, None])
        exists = exists.expand(n_series, -1)[..., None]
        rows = torch.cat([table * exists, exists.to(table.dtype)], dim=-1)
        ahead = wanted + self.lookback_bars - 1 - n_bars
        return self._encode(functional.pad(rows, (0, 0, ahead, 0)))  # a negative pad cuts

    def begin_stream(self, n_series: int, *, first: int = 0, lead: int = 0) -> Memory:
        """Return the last W − 1 rows and their flags, (B, W − 1, F + 1)."""
        shape = (n_series, self.lookback_bars - 1, self.n_features + 1)
        return (self.norm.weight.new_zeros(shape),)

    def stream(self, memory: Memory, row: Tensor) -> tuple[Memory, Tensor]:
        """Take one bar; costs one window."""
        rows = torch.cat([memory[0], functional.pad(row, (0, 1), value=1.0)[:, None]], dim=1)
        return (rows[:, 1:],), self._encode(rows).squeeze(1)

    def _encode(self, rows: Tensor) -> Tensor:
        """Map rows with flags (M, W − 1 + n, F + 1) to embeddings (M, n, D)."""
        # (D, W · (F + 1)) → (D, F + 1, W): as a kernel over time.
        kernel = self.flatten.weight.view(self.width, self.lookback_bars, -1).transpose(1, 2)
        hidden = functional.conv1d(rows.transpose(1, 2), kernel, self.flatten.bias)
        hidden = functional.gelu(hidden.transpose(1, 2))
        for layer in self.layers:
            hidden = functional.gelu(layer(hidden))
        embedding: Tensor = self.norm(hidden)
        return embedding
