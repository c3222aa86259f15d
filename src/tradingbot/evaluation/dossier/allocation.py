"""How a master divided capital on the test part, and what the sleeves did by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.evaluation.statistics.interval import Interval

OUTSIDE_FRAC = 0.05
"""Share of bars with less cash than the least, and with more than the most, that is told: single
bars say nothing of a habit."""


@dataclass(frozen=True)
class SleeveRow:
    """One sleeve."""

    symbol: str
    mean_weight_frac: float
    """Capital asked for it, of the portfolio's value, mean over bars."""
    most_weight_frac: float
    sharpe_annual: float
    """Of its own account, whatever the master gave it, which earns nothing after a halt of the
    portfolio; 0 where nothing moves."""
    total_return_frac: float
    pnl_ccy: float
    """What the portfolio's trades in the symbol earned, those still open at the last close."""


@dataclass(frozen=True)
class Allocation:
    """What a master did with capital."""

    traded_by: str
    """Who trades the sleeves, in words."""
    rows: tuple[SleeveRow, ...]
    """In order of the symbols."""
    least_cash_frac: float
    """What is in no position at the closes of the test part, of the value: less in a twentieth of
    the bars (`OUTSIDE_FRAC`)."""
    mean_cash_frac: float
    most_cash_frac: float
    """More in a twentieth of the bars."""
    moved_per_bar_frac: float
    """Capital asked to move from one bar to the next, of the value, mean over bars."""
    fixed: str
    """The fixed allocation that it is compared with."""
    over_fixed_annual_frac: float
    """Return a year less that of the fixed allocation of the same sleeves."""
    over_fixed_bps: Interval | None = None
    """What the master adds, basis points: alpha per bar less that of the fixed allocation on the
    same bars, with as much in cash as a master in equal weight keeps. None in older dossiers."""
    fixed_alpha_bps: Interval | None = None
    """Alpha per bar of the fixed allocation, basis points: what is the sleeves' own."""
