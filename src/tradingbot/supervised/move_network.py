"""The network of a classifier: an encoder of the last W bars and three logits, and asking it.

It is asked for whole histories in blocks of one shape, or bar by bar. A matrix product may round
differently when its shape changes. Every block has the same shape, and a bar always stands at the
same place in it, so its bits do not depend on how long the history is.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.data.splits import IndexRange
from tradingbot.features.scaling import Scaler
from tradingbot.networks.encoders.catalogue import build_encoder
from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig, Memory
from tradingbot.networks.encoders.recurrent import window_steps
from tradingbot.networks.initialisation import drawn_linear
from tradingbot.supervised.classifier_settings import NetworkConfig
from tradingbot.supervised.labels import CLASSES


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
        hidden: Tensor | None = None
        for gates, exists in window_steps(table, self.enter, self.lookback_bars, first, n_last):
            if hidden is None:
                hidden = gates.new_zeros(*gates.shape[:2], self.width)
            hidden = self._step(gates, hidden) * exists
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


BLOCK_BARS = 256
BLOCK_SYMBOLS = 8


def predict_segments(
    encoder: Encoder,
    head: nn.Linear,
    values: NDArray[np.float32],
    part: IndexRange,
    device: torch.device,
) -> NDArray[np.float32]:
    """Return probabilities (N, len(part), 3) of scaled values (N, T, F)."""
    n_symbols = len(values)
    first, last = part.start // BLOCK_BARS, -(-part.stop // BLOCK_BARS)
    chances = np.empty((n_symbols, (last - first) * BLOCK_BARS, head.out_features), np.float32)
    with torch.inference_mode():
        for block in range(first, last):
            for top in range(0, n_symbols, BLOCK_SYMBOLS):
                seen = _block(values[top : top + BLOCK_SYMBOLS], block, encoder.lookback_bars)
                begins = encoder.lookback_bars - 1 if block == 0 else 0
                existing = torch.full((BLOCK_SYMBOLS,), begins, device=device)
                embeddings = encoder(seen.to(device), existing, BLOCK_BARS)
                chance = torch.softmax(head(embeddings), dim=-1).cpu().numpy()
                at = (block - first) * BLOCK_BARS
                count = min(BLOCK_SYMBOLS, n_symbols - top)
                chances[top : top + count, at : at + BLOCK_BARS] = chance[:count]
    offset = part.start - first * BLOCK_BARS
    return chances[:, offset : offset + len(part)]


def _block(values: NDArray[np.float32], block: int, lookback: int) -> Tensor:
    """Cut the bars of a block and the W − 1 before it; zeros where there is none."""
    n_bars = values.shape[1]
    start, stop = block * BLOCK_BARS - (lookback - 1), (block + 1) * BLOCK_BARS
    seen = np.zeros((BLOCK_SYMBOLS, stop - start, values.shape[2]), np.float32)
    low, high = max(start, 0), min(stop, n_bars)
    seen[: len(values), low - start : high - start] = values[:, low:high]
    return torch.from_numpy(seen)


class NetworkStream:
    """Takes one bar of every symbol at a time; see `classifier.Stream`."""

    def __init__(self, encoder: Encoder, head: nn.Linear, scaler: Scaler, n_symbols: int) -> None:
        """Begin with empty windows."""
        self._encoder, self._head = encoder, head
        device = head.weight.device
        self._centre = torch.from_numpy(scaler.centre.astype(np.float32)).to(device)
        self._scale = torch.from_numpy(scaler.scale.astype(np.float32)).to(device)
        self._bound = scaler.clip or float("inf")
        with torch.inference_mode():
            self._memory = encoder.begin_stream(n_symbols)

    def push(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take the next bar (N, F), unscaled; return probabilities (N, 3)."""
        with torch.inference_mode():
            seen = torch.from_numpy(rows).to(self._centre.device)
            scaled = ((seen - self._centre) / self._scale).clamp(-self._bound, self._bound)
            self._memory, embedding = self._encoder.stream(self._memory, scaled)
            chance: NDArray[np.float32] = torch.softmax(self._head(embedding), dim=-1).cpu().numpy()
        return chance


class MoveNetwork(nn.Module):
    """Encoder and head: windows in, logits of down, flat, up out."""

    def __init__(self, config: NetworkConfig, n_features: int, generator: torch.Generator) -> None:
        """Draw weights from a CPU generator."""
        super().__init__()
        size = EncoderConfig(
            kind="lstm" if config.kind == "lstm" else "mlp",
            n_layers=config.n_layers,
            width=config.width,
            n_heads=1,
            lookback_bars=config.lookback_bars,
        )
        self.encoder: Encoder = (
            GatedEncoder(size, n_features, generator)
            if config.kind == "gru"
            else build_encoder(size, n_features, generator)
        )
        self.head = drawn_linear(config.width, len(CLASSES), generator)
        with torch.no_grad():
            self.head.weight *= 0.1  # begin near the base rates

    def forward(self, windows: Tensor, known: Tensor) -> Tensor:
        """Map windows (B, W, F) of which the last `known` (B,) bars exist to logits (B, 3)."""
        logits: Tensor = self.head(self.encoder.window(windows, known))
        return logits
