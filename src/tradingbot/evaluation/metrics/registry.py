"""Every metric by name: how it is measured, in which unit, and which way is better.

`docs/reference/metrics.md` is this table; a test keeps them alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.evaluation.metrics import returns, trading


@dataclass(frozen=True, eq=False)
class PerformanceSeries:
    """What a policy did, as far as it is known; a metric without its input is NaN: not measured."""

    returns: ArrayLike
    """(T,) simple, per bar, net of costs."""
    bars_per_year: float
    """Of the market's calendar."""
    reference: ArrayLike | None = None
    """(T,) simple returns of the reference index on the same bars."""
    trade_pnl: ArrayLike | None = None
    """(M,) net result of each closed trade, any unit."""
    trade_bars: ArrayLike | None = None
    """(M,) bars that each closed trade lasted."""
    turnover: ArrayLike | None = None
    """(T,) notional traded ÷ equity before the bar."""
    exposure: ArrayLike | None = None
    """(T,) signed position ÷ equity."""
    costs: ArrayLike | None = None
    """(T,) all costs ÷ equity before the bar."""
    action_shares: ArrayLike | None = None
    """(bins,) from `trading.action_shares`, of deterministic actions."""
    asked: NDArray[np.bool_] | None = None
    """Steps in which the policy wanted another position."""
    traded: NDArray[np.bool_] | None = None
    """Steps in which something was traded; the shape of `asked`."""


@dataclass(frozen=True)
class Metric:
    """One figure: how, in which unit, and which way is better."""

    name: str
    measure: Callable[[PerformanceSeries], float]
    """NaN where it is not defined or an input is missing."""
    unit: str
    """Of the figure, with its annualisation."""
    higher_is_better: bool | None
    """None where neither way is."""
    description: str
    undefined: str
    """When it is NaN."""


def measure(outcome: PerformanceSeries, names: Iterable[str] | None = None) -> dict[str, float]:
    """Measure all metrics, or some by name, in the order of the table or of the names.

    Raises:
        ConfigError: If a name is unknown; says which was probably meant.
        DataError: If an input holds NaN or an infinity.
    """
    chosen = METRICS if names is None else names
    return {name: metric_named(name).measure(outcome) for name in chosen}


def metric_named(name: str) -> Metric:
    """Find a metric.

    Raises:
        ConfigError: If there is none of this name.
    """
    if name not in METRICS:
        remedy = suggest(name, METRICS)
        raise ConfigError("metric must be a known one", was=repr(name), remedy=remedy)
    return METRICS[name]


def _yearly(function: Callable[..., float]) -> Callable[[PerformanceSeries], float]:
    return lambda outcome: function(outcome.returns, bars_per_year=outcome.bars_per_year)


def _plain(function: Callable[..., float], *fields: str) -> Callable[[PerformanceSeries], float]:
    """Call with fields of the outcome; NaN where one is missing."""

    def measured(outcome: PerformanceSeries) -> float:
        inputs = [getattr(outcome, field) for field in fields]
        return math.nan if any(each is None for each in inputs) else function(*inputs)

    return measured


def _beside(function: Callable[..., float]) -> Callable[[PerformanceSeries], float]:
    def measured(outcome: PerformanceSeries) -> float:
        if outcome.reference is None:
            return math.nan
        return function(outcome.returns, outcome.reference, bars_per_year=outcome.bars_per_year)

    return measured


def _trades_per_1000(outcome: PerformanceSeries) -> float:
    if outcome.trade_pnl is None:
        return math.nan
    return trading.trades_per_1000_bars(outcome.trade_pnl, n_bars=len(np.asarray(outcome.returns)))


_NO_BAR, _STILL, _NO_TRADE = "no bar", "fewer than 2 bars, or nothing moves", "no closed trade"
_ENTRIES = (
    Metric("total_return", _plain(returns.total_return, "returns"), "share", True,
           "compounded over all bars", _NO_BAR),
    Metric("annual_return", _yearly(returns.annual_return), "share a year", True,
           "(1 + total)^(bars a year ÷ T) − 1", "no bar, or more than a number holds"),
    Metric("annual_volatility", _yearly(returns.annual_volatility), "share, × √bars a year", False,
           "standard deviation (T − 1) of returns", "fewer than 2 bars"),
    Metric("sharpe", _yearly(returns.annual_sharpe), "ratio, × √bars a year", True,
           "mean ÷ standard deviation (T − 1), cash at 0", _STILL),
    Metric("sortino", _yearly(returns.annual_sortino), "ratio, × √bars a year", True,
           "mean ÷ root mean square of losses over all T bars", "no bar loses"),
    Metric("calmar", _yearly(returns.annual_calmar), "ratio, a year", True,
           "annual return ÷ maximum drawdown", "no drawdown"),
    Metric("max_drawdown", _plain(returns.max_drawdown, "returns"), "share, ≥ 0", False,
           "largest loss since a peak, at closes", _NO_BAR),
    Metric("max_drawdown_bars", _plain(returns.max_drawdown_bars, "returns"), "bars", False,
           "longest stretch below an earlier peak, recovered or not", _NO_BAR),
    Metric("value_at_risk", _plain(returns.value_at_risk, "returns"), "share per bar", False,
           "loss exceeded in 5 % of bars, historical", _NO_BAR),
    Metric("expected_shortfall", _plain(returns.expected_shortfall, "returns"), "share per bar",
           False, "mean loss of the bars at or beyond the value at risk", _NO_BAR),
    Metric("hit_rate", _plain(returns.hit_rate, "returns"), "share", True,
           "bars that gain ÷ bars that gain or lose", "no bar moves"),
    Metric("beta", _plain(returns.beta, "returns", "reference"), "ratio", None,
           "slope on the reference's returns", "the reference does not move"),
    Metric("alpha", _beside(returns.annual_alpha), "share a year, not compounded", True,
           "intercept on the reference's returns × bars a year", "beta is"),
    Metric("excess_return", _beside(returns.annual_excess_return), "share a year", True,
           "annual return less the reference's", _NO_BAR),
    Metric("information_ratio", _beside(returns.information_ratio), "ratio, × √bars a year", True,
           "Sharpe ratio of returns less the reference's", "they never differ"),
    Metric("trade_count", _plain(trading.trade_count, "trade_pnl"), "trades", None,
           "closed round trips", "never"),
    Metric("trades_per_1000_bars", _trades_per_1000, "trades per 1,000 bars", None,
           "closed round trips per thousand bars", _NO_BAR),
    Metric("trade_bars", _plain(trading.mean_trade_bars, "trade_bars"), "bars", None,
           "mean duration of a closed trade", _NO_TRADE),
    Metric("win_rate", _plain(trading.win_rate, "trade_pnl"), "share", True,
           "closed trades that earn, net", _NO_TRADE),
    Metric("profit_factor", _plain(trading.profit_factor, "trade_pnl"), "ratio", True,
           "gains ÷ losses of closed trades, net", "no trade loses"),
    Metric("turnover", _plain(trading.turnover_per_bar, "turnover"), "share of equity per bar",
           None, "mean notional traded ÷ equity", _NO_BAR),
    Metric("exposure", _plain(trading.mean_exposure, "exposure"), "share of equity", None,
           "mean gross exposure", _NO_BAR),
    Metric("time_in_market", _plain(trading.time_in_market, "exposure"), "share of bars", None,
           "bars with a position", _NO_BAR),
    Metric("cost_share", _plain(trading.cost_share, "returns", "costs"), "share of gross result",
           False, "costs ÷ (net + costs), not compounded", "nothing earned before costs"),
    Metric("action_entropy", _plain(trading.action_entropy, "action_shares"), "0 … 1", None,
           "entropy of the action histogram ÷ ln(bins)", "no action"),
    Metric("voluntary_trade_rate", _plain(trading.voluntary_trade_rate, "asked", "traded"),
           "share of steps", None, "the policy asked for a trade and got it", "no step"),
)  # fmt: skip
METRICS: Mapping[str, Metric] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Name → metric, in the order of the reference page."""
