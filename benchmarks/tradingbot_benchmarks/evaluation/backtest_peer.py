"""The same rule in backtesting.py: what it must be told to trade as the simulator does.

It counts whole units, so its account is so large that a unit is nothing; spread and slippage are
left out, because it charges them when a position is opened only. What it can express is the same:
decisions at the close, fills at the next open, commission on both sides of a trade.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.policy import NO_TRADE_BAND_FRAC
from tradingbot.domain.errors import MissingExtraError

FloatArray = NDArray[np.float64]
_CASH = 1e15
"""Units are whole numbers: with so much cash one is a millionth of a millionth of a position."""
_COLUMNS = ("EntryBar", "ExitBar", "EntryPrice", "ExitPrice", "Size", "PnL")


@dataclass(frozen=True, eq=False)
class PeerResult:
    """What the peer made of one symbol."""

    equity: FloatArray
    """(S + 1,) at the closes, 1 at the start."""
    entry_bar: NDArray[np.int64]
    """(M,) bar of each closed trade's entry, 1 is the one after the first decision."""
    exit_bar: NDArray[np.int64]
    entry_price: FloatArray
    exit_price: FloatArray
    pnl_frac: FloatArray
    """(M,) gain of each trade, of initial cash, net of commission."""


def _packages() -> tuple[Any, Any]:
    try:
        import pandas

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a notebook, and says so
            backtesting = importlib.import_module("backtesting")
    except ModuleNotFoundError as e:
        raise MissingExtraError("bench", package=e.name or "backtesting") from e
    return pandas, backtesting


def run_peer(
    prices: FloatArray,
    targets: FloatArray,
    *,
    commission_frac: float,
) -> PeerResult:
    """Follow targets on one symbol with backtesting.py.

    Args:
        prices: (S + 2, 5) open, high, low, close, volume: the bar before the first decision, at
            which the peer never decides, the bar of it, and S more.
        targets: (S + 2,) fractions of equity wanted at each close; the last is not read.
        commission_frac: Of every fill.

    Raises:
        MissingExtraError: Without backtesting.py.
    """
    pandas, peer = _packages()

    class Follow(peer.Strategy):  # type: ignore[misc, name-defined]
        """Wants what the table says; a position near enough is left as it is."""

        def init(self) -> None:
            self.wanted = self.I(lambda: targets, name="wanted")

        def next(self) -> None:
            close, equity = self.data.Close[-1], self.equity
            size, wanted = self.position.size * close / equity, self.wanted[-1]
            if wanted == 0.0:
                if self.position:
                    self.position.close()
            elif abs(wanted - size) > NO_TRADE_BAND_FRAC:
                units = int(wanted * equity / close) - self.position.size
                self.buy(size=units) if units > 0 else self.sell(size=-units)

    frame = pandas.DataFrame(prices, columns=["Open", "High", "Low", "Close", "Volume"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = peer.Backtest(
            frame, Follow, cash=_CASH, commission=commission_frac, finalize_trades=False
        )
        found = test.run()
    trades = found._trades.sort_values("EntryBar", kind="stable")
    still_held = min((trade.entry_bar for trade in found._strategy.trades), default=len(prices))
    trades = trades[trades["EntryBar"] < still_held]  # the rest are sales from a trade not over
    columns = {name: trades[name].to_numpy(dtype=float) for name in _COLUMNS}
    return _joined(columns, found._equity_curve["Equity"].to_numpy()[1:] / _CASH)


def _joined(lots: dict[str, FloatArray], equity: FloatArray) -> PeerResult:
    """Join the lots of a position: it keeps one for each purchase, and cuts one for each sale."""
    entry, leave = lots["EntryBar"].astype(np.int64), lots["ExitBar"].astype(np.int64)
    furthest = np.maximum.accumulate(leave)
    start = np.flatnonzero(np.append(True, entry[1:] >= furthest[:-1])[: len(entry)])

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, start) if len(start) else np.zeros(0)

    units = total(lots["Size"])
    return PeerResult(
        equity=equity,
        entry_bar=entry[start] - 1,
        exit_bar=furthest[np.append(start[1:], len(entry))[: len(start)] - 1] - 1,
        entry_price=total(lots["Size"] * lots["EntryPrice"]) / units,
        exit_price=total(lots["Size"] * lots["ExitPrice"]) / units,
        pnl_frac=total(lots["PnL"]) / _CASH,
    )
