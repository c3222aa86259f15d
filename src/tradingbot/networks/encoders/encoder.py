"""What an encoder is: causal, with a finite memory, and the same number three ways."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

Memory = tuple[Tensor, ...]
"""What streaming carries from bar to bar; first axis B."""


class Encoder(nn.Module, ABC):
    """Rows of features in, one embedding per bar out.

    The embedding of bar t depends on bars t − `lookback_bars` + 1 … t and on nothing else. Whole
    history, one window, and bar by bar give the same embedding, up to rounding; bars before the
    first one do not exist (they are masked, not zero).
    """

    n_features: int
    """F."""
    width: int
    """D."""
    lookback_bars: int
    """W."""

    @abstractmethod
    def forward(self, table: Tensor) -> Tensor:
        """Encode whole histories (M, T, F) → (M, T, D), each bar once."""

    @abstractmethod
    def window(self, window: Tensor) -> Tensor:
        """Encode the last bar of windows (B, W, F) → (B, D)."""

    @abstractmethod
    def begin_stream(self, n_series: int) -> Memory:
        """Return the memory of B series of which nothing was seen yet."""

    @abstractmethod
    def stream(self, memory: Memory, row: Tensor) -> tuple[Memory, Tensor]:
        """Take the next bar (B, F) of every series; return the memory and embeddings (B, D)."""
