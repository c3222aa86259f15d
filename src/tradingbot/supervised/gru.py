"""The GRU over the last W bars, begun anew for every window, as the LSTM of `networks` is."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig, Memory
from tradingbot.networks.initialisation import drawn_linear


class GatedEncoder(Encoder):
    """One layer of gated recurrent units, then a layer norm (Cho et al. 2014)."""

    def __init__(self, config: EncoderConfig, n_features: int, generator: torch.Generator) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards."""
        super().__init__()
        self.n_features, self.width = n_features, config.width
        self.lookback_bars = config.lookback_bars
        # Gates in the order reset, update, candidate, as torch.nn.GRU has them.
        self.enter = drawn_linear(n_features, 3 * config.width, generator, blocks=3)
        self.again = drawn_linear(
            config.width, 3 * config.width, generator, kind="orthogonal", blocks=3
        )
        self.norm = nn.LayerNorm(config.width)

    def forward(
        self, table: Tensor, first: Tensor | None = None, n_last: int | None = None
    ) -> Tensor:
        """Run the windows of all bars side by side, W steps; see `Encoder.forward`."""
        n_series, n_bars, _ = table.shape
        wanted = n_bars if n_last is None else n_last
        beginning = 0 if first is None else first[:, None]
        bar = torch.arange(n_bars - wanted, n_bars, device=table.device)[None]
        gates = self.enter(table[:, -(wanted + self.lookback_bars - 1) :])
        ahead = wanted + self.lookback_bars - 1 - gates.shape[1]
        gates = functional.pad(gates, (0, 0, ahead, 0))
        hidden = gates.new_zeros(n_series, wanted, self.width)
        for step in range(self.lookback_bars):
            exists = bar - (self.lookback_bars - 1 - step) >= beginning
            hidden = self._step(gates[:, step : step + wanted], hidden) * exists[..., None]
        embedding: Tensor = self.norm(hidden)
        return embedding

    def begin_stream(self, n_series: int, *, first: int = 0, lead: int = 0) -> Memory:
        """Return hidden states (B, W, D): one lane per window under way."""
        return (self.norm.weight.new_zeros(n_series, self.lookback_bars, self.width),)

    def stream(self, memory: Memory, row: Tensor) -> tuple[Memory, Tensor]:
        """Advance all windows under way by one bar; lane 0 began W bars ago and is complete."""
        hidden = self._step(self.enter(row[:, None]), memory[0])
        return (functional.pad(hidden[:, 1:], (0, 0, 0, 1)),), self.norm(hidden[:, 0])

    def _step(self, entered: Tensor, hidden: Tensor) -> Tensor:
        """Take inputs' gates (…, 3D) and hidden (…, D); return the next hidden."""
        reset_in, update_in, candidate_in = entered.chunk(3, dim=-1)
        reset_by, update_by, candidate_by = self.again(hidden).chunk(3, dim=-1)
        update = torch.sigmoid(update_in + update_by)
        candidate = torch.tanh(candidate_in + torch.sigmoid(reset_in + reset_by) * candidate_by)
        return candidate + update * (hidden - candidate)
