"""Which bars of a world a backtest is about: by numbers, by days, and what is too little."""

from __future__ import annotations

from datetime import date

import numpy as np

from tradingbot.data.calendar import closing_day
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World, cut_world


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
    require_period(world, part.start, part.stop - 1)
    cut = cut_world(world, part.start, part.stop - 1)
    return IndexRange(part.start + first_ready_bar(cut), part.stop)


def require_period(world: World, first_bar: int, last_bar: int) -> None:
    """Refuse bars between which nothing can be decided and executed.

    Raises:
        DataError: If they are no bars of the world, or none follows the first.
    """
    if not 0 <= first_bar < last_bar < world.n_bars:
        rule = "a backtest must have a bar to decide at and one after it, both in the data"
        where = f"{world.n_bars} bars, {world.label}"
        remedy = "Choose a longer period, or one that the data cover"
        raise DataError(rule, was=f"bars {first_bar} … {last_bar}", where=where, remedy=remedy)
