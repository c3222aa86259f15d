"""Asking a network: whole histories in blocks of one shape, or bar by bar.

A matrix product may round differently when its shape changes. Every block has the same shape, and a
bar always stands at the same place in it, so its bits do not depend on how long the history is.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tradingbot.data.splits import IndexRange
from tradingbot.features.scaling import Scaler
from tradingbot.networks.encoders.encoder import Encoder

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
