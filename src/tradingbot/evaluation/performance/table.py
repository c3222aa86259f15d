"""Rows of policies for tables: the same columns on the terminal and on pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands know the columns before anything heavy is imported
    from tradingbot.evaluation.performance.record import PolicyPerformance

PERFORMANCE_COLUMNS = (
    *("policy", "return", "Sharpe/yr [95 %]", "bp/bar [95 %]", "alpha [95 %]", "drawdown"),
    *("trades", "win rate", "invested", "turnover", "costs", "market", "timing"),
)
"""What `performance_row` fills; tables with less room take the first few."""
ALPHA_COLUMNS = frozenset({"alpha [95 %]", "market", "timing"})
"""Left out where no policy's net return was taken apart."""
PERFORMANCE_NOTE = (
    "All per-symbol accounts together, never rebalanced; bp/bar: their mean (beside a portfolio "
    "run: each as one portfolio). Trades: closed round trips. Turnover: per bar, of equity. Costs: "
    "of the result before costs."
)
ALPHA_NOTE = "Alpha, market and timing: bp/bar, which they add up to; the market is {factor}."
"""Stands under tables with these columns; `factor` is the market and the period of its betas."""


def performance_row(row: PolicyPerformance) -> list[str]:
    """Lay out one policy under `PERFORMANCE_COLUMNS`."""
    return [
        row.policy,
        f"{row.total_return_frac:+.1%}",
        write_interval(row.sharpe_annual),
        write_interval(row.net_bps_per_bar),
        "–" if row.alpha_bps is None else write_interval(row.alpha_bps),
        f"{row.max_drawdown_frac:.1%}",
        "–" if row.n_trades is None else f"{row.n_trades:,}",
        _share(row.win_rate_frac, 0),
        _share(row.exposure_frac, 0),
        _share(row.turnover_per_bar_frac, 2),
        _share(row.cost_share_frac, 0),
        *("–" if part is None else f"{part[0]:.2f}" for part in (row.market_bps, row.timing_bps)),
    ]


def performance_columns(policies: Sequence[PolicyPerformance], n_columns: int) -> list[int]:
    """Return the places of the first so many columns, but those that no policy fills."""
    known = any(each.earned is not None for each in policies)
    shown = enumerate(PERFORMANCE_COLUMNS[:n_columns])
    return [place for place, name in shown if known or name not in ALPHA_COLUMNS]


def write_interval(interval: tuple[float, float, float], digits: int = 2) -> str:
    """Write an estimate and its ends: `1.85 [-4.12, 7.66]`."""
    estimate, low, high = (f"{number:.{digits}f}" for number in interval)
    return f"{estimate} [{low}, {high}]"


def _share(number: float, digits: int) -> str:
    return "–" if number != number else f"{number:.{digits}%}"
