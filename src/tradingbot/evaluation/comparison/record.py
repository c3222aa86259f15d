"""What a comparison of runs holds, as plain values.

The first run is the one that others are compared with. Every run trades its own test part at its
own costs; intervals are 95 %, by the one bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.evaluation.performance.record import PolicyPerformance
from tradingbot.evaluation.performance.tear_sheet.record import ExposureCourse
from tradingbot.evaluation.performance.tear_sheet.trade_record import HoldingTimes
from tradingbot.evaluation.statistics.interval import Interval


@dataclass(frozen=True)
class DifferingRow:
    """A setting or fact that is not the same in all runs."""

    name: str
    values: tuple[str, ...]
    """Of each run, in their order."""


@dataclass(frozen=True)
class AgentRow:
    """One symbol in every run."""

    symbol: str
    total_return_frac: tuple[float, ...]
    """Of each run; NaN where it has no such agent."""


@dataclass(frozen=True)
class Behaviour:
    """What a run does, on its test part."""

    bins: tuple[str, ...]
    """Of its deterministic actions."""
    histogram: tuple[float, ...]
    """Share of each bin, of all agents together."""
    entropy: float
    """Of each agent's actions, in [0, 1], mean over agents."""
    time_in_market_frac: float
    """Bars with a position, mean over accounts."""
    holding: HoldingTimes
    exposure: ExposureCourse


@dataclass(frozen=True)
class ComparedRun:
    """One run on its own test part."""

    run: str
    label: str
    """Data in words."""
    synthetic: bool
    data_sha256: str
    costs_bps: float
    """Of each fill, without impact and borrowing."""
    agents: int
    trading_agents: int
    first_day: str
    last_day: str
    bars: int
    performance: PolicyPerformance
    behaviour: Behaviour


@dataclass(frozen=True)
class RunDifference:
    """A run less the first one, bar by bar over the bars that both traded."""

    run: str
    bars: int
    """That both traded: closes at the same times, after closes at the same times."""
    first_day: str
    last_day: str
    net_bps_per_bar: Interval
    """Mean of the accounts' returns."""
    alpha_bps_per_bar: Interval
    sharpe_annual: Interval
    """Of the accounts together; both histories are resampled at the same bars."""
    turnover_per_bar_frac: Interval
    exposure_frac: Interval
    """Mean |position| ÷ equity."""
    correlation: float
    """Of the two portfolios' returns; NaN where one does not move."""
    caveats: tuple[str, ...]
    """What else differs: bars, symbols, data, costs."""


@dataclass(frozen=True)
class RunComparison:
    """Runs side by side."""

    runs: tuple[ComparedRun, ...]
    """The first is what others are compared with."""
    config: tuple[DifferingRow, ...]
    """Only keys that differ."""
    facts: tuple[DifferingRow, ...]
    differences: tuple[RunDifference, ...]
    """Of the others; those that share too few bars with the first are in `unpaired`."""
    unpaired: tuple[tuple[str, str], ...]
    """Run → why its difference has no interval."""
    agents: tuple[AgentRow, ...]
    bars_per_year: float
    """Of the first run."""
    days: tuple[str, ...]
    """Last bars of days that all runs share; empty where they share too few."""
    equity: tuple[tuple[float, ...], ...]
    """(runs, days) worth over the shared bars, 1 at their start."""

    @property
    def is_synthetic(self) -> bool:
        """Whether a run was judged on generated bars."""
        return any(each.synthetic for each in self.runs)
