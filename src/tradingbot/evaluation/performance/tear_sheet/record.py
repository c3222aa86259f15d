"""What a tear sheet holds: plain values with units, as the dossier keeps them.

All of one portfolio of equal accounts that is never rebalanced, net of costs. NaN: not defined.
Intervals are 95 %, by the one bootstrap of `statistics.policy_intervals`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.evaluation.performance.tear_sheet.trade_record import (
    HoldingTimes,
    PriceCourse,
    SymbolCourse,
    TradeLog,
)
from tradingbot.evaluation.statistics.interval import Interval


@dataclass(frozen=True)
class MonthReturn:
    """One calendar month."""

    month: str
    """`2024-03`"""
    return_frac: float
    reference_frac: float
    """Of the reference in the same bars; NaN without one."""
    bars: int
    """Of the month within the period: its first and last month may not be whole."""


@dataclass(frozen=True)
class DrawdownRow:
    """One drawdown, at closes."""

    depth_frac: float
    peak_day: str
    trough_day: str
    recovered_day: str | None
    """None where the peak was not reached again."""
    fall_bars: int
    """From the peak to the trough."""
    recovery_bars: int | None
    """From the trough back to the peak."""


@dataclass(frozen=True)
class RollingFigures:
    """Figures of a moving window, at the last bar of days."""

    window_bars: int
    days: tuple[str, ...]
    sharpe_annual: tuple[float, ...]
    volatility_annual_frac: tuple[float, ...]
    beta: tuple[float, ...]
    """To the reference; empty without one."""
    alpha_annual_frac: tuple[float, ...]
    """Intercept on the reference, annual; empty without one."""
    unchanged_sharpe: Interval
    """Whole-period Sharpe ratio, and between which ends 95 % of windows lie if nothing changes:
    windows of histories that the bootstrap draws."""


@dataclass(frozen=True)
class DatedReturn:
    """The return of one day."""

    day: str
    return_frac: float


@dataclass(frozen=True)
class Tails:
    """How the returns of days are distributed; of bars where a day has one."""

    days: int
    edges_frac: tuple[float, ...]
    """(B + 1,) of the histogram; empty where nothing moves."""
    counts: tuple[float, ...]
    """(B,) days."""
    normal_counts: tuple[float, ...]
    """(B,) that a normal distribution of the same mean and deviation would have."""
    skewness: float
    kurtosis: float
    """Pearson; 3 for a normal distribution."""
    tail_ratio: float
    """|95 % quantile| ÷ |5 % quantile|."""
    value_at_risk_frac: Interval
    """Loss of a day that is exceeded in 5 % of days."""
    expected_shortfall_frac: Interval
    """Mean loss of those days."""
    positive_frac: float
    """Days that gain ÷ days that gain or lose."""
    best: tuple[DatedReturn, ...]
    worst: tuple[DatedReturn, ...]


@dataclass(frozen=True)
class ExposureCourse:
    """What was held, at the last bar of days; shares of the equity of all accounts together."""

    days: tuple[str, ...]
    gross_frac: tuple[float, ...]
    net_frac: tuple[float, ...]
    held_frac: tuple[float, ...]
    """Accounts with a position ÷ accounts."""
    turnover_frac: tuple[float, ...]
    """Traded notional of the day ÷ equity."""


@dataclass(frozen=True)
class ClockRow:
    """Bars of one hour or weekday."""

    name: str
    bars: int
    net_bps: Interval
    """Mean return per bar; both ends NaN below eight bars."""
    total_frac: float
    """Sum of the returns, not compounded."""


@dataclass(frozen=True)
class ClockProfile:
    """When it was earned, by the exchange's clock."""

    time_zone: str
    hours: tuple[ClockRow, ...]
    """By the hour in which bars end; one row where bars are daily."""
    weekdays: tuple[ClockRow, ...]
    cells_bps: tuple[tuple[float, ...], ...]
    """(weekdays, hours) mean return per bar; NaN where there is no bar."""


@dataclass(frozen=True)
class TearSheet:
    """Everything that is shown of one policy over one period."""

    policy: str
    reference: str
    """What months, beta and alpha refer to; empty without one."""
    first_day: str
    last_day: str
    bars: int
    bars_per_year: float
    months: tuple[MonthReturn, ...]
    drawdowns: tuple[DrawdownRow, ...]
    """The deepest, the deepest first."""
    n_drawdowns: int
    under_water_frac: float
    """Bars below an earlier peak ÷ bars."""
    rolling: RollingFigures | None
    """None where the period is too short for windows."""
    tails: Tails
    exposure: ExposureCourse
    clock: ClockProfile
    trades: TradeLog
    holding: HoldingTimes
    symbols: tuple[SymbolCourse, ...]
    prices: tuple[PriceCourse, ...]
    """Of a few symbols: those that earned and lost most."""
