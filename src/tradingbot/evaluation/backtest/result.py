"""What one policy did with N sleeves over S bars: the record that every evaluation reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.backtest.trades import Fills, FloatArray, IntArray, Trades
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.market.costs import CostProfile


class AccountTotals(NamedTuple):
    """Money (N,) that the account of each sleeve moved from the start to the end, in currency."""

    realised_ccy: FloatArray
    """Closed P&L net of commission and borrowing, partial exits of open trades included."""
    commission_ccy: FloatArray
    slippage_ccy: FloatArray
    """Slippage, spread and impact."""
    turnover_ccy: FloatArray
    """Traded notional."""


@dataclass(frozen=True, eq=False)
class Backtest:
    """One policy, one sleeve per symbol, never rebalanced; everything net of costs."""

    policy: str
    label: str
    """Data, period and seed in words."""
    synthetic: bool
    """Generated bars, not observed ones."""
    symbols: tuple[str, ...]
    """N names."""
    closed_at: NDArray[np.int64]
    """(S + 1,) microseconds since 1970 UTC: the first decision's close, then every bar's."""
    bars_per_year: float
    """By the exchange's calendar, to annualise with."""
    equity: FloatArray
    """(S + 1, N) worth of each sleeve at those closes, 1 at the start."""
    position_frac: FloatArray
    """(S, N) signed position ÷ equity at the close of each bar; 0 where nothing is left."""
    exposure: Exposure
    """(S, N) what was held over each bar; of one account of several symbols the one to each."""
    turnover_frac: FloatArray
    """(S, N) notional traded in the bar ÷ equity before it."""
    cost_frac: FloatArray
    """(S, N) commission, slippage, spread, impact and borrowing ÷ equity before the bar."""
    action: FloatArray
    """(S, N) what the policy asked for at the close before each bar: position, number or code."""
    reward_names: tuple[str, ...]
    reward_terms: FloatArray
    """(K, N) weighted reward terms, summed over bars."""
    denials: NDArray[np.int64]
    """(N,) orders that a risk rule refused."""
    trades: Trades
    costs: CostProfile
    delay_bars: int
    """Bars between a decision and its execution beyond the usual next open."""
    initial_cash_ccy: float
    """Of each sleeve; what `equity` is a multiple of."""
    account: AccountTotals
    held: tuple[str, ...] = ()
    """Symbols of `exposure`, where one account holds several; else those of the accounts."""
    weights: FloatArray | None = None
    """(S, H + 1) capital that one account of H symbols asked for at the close before each bar, cash
    last, of its value; all cash after a halt; None where accounts have one symbol each."""
    proposals: FloatArray | None = None
    """(S, H) what the sleeves' agents asked for at that close; None as `weights`."""
    cash_frac: FloatArray | None = None
    """(S,) what is in no position at the close of each bar, of the value: capital without a sleeve,
    and what sleeves do not invest; None as `weights`."""
    close: FloatArray | None = None
    """(S + 1, N) price of each symbol at those closes, the last one known, NaN before the first;
    None where one account holds several."""
    time_zone: str = "UTC"
    """Of the exchange, for hours and weekdays."""
    asked_frac: FloatArray | None = None
    """(S, N) position that orders asked for at the close before each bar, ÷ equity there: what was
    held with all that was sent, whatever of it filled; None of portfolios."""
    fills: Fills | None = None
    """Every execution, lanes are positions of symbols; `trades` are rebuilt from them. None where
    one account holds several."""

    @property
    def n_bars(self) -> int:
        """S, bars after the first decision."""
        return len(self.closed_at) - 1

    @property
    def traded(self) -> tuple[str, ...]:
        """Symbols that trades name: those of the accounts, or those that one account holds."""
        return self.held or self.symbols

    @property
    def trade_account(self) -> IntArray:
        """(M,) position of each trade's account on the axis of symbols."""
        return np.zeros_like(self.trades.symbol) if self.held else self.trades.symbol

    @property
    def returns(self) -> FloatArray:
        """(S, N) simple returns of the sleeves; 0 where nothing is left to lose."""
        return simple_returns(self.equity)

    @property
    def portfolio(self) -> FloatArray:
        """(S + 1,) worth of all sleeves together, 1 at the start."""
        return np.asarray(self.equity.mean(axis=1))

    @property
    def portfolio_returns(self) -> FloatArray:
        """(S,) simple returns of all sleeves together."""
        return simple_returns(self.portfolio)

    @property
    def first_day(self) -> str:
        """UTC day of the first decision."""
        return str(self.days()[0])

    @property
    def last_day(self) -> str:
        """UTC day of the last close."""
        return str(self.days()[-1])

    def days(self) -> NDArray[np.datetime64]:
        """Return the UTC day (S + 1,) of each close."""
        return np.asarray(self.closed_at.astype("datetime64[us]").astype("datetime64[D]"))
