"""What façade functions accept as data, and how it becomes something to trade on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import DataError
from tradingbot.envs.build_world import world_from_panel
from tradingbot.envs.world import World
from tradingbot.facade.bars import Bars, load_bars
from tradingbot.features.panel import Panel

_MICROSECONDS_PER_YEAR = 365.25 * 86_400e6


@dataclass(frozen=True, eq=False)
class TradedData:
    """A market as backtests take it."""

    prices: World
    """What is traded; of bars alone it has no features."""
    with_features: Callable[[], World]
    """Returns the same bars with every feature."""
    bars_per_year: float


def as_world(data: Bars | Panel | World | str | Path | Any) -> World:
    """Return a world with every feature, from bars, a panel, a world, or what `load_bars` reads."""
    if isinstance(data, World):
        return data
    if isinstance(data, Panel):
        return world_from_panel(data)
    return as_bars(data).world


def as_bars(data: Bars | str | Path | Any) -> Bars:
    """Return bars, read by `load_bars` where they are not yet.

    Raises:
        DataError: If it is a panel or a world, which hold no dataset.
    """
    if isinstance(data, Panel | World):
        raise DataError(
            "this needs bars", was=type(data).__name__, remedy="Give what tb.load_bars returned"
        )
    return data if isinstance(data, Bars) else load_bars(data)


def as_traded(data: Bars | Panel | World | str | Path | Any) -> TradedData:
    """Return a market to backtest on."""
    if isinstance(data, Panel | World):
        world = as_world(data)
        return TradedData(world, lambda: world, bars_per_year_of(world))
    bars = as_bars(data)
    return TradedData(bars.prices, lambda: bars.world, bars.bars_per_year)


def bars_per_year_of(world: World) -> float:
    """Return bars per year as the clock of a world has them, where no calendar is known."""
    span = float(world.closed_at[-1] - world.closed_at[0]) / _MICROSECONDS_PER_YEAR
    if not span > 0.0:
        raise DataError("a market must have two bars", was=world.n_bars, where=world.label)
    return (world.n_bars - 1) / span
