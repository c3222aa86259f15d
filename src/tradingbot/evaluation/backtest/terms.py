"""Terms of a backtest: its bars, by numbers or days, and rules that policies are compared under."""

from __future__ import annotations

from datetime import date

import numpy as np

from tradingbot.data.calendar import closing_day
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World, cut_world
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits


def bars_between(world: World, start: date | None, end: date | None) -> IndexRange:
    """Return the bars that close on some days of the exchange, both days included.

    Args:
        world: What is traded.
        start: First day; that of the world by default.
        end: Last day; that of the world by default.

    Raises:
        DataError: If no bar closes then.
    """
    days = closing_day(world.closed_at.astype("datetime64[us]"))
    first = 0 if start is None else int(np.searchsorted(days, np.datetime64(start, "D")))
    after = len(days)
    if end is not None:
        after = int(np.searchsorted(days, np.datetime64(end, "D"), side="right"))
    if first >= after:
        raise DataError(
            "the days of a backtest must hold a bar",
            was=f"{start or 'the first'} … {end or 'the last'}",
            where=f"{days[0]} … {days[-1]}, {world.label}",
            remedy="Choose days that the data cover",
        )
    return IndexRange(first, after)


def ready_bars(world: World, part: IndexRange) -> IndexRange:
    """Return a part from the first bar on at which most of its symbols are usable.

    Raises:
        DataError: If there is no such bar with one after it.
    """
    require_period(world, part)
    cut = cut_world(world, part.start, part.stop - 1)
    return IndexRange(part.start + first_ready_bar(cut), part.stop)


def require_period(world: World, bars: IndexRange) -> None:
    """Refuse bars between which nothing can be decided and executed.

    Raises:
        DataError: If they are no bars of the world, or none follows the first.
    """
    if len(bars) < 2 or bars.stop > world.n_bars:
        rule = "a backtest must have a bar to decide at and one after it, both in the data"
        where = f"{world.n_bars} bars, {world.label}"
        remedy = "Choose a longer period, or one that the data cover"
        was = f"bars {bars.start} … {bars.stop - 1}"
        raise DataError(rule, was=was, where=where, remedy=remedy)


def sleeve_config(
    costs: CostProfile | None = None,
    *,
    reward: str = "v31",
    max_participation_frac: float = 0.1,
    allow_short: bool = False,
) -> EnvConfig:
    """Return rules under which a policy is seen as it is.

    Up to the whole sleeve in its symbol, targets executed as they are given, and no stop or loss
    limit, which would be a second policy on top of the first.

    Args:
        costs: Rates; the usual ones by default.
        reward: Whose terms are added up.
        max_participation_frac: Largest fill, of the bar's volume.
        allow_short: Targets below 0 are sold short; else they mean flat.

    Raises:
        ConfigError: If there is no reward of that name.
    """
    return EnvConfig(
        rules=SimulatorParams(
            account=AccountRules(
                position_loss_frac=float("inf"),
                portfolio_loss_frac=1.0,
                max_participation_frac=max_participation_frac,
            ),
            limits=RiskLimits(max_position_frac=1.0, allow_short=allow_short),
            action=ActionRules(space="target", smoothing_bars=1),
            episode=EpisodeRules(window_bars=1),
        ),
        costs=costs or CostProfile(),
        reward=reward,
    )
