"""What an encoder is: causal, with a finite memory, and the same number three ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from tradingbot.domain.checks import bounded, require, require_kinds

Memory = tuple[Tensor, ...]
"""What streaming carries from bar to bar; first axis B."""
EncoderKind = Literal["transformer", "lstm", "mlp", "row"]


@dataclass(frozen=True)
class EncoderConfig:
    """Kind and size of an encoder."""

    kind: EncoderKind = "transformer"
    """`row` hands rows on as they are and has no other setting."""
    n_layers: int = bounded(4, ">= 1")
    """Attention blocks, LSTM cells or hidden layers on top of each other."""
    width: int = bounded(256, ">= 1")
    """D, of every layer and of what the encoder makes."""
    n_heads: int = bounded(8, ">= 1")
    """Of the transformer's attention; divides the width."""
    lookback_bars: int = bounded(24, ">= 1")
    """W: bars that an embedding depends on, its own included."""
    feedforward_factor: int = bounded(4, ">= 1")
    """Width of the transformer's hidden layers ÷ D."""
    skip: bool = False
    """Hand the row on too, before the embedding: F + D numbers; see `encoders.skip`."""

    def __post_init__(self) -> None:
        """Refuse an encoder that cannot be."""
        require_kinds(self)
        divides = self.kind != "transformer" or self.width % self.n_heads == 0
        require(divides, "width must be a multiple of n_heads", self)
        has_more = self.kind != "row" or not self.skip
        require(has_more, "skip must be false where kind is row", self)


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

    def padded_bars(self, n_bars: int) -> int:
        """Return how many bars a pass over `n_bars` must have for bits that do not depend on T.

        Torch takes other kernels for some lengths, which add in another order.
        """
        return n_bars

    @abstractmethod
    def forward(
        self, table: Tensor, first: Tensor | None = None, n_last: int | None = None
    ) -> Tensor:
        """Encode histories (M, T, F) → (M, T, D), each bar once.

        Args:
            table: (M, T, F).
            first: (M,) number of the first bar of each series that exists, below T; None: 0 for
                all. Embeddings of bars that do not exist are finite and mean nothing.
            n_last: Encode the last so many bars only, (M, n_last, D); what is not asked for is
                not computed.
        """

    def window(self, window: Tensor, known: Tensor | None = None) -> Tensor:
        """Encode the last bar of windows (B, W, F) → (B, D).

        Args:
            window: (B, W, F); a shorter one is the beginning of a series.
            known: (B,) how many of the last bars exist, at least 1; None: all of them.
        """
        first = None if known is None else window.shape[1] - known
        embedding: Tensor = self(window, first, 1)
        return embedding.squeeze(1)

    @abstractmethod
    def begin_stream(self, n_series: int, *, first: int = 0, lead: int = 0) -> Memory:
        """Return the memory of B series of which nothing was seen yet.

        The last bits of a sum may depend on where a bar stands in the pass over a whole history.
        The two numbers say which pass the stream is to equal; `networks.view` knows them.

        Args:
            n_series: B.
            first: Place in that pass of the first bar that will be taken.
            lead: Bars at the beginning of that pass that are only the past of those asked for:
                T − `n_last` of `forward`.
        """

    @abstractmethod
    def stream(self, memory: Memory, row: Tensor) -> tuple[Memory, Tensor]:
        """Take the next bar (B, F) of every series; return the memory and embeddings (B, D)."""

    def extra_repr(self) -> str:
        """Say what weights alone do not tell; part of `weights_hash`."""
        return (
            f"n_features={self.n_features}, width={self.width}, lookback_bars={self.lookback_bars}"
        )
