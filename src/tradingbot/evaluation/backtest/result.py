"""What one policy did with N sleeves over S bars: the record that every evaluation reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.backtest.trades import Trades
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.market.costs import CostProfile

FloatArray = NDArray[np.float64]


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

    @property
    def n_bars(self) -> int:
        """S, bars after the first decision."""
        return len(self.closed_at) - 1

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
