"""How the dashboard writes units, limits, gains and ticks."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
import pytest

from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.numbers import quantity
from tradingbot.evaluation.report.table import table_of
from tradingbot.monitoring.dashboard import markup, session_tables
from tradingbot.monitoring.dashboard.figures.style import blank_figure, mark_times
from tradingbot.monitoring.dashboard.markup import distance_words
from tradingbot.monitoring.dashboard.moments import Zone
from tradingbot.monitoring.dashboard.palette import palette_of
from tradingbot.monitoring.dashboard.sources.breaker_distance import BreakerDistance


@pytest.mark.parametrize(
    ("units", "shown"),
    [(-18.2572, "−18.2572"), (1_157.114, "1\u202f157.11"), (0.0, "0"), (3, "3.00000")],
)
def test_units_are_written_with_the_signs_of_other_numbers(units: float, shown: str) -> None:
    assert quantity(units).rstrip("0").rstrip(".") == shown.rstrip("0").rstrip(".")


def test_use_of_a_limit_that_is_none_says_so() -> None:
    unlimited = BreakerDistance("trades", "count", 7.0, 1e9, False, "orders")

    assert distance_words(unlimited) == "7, no limit"


@pytest.mark.parametrize(("amount", "tone"), [(-0.004, ""), (-0.006, "bad"), (2.0, "")])
def test_loss_that_rounds_to_nothing_has_no_colour(amount: float, tone: str) -> None:
    assert session_tables._gain(amount).tone == tone


@pytest.mark.parametrize("n_bars", [1, 5, 7, 8, 56, 100])
def test_labels_of_time_lie_at_equal_distances(n_bars: int) -> None:
    closes = np.datetime64("2025-10-01T14:30", "us") + np.arange(n_bars) * np.timedelta64(1, "h")
    figure = blank_figure(palette_of("light"))
    mark_times(figure, closes, Zone("America/New_York", ZoneInfo("America/New_York"), "market"))
    places = np.array(figure.layout.xaxis.tickvals)

    assert places[0] == 0
    assert len(places) <= 6
    assert len(set(np.diff(places).tolist())) <= 1


def test_words_of_a_memo_are_written_as_its_numbers_are() -> None:
    said = "Sharpe 2.18 [-0.07, 4.52] over 1,298 bars, <= 3 %"

    shown = (
        markup.banner("good", "GO", said, [said]),
        markup.figures([Figure("a", "1", said)]),
        markup.note(said),
        markup.table(table_of(["a"], [[said]], "c", words=("a",)), nothing=""),
    )

    for each in shown:
        assert "[−0.07, 4.52] over 1\u202f298 bars, ≤ 3\u202f%" in each
        assert "1,298" not in each


@pytest.mark.parametrize(
    ("n_bars", "step_h", "first", "second"),
    [
        (7, 1, "10:30<br>10-01<br>2025", "12:30<br>10-01"),
        (20, 1, "10:30<br>10-01<br>2025", "14:30<br>10-01"),
        (21, 3, "10:30<br>10-01<br>2025", "22:30<br>10-01"),
        (6, 24, "10-01<br>2025", "10-02"),
        (300, 24, "10-01<br>2025", "11-30"),
    ],
)
def test_labels_of_time_are_narrow_and_no_two_the_same(
    n_bars: int, step_h: int, first: str, second: str
) -> None:
    closes = np.datetime64("2025-10-01T14:30", "us") + np.arange(n_bars) * np.timedelta64(
        step_h, "h"
    )
    figure = blank_figure(palette_of("light"))

    mark_times(figure, closes, Zone("America/New_York", ZoneInfo("America/New_York"), "market"))

    labels = list(figure.layout.xaxis.ticktext)
    assert labels[:2] == [first, second]
    assert len(set(labels)) == len(labels)
    assert max(len(line) for label in labels for line in label.split("<br>")) <= 5


def test_hour_that_a_clock_shows_twice_has_two_labels() -> None:
    closes = np.datetime64("2025-11-02T05:30", "us") + np.arange(3) * np.timedelta64(1, "h")
    figure = blank_figure(palette_of("light"))

    mark_times(figure, closes, Zone("America/New_York", ZoneInfo("America/New_York"), "market"))

    assert list(figure.layout.xaxis.ticktext) == [
        *("2025-11-02<br>01:30 EDT", "2025-11-02<br>01:30 EST", "2025-11-02<br>02:30 EST"),
    ]


@pytest.mark.parametrize(("n_columns", "is_many"), [(3, False), (4, True)])
def test_rows_of_many_columns_are_cards_on_a_telephone_and_keep_their_heads(
    n_columns: int, *, is_many: bool
) -> None:
    heads = [f"head {place}" for place in range(n_columns)]

    shown = markup.table(table_of(heads, [["1"] * n_columns], "c"), nothing="")

    assert ("tb-many" in shown) is is_many
    assert all(f'data-head="{head}">1<' in shown for head in heads)
    assert shown.count('role="cell"') == n_columns - 1  # roles outlive the layout of cards
    assert shown.count('role="row"') == 2


def test_axes_write_numbers_whole() -> None:
    figure = blank_figure(palette_of("light"))

    assert figure.layout.yaxis.exponentformat == "none"
    assert figure.layout.separators == ".\u202f"
