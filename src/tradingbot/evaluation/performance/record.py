"""How agents and baselines did over one part of the data, net of costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from tradingbot.evaluation.statistics.interval import Interval

PolicyKind = Literal["agents", "baseline", "supervised", "oracle"]
AGENTS, HOLD, FLAT, ORACLE = "agents", "buy & hold, equal weight", "flat", "oracle"
MATCHED_RANDOM = "turnover-matched random"
OLD_NAMES = {"equal weight, held": HOLD, "random, as much": MATCHED_RANDOM}
"""Name of a policy in older results and dossiers → its name today."""
"""Names of policies that stand in more than one table."""


@dataclass(frozen=True)
class EarnedParts:
    """What a policy earned, taken apart: the estimates add up to its net return per bar.

    Mean over accounts and bars, basis points; 95 %, stationary bootstrap over bars of the accounts'
    mean, so that accounts that move together are no proof of each other.
    """

    market_bps: Interval
    """Of the market, at the mean exposure of each account."""
    timing_bps: Interval
    """Of having more of the market in some bars than in others."""
    alpha_bps: Interval
    """The rest: selection and timing against the market, net of all costs."""


@dataclass(frozen=True)
class PolicyPerformance:
    """One policy as a portfolio of equal sleeves that is never rebalanced."""

    policy: str
    kind: PolicyKind
    total_return_frac: float
    annual_return_frac: float
    sharpe_annual: Interval
    """Of the portfolio's returns per bar; 95 %, stationary bootstrap."""
    sortino_annual: float
    calmar: float
    max_drawdown_frac: float
    """≥ 0, at closes."""
    net_bps_per_bar: Interval
    """Mean of the sleeves' simple returns, basis points."""
    win_rate_frac: float
    """Of closed trades; NaN without one."""
    profit_factor: float
    """Won ÷ lost by closed trades; NaN without one."""
    turnover_per_bar_frac: float
    """Traded notional ÷ equity, mean over sleeves and bars."""
    n_trades: int | None
    """Closed ones; None where an earlier version did not count them."""
    mean_trade_bars: float
    exposure_frac: float
    """Mean |position| ÷ equity."""
    alpha_annual_frac: float
    """Over the reference index (equal weight where there is none), regression, annualised."""
    beta: float
    cost_share_frac: float
    """Costs ÷ gross profit before them; NaN where nothing was earned."""
    equity: tuple[float, ...]
    """Worth of the portfolio at the days of the part, 1 at the start."""
    earned: EarnedParts | None = None
    """Its net return taken apart; None where an earlier version did not."""
    win_rate_interval: Interval | None = None
    """Win rate with its 95 % interval, which knows that trades of the same days go together; None
    without a closed trade, and where an earlier version did not measure it."""
    alpha_sharpe_annual: float = math.nan
    """Of the accounts' mean alpha per bar, 0 where nothing moves; NaN where it was not taken apart,
    and where an earlier version did not measure it."""

    @property
    def market_bps(self) -> Interval | None:
        """Part of the net return per bar that is the market's, at the mean exposure."""
        return None if self.earned is None else self.earned.market_bps

    @property
    def timing_bps(self) -> Interval | None:
        """Part that is timing of the market."""
        return None if self.earned is None else self.earned.timing_bps

    @property
    def alpha_bps(self) -> Interval | None:
        """Part that is the policy's own."""
        return None if self.earned is None else self.earned.alpha_bps


@dataclass(frozen=True)
class AgentPerformance:
    """One agent on its own: a line of the league table."""

    agent: str
    trades: bool
    """Validation lets it trade."""
    sharpe_annual: float
    total_return_frac: float
    hold_return_frac: float
    """Of buying and holding its symbol."""
    max_drawdown_frac: float
    win_rate_frac: float
    profit_factor: float
    net_bps_per_bar: float
    n_trades: int | None
    """Closed ones; None where an earlier version did not count them."""
    trades_per_1000: float
    """Steps with a fill per thousand; a trade, from flat to flat, has two or more."""
    turnover_per_bar_frac: float
    action_entropy: float
    """Of its deterministic actions, in [0, 1]."""
    largest_bin_frac: float
    """Share of its most frequent action bin."""
    supervised_return_frac: float | None = None
    """Of the supervised model on its symbol, at the threshold that was best there afterwards: more
    than a choice made beforehand. None without a model."""
    market_bps_per_bar: float = math.nan
    """Parts of `net_bps_per_bar`; NaN where an earlier version did not take it apart."""
    timing_bps_per_bar: float = math.nan
    alpha_bps_per_bar: float = math.nan


@dataclass(frozen=True)
class PartPerformance:
    """One part of the data: validation, test, or any period."""

    part: str
    first_day: str
    last_day: str
    bars: int
    days: tuple[str, ...]
    """ISO dates at which worths are given: the start, then the last bar of each day."""
    reference: str
    """Policy that alpha and beta refer to."""
    policies: tuple[PolicyPerformance, ...]
    """Agents first."""
    agents: tuple[AgentPerformance, ...]
    excess_over_hold_bps: Interval
    """Net return of the agents less that of equal weight, per bar."""
    share_of_oracle: Interval | None
    """Net return of the agents ÷ the oracle's; None without an oracle that earns."""
    voluntary_trade_frac: float
    """Steps in which the policy asked for a trade and got it ÷ steps."""
    trades_per_1000: float
    """Of the mean agent, steps with a fill per thousand."""
    factor: str = ""
    """The market that net returns are taken apart by, and the period of its betas, in words."""
    alpha_over_hold_bps: Interval | None = None
    """Alpha of the agents less that of equal weight, per bar; None in earlier versions."""

    @property
    def period(self) -> str:
        """Days, and bars of its figures: the first of a part is decided on and earns nothing."""
        return f"{self.first_day} … {self.last_day}, {self.bars:,} bars after the first"

    @property
    def years(self) -> float:
        """Calendar years from the first to the last day."""
        days = (date.fromisoformat(day[:10]) for day in (self.last_day, self.first_day))
        return (next(days) - next(days)).days / 365.25

    def policy(self, name: str) -> PolicyPerformance | None:
        """Return the row of a policy; None where it is not there."""
        return next((row for row in self.policies if row.policy == name), None)


_ADDED: dict[str, dict[str, Any]] = {
    "policies": {"earned": None, "win_rate_interval": None, "alpha_sharpe_annual": "nan"},
    "agents": {f"{name}_bps_per_bar": "nan" for name in ("market", "timing", "alpha")},
}
"""Fields of rows that earlier versions of a part lack, and what they are there."""


def add_missing_parts(part: Any) -> Any:
    """Return plain values of a part of an earlier version with the fields of this one."""
    if not isinstance(part, dict):
        return part
    upgrade = {"factor": "", "alpha_over_hold_bps": None, **part}
    for name, added in _ADDED.items():
        if isinstance(part.get(name), list):
            rows = part[name]
            upgrade[name] = [added | row if isinstance(row, dict) else row for row in rows]
    return upgrade


def rename_old_policies(values: Any) -> Any:
    """Return plain values of a result or dossier with policies under the names of this version."""
    if isinstance(values, str):
        return OLD_NAMES.get(values, values)
    if isinstance(values, list):
        return [rename_old_policies(each) for each in values]
    if isinstance(values, dict):
        return {key: rename_old_policies(each) for key, each in values.items()}
    return values
