"""The market as one tensor: a row per symbol and bar, read with a single gather per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import DataError

BAR_COLUMNS = ("open", "high", "low", "close", "volume", "volatility", "tradable")
VOLATILITY_BARS = 24
UNSEEN_PRICE = 1.0
"""Price of a symbol before its first bar; nothing can be traded at it."""


class Bar(NamedTuple):
    """One bar for each account of a batch, every field (B,)."""

    open: Tensor
    high: Tensor
    low: Tensor
    close: Tensor
    volume: Tensor
    volatility: Tensor
    """Standard deviation of log returns over the bars before this one."""
    tradable: Tensor
    """1 where the symbol traded in this bar."""


class TensorMarket(NamedTuple):
    """N symbols on a common clock of T bars, ready for `advance`.

    `rows` (N·T, 8): the columns of `BAR_COLUMNS`, and one of padding so that a row of float32 is
    half a cache line. Absent bars repeat the last close and are not tradable.
    """

    rows: Tensor
    n_symbols: int
    n_bars: int

    @property
    def dtype(self) -> torch.dtype:
        """Number format of prices, and of the accounts that trade on them."""
        return self.rows.dtype

    @property
    def device(self) -> torch.device:
        """Where the market is."""
        return self.rows.device

    def bar(self, row: Tensor) -> Bar:
        """Gather rows (B,) of any integer dtype."""
        return Bar(*self.rows[row.long()].unbind(-1)[: len(BAR_COLUMNS)])

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> TensorMarket:
        """Return the market elsewhere, or in another number format."""
        return self._replace(rows=self.rows.to(device=device, dtype=dtype))


def tensor_market(
    prices: NDArray[np.float64],
    present: NDArray[np.bool_],
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> TensorMarket:
    """Build a market from bars.

    Args:
        prices: (N, T, 5 or more) open, high, low, close, volume; NaN where absent.
        present: (N, T) there is a bar.
        dtype: float64 for exact accounting, float32 for speed.
        device: Where to put it.

    Raises:
        DataError: If shapes disagree or a present bar is impossible.
    """
    _require_bars(prices, present)
    close = _last_seen(np.where(present, prices[..., 3], np.nan))
    rows = np.zeros((*present.shape, 8))
    for column in range(4):
        rows[..., column] = np.where(present, prices[..., column], close)
    rows[..., 4] = np.where(present, prices[..., 4], 0.0)
    rows[..., 5] = _volatility_before(close)
    rows[..., 6] = present
    n_symbols, n_bars = present.shape
    flat = torch.from_numpy(rows.reshape(n_symbols * n_bars, 8))
    return TensorMarket(flat.to(device=device, dtype=dtype), n_symbols, n_bars)


def _require_bars(prices: NDArray[np.float64], present: NDArray[np.bool_]) -> None:
    if prices.ndim != 3 or prices.shape[-1] < 5 or prices.shape[:2] != present.shape:
        raise DataError(
            "prices must be (N, T, 5) and present (N, T)", was=(prices.shape, present.shape)
        )
    open_, high, low, close, volume = np.moveaxis(prices[..., :5], -1, 0)
    with np.errstate(invalid="ignore"):
        possible = (
            (low > 0.0)
            & (low <= np.minimum(open_, close))
            & (high >= np.maximum(open_, close))
            & np.isfinite(high)
            & (volume >= 0.0)
            & np.isfinite(volume)
        )
    wrong = present & ~possible
    if wrong.any():
        symbol, bar = np.argwhere(wrong)[0]
        raise DataError(
            "a bar must have 0 < low ≤ open, close ≤ high and volume ≥ 0, all finite",
            was=tuple(float(x) for x in prices[symbol, bar, :5]),
            where=f"symbol {symbol}, bar {bar}",
            remedy="Run: tradingbot data validate",
        )


def _last_seen(close: NDArray[np.float64]) -> NDArray[np.float64]:
    """Carry closes (N, T) forward over absent bars."""
    position = np.where(np.isfinite(close), np.arange(close.shape[1]), -1)
    seen = np.maximum.accumulate(position, axis=1)
    carried = np.take_along_axis(close, np.maximum(seen, 0), axis=1)
    return np.where(seen >= 0, carried, UNSEEN_PRICE)


def _volatility_before(close: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation (N, T) of the last log returns that end before each bar; 0 at first."""
    log_returns = np.diff(np.log(close), axis=1, prepend=np.log(close[:, :1]))
    volatility = np.zeros_like(close)
    if close.shape[1] > VOLATILITY_BARS:
        windows = np.lib.stride_tricks.sliding_window_view(log_returns, VOLATILITY_BARS, axis=1)
        volatility[:, VOLATILITY_BARS:] = windows[:, :-1].std(axis=-1)
    return volatility


def require_rising(closed_at: Sequence[int] | NDArray[np.int64]) -> None:
    """Refuse a clock (T,) that does not move forward at every bar.

    Raises:
        DataError: At the first bar that is not later than the one before.
    """
    steps = np.diff(np.asarray(closed_at, dtype=np.int64))
    if (steps <= 0).any():
        bar = int(np.argmax(steps <= 0)) + 1
        raise DataError(
            "bars must be in order of time, each once",
            was=f"{closed_at[bar]} after {closed_at[bar - 1]}",
            where=f"bar {bar}",
        )
