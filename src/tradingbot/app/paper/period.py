"""Which bars a session decides on: days of a replay, or what closes from now on; after warm-up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

import numpy as np

from tradingbot.data.calendar import closing_day
from tradingbot.domain.errors import DataError
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.registry import feature_of_id
from tradingbot.runtime.session.bars import as_datetime
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.serving.served_model import ServedModel

DEFAULT_DAYS = 7
"""Days before the last one that are replayed unless told otherwise."""


def find_period(
    inputs: MarketInputs,
    days: tuple[date | None, date | None] | None,
    hours: ExchangeHours,
    now: datetime,
) -> tuple[int, int | None]:
    """Return the number of the first bar that is decided on, and the one after the last.

    Args:
        inputs: Bars that are stored.
        days: First and last day of a replay; None: bars come as they close.
        hours: Of the exchange.
        now: Time of day.

    Raises:
        DataError: If the days hold no two bars.
    """
    if days is not None:
        return _find_days(inputs, *days)
    last = as_datetime(inputs.closed_at[-1])
    return inputs.shape[0] + hours.count_closes(last, now), None


def count_warm_up(model: ServedModel) -> int:
    """Return how many bars there must be until every feature of the last of them is defined."""
    return max(feature_of_id(each).lookback_bars for each in model.feature_ids)


def after_warm_up(
    first: int,
    stop: int | None,
    needed: int,
    inputs: MarketInputs,
    told: Callable[[str], None],
) -> int:
    """Return the first bar to decide on at which every feature is defined; say so if it is later.

    Args:
        first: Number of the bar that was asked for.
        stop: Number after the last one; None: bars come as they close.
        needed: Bars that features need.
        inputs: Bars that are stored.
        told: Of a later one.

    Raises:
        DataError: If the bars of a replay end before.
    """
    if first >= needed - 1:
        return first
    if stop is not None and stop - needed < 1:
        rule = f"bars must go beyond the {needed} that the model's features need"
        raise DataError(rule, was=f"{stop} bars", remedy="Choose later days, or import more bars")
    if stop is None:
        told(f"warms up: {first} of {needed} bars are known, nothing is decided before the last")
    else:
        at = as_datetime(inputs.closed_at[needed - 1])
        told(f"the first decision is at {at:%Y-%m-%d %H:%M} UTC: features need {needed} bars")
    return needed - 1


def _find_days(inputs: MarketInputs, start: date | None, end: date | None) -> tuple[int, int]:
    """Return the number of the first bar that is decided on, and the one after the last."""
    days = closing_day(inputs.closed_at)
    stop = len(days)
    if end is not None:
        stop = int(np.searchsorted(days, np.datetime64(end, "D"), side="right"))
    last = days[max(stop, 1) - 1]
    wanted = np.datetime64(start, "D") if start else last - np.timedelta64(DEFAULT_DAYS, "D")
    first = int(np.searchsorted(days, wanted))
    if stop - first < 2:
        raise DataError(
            "the days of a session must hold a bar to decide at and one after it",
            was=f"{start or wanted} … {end or last}",
            where=f"{days[0]} … {days[-1]}",
            remedy="Choose days that the data cover",
        )
    return first, stop
