"""Costs and days of a backtest, as arguments say them."""

from __future__ import annotations

from datetime import date

from tradingbot.data.splits import IndexRange
from tradingbot.domain.day_range import read_day
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest import bars_between
from tradingbot.evaluation.backtest.terms import ready_bars
from tradingbot.market.costs import CostProfile, cost_profile


def read_costs(costs: str | float | CostProfile) -> CostProfile:
    """Return a profile by name, one that is given, or one of so many basis points of each fill.

    Raises:
        ConfigError: If there is none of that name, or the number is none of a cost.
    """
    if isinstance(costs, CostProfile):
        return costs
    if isinstance(costs, str):
        return cost_profile(costs)
    if isinstance(costs, bool) or not 0.0 <= costs <= 500.0:
        raise ConfigError(
            "costs must be a profile, or 0 to 500 basis points of each fill",
            was=repr(costs),
            remedy="Give e.g. 'alpaca', or 1.2 for 1.2 basis points",
        )
    return CostProfile(commission_frac=costs / 1e4, slippage_frac=0.0, spread_frac=0.0)


def choose_period(
    world: World, start: str | date | None, end: str | date | None, warm_up: int
) -> IndexRange:
    """Return the bars between two days that all symbols are ready for, after the warm-up.

    Raises:
        ConfigError: If a day is none.
        DataError: If no bar is left.
    """
    first = None if start is None else read_day(start, "start")
    last = None if end is None else read_day(end, "end")
    bars = ready_bars(world, bars_between(world, first, last))
    begin = max(bars.start, warm_up)
    if begin + 1 >= bars.stop:
        raise DataError(
            "a backtest must have bars after the warm-up",
            was=f"{bars.stop} bars, {warm_up} to warm up",
            where=world.label,
            remedy="Use more bars, or a strategy that looks back less",
        )
    return IndexRange(begin, bars.stop)
