"""Are stamps what the user says they are? A wrong answer would show bars before they were known.

Taking hourly bars for quarter-hourly ones, or opening stamps for closing ones, moves every bar
into the past: a look-ahead that no later check could see.
"""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from tradingbot.data.calendar import TradingCalendar
from tradingbot.domain.errors import DataError
from tradingbot.domain.timeframe import Timeframe

_MIN_STEPS = 3
# More openings among closing stamps than this and they are openings.
_OPENINGS_FRAC = 0.05


def require_spacing(
    stamps: pl.Series, symbols: pl.Series, timeframe: Timeframe, *, where: str
) -> None:
    """Refuse bars whose usual distance is not the length they are said to have.

    Args:
        stamps: UTC times in the file's order, opens or closes.
        symbols: One for each stamp.
        timeframe: The length the user says the bars have.
        where: Names the file in errors.

    Raises:
        DataError: If the most frequent step of a symbol from bar to bar is another.
    """
    rows = pl.DataFrame({"at": stamps, "symbol": symbols}).drop_nulls().sort("symbol", "at")
    steps = rows.select(pl.col("at").diff().over("symbol")).to_series().drop_nulls()
    steps = steps.filter(steps > timedelta(0))
    if len(steps) < _MIN_STEPS:
        return
    usual = steps.mode().min()
    # Sessions lie a day apart, give or take the hour of a clock change.
    slack = timedelta(hours=1) if timeframe.is_daily else timedelta(0)
    assert isinstance(usual, timedelta)
    if abs(usual - timeframe.duration) > slack:
        raise DataError(
            f"bars must be {timeframe} apart",
            was=f"mostly {usual} apart",
            where=where,
            remedy="Say how long the bars are with --timeframe",
        )


def require_closings(closed_at: pl.Series, calendar: TradingCalendar, *, where: str) -> None:
    """Refuse closing stamps that fall on the openings of sessions: they mark starts.

    Raises:
        DataError: If more than a few sessions have a bar that closes the moment they open.
    """
    sessions = calendar.sessions()
    # Where sessions touch, as in 24/7 trading, an opening is a closing too.
    opens = sessions["opens_at"].filter(
        ~sessions["opens_at"].is_in(sessions["closes_at"].implode())
    )
    hit = closed_at.unique().is_in(opens.implode()).sum()
    if hit > _OPENINGS_FRAC * len(opens):
        raise DataError(
            "closing stamps must not fall on the opening of a session",
            was=f"{hit} of {len(opens)} sessions",
            where=where,
            remedy="They mark the bars' openings: say --stamps open",
        )
