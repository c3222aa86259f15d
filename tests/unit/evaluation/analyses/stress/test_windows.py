"""A window of history counts only where the data cover it."""

from __future__ import annotations

from datetime import date

import numpy as np

from tradingbot.data.splits import IndexRange
from tradingbot.evaluation.analyses.stress.analysis import HISTORY, HistoricalWindow, covered_bars

WINDOW = HistoricalWindow("x", date(2025, 4, 1), date(2025, 4, 30), "words")


def _clock(first: str, last: str) -> np.ndarray:
    """One close per weekday at 20:00 UTC."""
    days = np.arange(np.datetime64(first), np.datetime64(last) + 1)
    days = days[np.is_busday(days)]
    return (days.astype("datetime64[us]") + np.timedelta64(20, "h")).astype(np.int64)


def test_window_within_the_data_gives_its_bars_both_days_included() -> None:
    clock = _clock("2025-03-03", "2025-05-30")
    found = covered_bars(WINDOW, clock, np.ones((2, len(clock)), dtype=bool))
    assert found is not None
    days = clock[[found.start, found.stop - 1]].astype("datetime64[us]").astype("datetime64[D]")
    assert [str(day) for day in days] == ["2025-04-01", "2025-04-30"]


def test_window_that_data_cover_in_part_or_not_at_all_is_none() -> None:
    for first, last in (("2025-04-15", "2025-05-30"), ("2024-01-02", "2024-02-01")):
        clock = _clock(first, last)
        assert covered_bars(WINDOW, clock, np.ones((2, len(clock)), dtype=bool)) is None


def test_window_in_which_few_symbols_are_usable_is_none() -> None:
    clock = _clock("2025-03-03", "2025-05-30")
    usable = np.zeros((3, len(clock)), dtype=bool)
    usable[0] = True
    assert covered_bars(WINDOW, clock, usable) is None
    usable[1] = True
    assert isinstance(covered_bars(WINDOW, clock, usable), IndexRange)


def test_history_is_in_order_and_named_once() -> None:
    assert [w.first_day for w in HISTORY] == sorted(w.first_day for w in HISTORY)
    assert len({w.name for w in HISTORY}) == len(HISTORY) == 4
