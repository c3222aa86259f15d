"""Trades of backtests as a table for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from tradingbot.domain.denial import ExitReason
from tradingbot.evaluation.backtest import Backtest, Trades
from tradingbot.evaluation.tables import inert_cell

_TRADE_NUMBERS = (
    *("units", "entry_price", "exit_price", "commission_ccy", "slippage_ccy", "pnl_ccy"),
)
_TRADE_COLUMNS = (
    *("policy", "symbol", "side", "entered_at", "exited_at", "bars"),
    *(*_TRADE_NUMBERS, "is_open", "ended_by"),
)


def trades_csv(backtests: Sequence[Backtest]) -> str:
    """Write every trade of every policy as CSV; money in account currency, times UTC with a Z."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_TRADE_COLUMNS)
    for played in backtests:
        trades = played.trades
        entered, left = (
            np.datetime_as_string(stamps.astype("datetime64[us]"), unit="s", timezone="UTC")
            for stamps in (trades.entered_at, trades.exited_at)
        )
        for place in range(len(trades)):
            writer.writerow(
                [
                    *(inert_cell(played.policy), inert_cell(played.traded[trades.symbol[place]])),
                    trades.side[place],
                    *(entered[place], left[place], trades.bars[place]),
                    *(f"{getattr(trades, name)[place]:.6f}" for name in _TRADE_NUMBERS),
                    *(int(trades.is_open[place]), _ending(trades, place)),
                ]
            )
    return text.getvalue()


def _ending(trades: Trades, place: int) -> str:
    if trades.is_open[place]:
        return ""
    reason = int(trades.reason[place])
    return ExitReason(reason).name.lower() if reason else "policy"
