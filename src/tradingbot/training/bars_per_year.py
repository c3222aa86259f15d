"""How many bars a year has: what figures of a run are annualised with."""

from __future__ import annotations

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.manifest import Provenance
from tradingbot.domain.timeframe import Timeframe
from tradingbot.envs.world import World


def bars_per_year(world: World, provenance: Provenance) -> float:
    """Count bars by the exchange's calendar over the days of a world."""
    first, last = world.closed_at[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
    calendar = TradingCalendar.load(provenance.calendar, first.item(), last.item())
    return calendar.bars_per_year(Timeframe.parse(provenance.timeframe), provenance.grid)
