"""The LSTM over the last W bars, begun anew for every window, so that its memory is finite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig, Memory
from tradingbot.networks.initialisation import drawn_linear

_FORGET_BIAS = 1.0  # remember at first: Jozefowicz et al. 2015
_FEWEST_ROWS = 16  # of a matrix product: few go through other kernels


def window_steps(
    table: Tensor,
    enter: Callable[[Tensor], Tensor],
    lookback_bars: int,
    first: Tensor | None,
    n_last: int | None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Take the windows of the last bars side by side through their W steps.

    Args:
        table: (B, T, F); `first` and `n_last` as in `Encoder.forward`.
        enter: What a cell makes of its inputs, (…, F) → (…, G). It does not depend on the window,
            so it is computed once per bar.
        lookback_bars: W.
        first: First bar of each series.
        n_last: Windows of so many bars, all if None.

    Yields:
        Per step the entered bars (B, N, G) and which of them exist, (B or 1, N, 1) bool.
    """
    n_bars = table.shape[1]
    wanted = n_bars if n_last is None else n_last
    beginning = 0 if first is None else first[:, None]
    bar = torch.arange(n_bars - wanted, n_bars, device=table.device)[None]
    gates = enter(table[:, -(wanted + lookback_bars - 1) :])
    ahead = wanted + lookback_bars - 1 - gates.shape[1]
    gates = functional.pad(gates, (0, 0, ahead, 0))
    for step in range(lookback_bars):
        exists = bar - (lookback_bars - 1 - step) >= beginning
        yield gates[:, step : step + wanted], exists[..., None]


class RecurrentEncoder(Encoder):
    """LSTM cells on top of each other, then a layer norm (Hochreiter & Schmidhuber 1997)."""

    def __init__(self, config: EncoderConfig, n_features: int, generator: torch.Generator) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards."""
        super().__init__()
        self.n_features, self.width = n_features, config.width
        self.lookback_bars = config.lookback_bars
        inputs = (n_features, *[config.width] * (config.n_layers - 1))
        self.cells = nn.ModuleList(_Cell(count, config.width, generator) for count in inputs)
        self.norm = nn.LayerNorm(config.width)

    def padded_bars(self, n_bars: int) -> int:
        """Return bars enough for a matrix product that adds as one of many rows does."""
        return max(n_bars, _FEWEST_ROWS)

    def forward(
        self, table: Tensor, first: Tensor | None = None, n_last: int | None = None
    ) -> Tensor:
        """Run the windows of all bars side by side, W steps; see `Encoder.forward`."""
        memory: list[tuple[Tensor, Tensor]] = []
        enter = self._each_cell()[0].enter
        for gates, exists in window_steps(table, enter, self.lookback_bars, first, n_last):
            shape = (*gates.shape[:2], self.width)
            memory = self._step(gates, memory or [_zeros(gates, shape) for _ in self.cells], exists)
        return self._finish(memory)

    def begin_stream(self, n_series: int, *, first: int = 0, lead: int = 0) -> Memory:
        """Return hidden and cell states (B, W, D) of every layer: one lane per window under way."""
        weight = self.norm.weight
        shape = (n_series, self.lookback_bars, self.width)
        return tuple(weight.new_zeros(shape) for _ in range(2 * len(self.cells)))

    def stream(self, memory: Memory, row: Tensor) -> tuple[Memory, Tensor]:
        """Advance all windows under way by one bar; lane 0 began W bars ago and is complete."""
        pairs = list(zip(memory[::2], memory[1::2], strict=True))
        pairs = self._step(self._each_cell()[0].enter(row[:, None]), pairs, None)
        embedding = self._finish([(hidden[:, 0], cell[:, 0]) for hidden, cell in pairs])
        states = [state for pair in pairs for state in pair]
        return tuple(functional.pad(state[:, 1:], (0, 0, 0, 1)) for state in states), embedding

    def _step(
        self, gates: Tensor, memory: list[tuple[Tensor, Tensor]], exists: Tensor | None
    ) -> list[tuple[Tensor, Tensor]]:
        """Advance every layer by a bar; where it does not exist the state stays zero."""
        after: list[tuple[Tensor, Tensor]] = []
        for layer, (cell, (hidden, state)) in enumerate(
            zip(self._each_cell(), memory, strict=True)
        ):
            entered = gates if layer == 0 else cell.enter(after[-1][0])
            hidden, state = cell(entered, hidden, state)
            if exists is not None:
                hidden, state = hidden * exists, state * exists
            after.append((hidden, state))
        return after

    def _each_cell(self) -> list[_Cell]:
        return cast("list[_Cell]", list(self.cells))

    def _finish(self, memory: list[tuple[Tensor, Tensor]]) -> Tensor:
        embedding: Tensor = self.norm(memory[-1][0])
        return embedding


class _Cell(nn.Module):
    """One LSTM cell; gates in the order input, forget, candidate, output."""

    def __init__(self, n_inputs: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.enter = drawn_linear(n_inputs, 4 * width, generator, blocks=4)
        again = drawn_linear(width, 4 * width, generator, kind="orthogonal", blocks=4)
        self.again = nn.Parameter(again.weight.detach())
        with torch.no_grad():
            self.enter.bias[width : 2 * width] = _FORGET_BIAS

    def forward(self, entered: Tensor, hidden: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Take inputs' gates (…, 4D), hidden (…, D) and state (…, D); return the latter two."""
        gates = entered + functional.linear(hidden, self.again)
        enter, keep, candidate, leave = gates.chunk(4, dim=-1)
        state = torch.sigmoid(keep) * state + torch.sigmoid(enter) * torch.tanh(candidate)
        return torch.sigmoid(leave) * torch.tanh(state), state


def _zeros(like: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    return like.new_zeros(shape), like.new_zeros(shape)
