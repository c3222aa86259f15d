"""The market as one tensor: a row per symbol and bar, read with a single gather per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import DataError

FloatArray = NDArray[np.float64]

BAR_COLUMNS = ("open", "high", "low", "close", "volume", "volatility", "tradable")
STALE_COLUMN = len(BAR_COLUMNS)
VOLATILITY_BARS = 24
UNSEEN_PRICE = 1.0
"""Price of a symbol before its first bar; nothing can be traded at it."""
UNSEEN_STALE_BARS = 2**30
"""Age of that price: older than any limit allows."""


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

    `rows` (N·T, 8): the columns of `BAR_COLUMNS`, and the bars since the symbol last traded; a row
    of float32 is half a cache line. Absent bars repeat the last close and are not tradable.
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
        # One gather of whole rows, then columns side by side: what follows reads straight memory.
        columns = self.rows.index_select(0, row.long()).T.contiguous()
        return Bar(*columns.unbind()[: len(BAR_COLUMNS)])

    def stale_bars(self, row: Tensor) -> Tensor:
        """Return the bars since each symbol last traded, (B,) int32, at rows (B,)."""
        return self.rows[row.long(), STALE_COLUMN].int()

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> TensorMarket:
        """Return the market elsewhere, or in another number format."""
        return self._replace(rows=self.rows.to(device=device, dtype=dtype))


def tensor_market(
    prices: FloatArray,
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
    rows[..., 5] = _volatility_before(close, present)
    rows[..., 6] = present
    rows[..., STALE_COLUMN] = _stale_bars(present)
    n_symbols, n_bars = present.shape
    flat = torch.from_numpy(rows.reshape(n_symbols * n_bars, 8)).to(device=device, dtype=dtype)
    _require_range(flat)
    return TensorMarket(flat, n_symbols, n_bars)


def _require_bars(prices: FloatArray, present: NDArray[np.bool_]) -> None:
    if prices.ndim != 3 or prices.shape[-1] < 5 or prices.shape[:2] != present.shape:
        was = prices.shape, present.shape
        raise DataError("prices must be (N, T, 5) and present (N, T)", was=was)
    wrong = find_impossible(prices, present)
    if wrong.any():
        symbol, bar = np.argwhere(wrong)[0]
        raise DataError(
            "a bar must have 0 < low ≤ open, close ≤ high and volume ≥ 0, all finite",
            was=tuple(float(x) for x in prices[symbol, bar, :5]),
            where=f"symbol {symbol}, bar {bar}",
            remedy="Run: tradingbot data validate",
        )


def find_impossible(prices: FloatArray, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark present bars that no market makes; prices (…, 5 or more), present (…)."""
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
    return np.asarray(present & ~possible)


def _require_range(rows: Tensor) -> None:
    if not bool((torch.isfinite(rows).all(1) & (rows[:, :4] > 0.0).all(1)).all()):
        rule = f"prices and volumes must be within the range of {rows.dtype}"
        raise DataError(rule, remedy="Use float64, or other units")


def _last_seen(close: FloatArray) -> FloatArray:
    """Carry closes (N, T) forward over absent bars."""
    position = np.where(np.isfinite(close), np.arange(close.shape[1]), -1)
    seen = np.maximum.accumulate(position, axis=1)
    carried = np.take_along_axis(close, np.maximum(seen, 0), axis=1)
    return np.where(seen >= 0, carried, UNSEEN_PRICE)


def _stale_bars(present: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the bars (N, T) since each symbol last traded."""
    bars = np.arange(present.shape[1])
    last = np.maximum.accumulate(np.where(present, bars, -1), axis=1)
    return np.where(last >= 0, bars - last, UNSEEN_STALE_BARS)


def _volatility_before(close: FloatArray, present: NDArray[np.bool_]) -> FloatArray:
    """Standard deviation (N, T) of the last log returns that end before each bar.

    0 until a symbol has been seen for `VOLATILITY_BARS` bars, whenever its first one is.
    """
    log_returns = np.zeros_like(close)
    # The step from no price at all to the first one is not a return.
    seen = np.logical_or.accumulate(present, axis=1)[:, :-1]
    log_returns[:, 1:] = np.where(seen, np.diff(np.log(close), axis=1), 0.0)
    volatility = np.zeros_like(close)
    if close.shape[1] > VOLATILITY_BARS:
        windows = np.lib.stride_tricks.sliding_window_view(log_returns, VOLATILITY_BARS, axis=1)
        volatility[:, VOLATILITY_BARS:] = windows[:, :-1].std(axis=-1)
        seen_long = np.zeros_like(present)
        seen_long[:, VOLATILITY_BARS:] = seen[:, : 1 - VOLATILITY_BARS]
        volatility[~seen_long] = 0.0
    return volatility


def require_rising(closed_at: Sequence[int] | NDArray[np.int64]) -> None:
    """Refuse a clock (T,) that does not move forward at every bar.

    Raises:
        DataError: At the first bar that is not later than the one before.
    """
    steps = np.diff(np.asarray(closed_at, dtype=np.int64))
    if (steps <= 0).any():
        bar = int(np.argmax(steps <= 0)) + 1
        rule = "bars must be in order of time, each once"
        where = f"bar {bar}"
        raise DataError(rule, was=f"{closed_at[bar]} after {closed_at[bar - 1]}", where=where)
