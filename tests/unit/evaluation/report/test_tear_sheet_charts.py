"""Pictures of a tear sheet show what its record says, to the ends of the period."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fixtures.example_backtest import example_tear_sheet
from tradingbot.evaluation.report.tear_sheet import charts

SHEET = example_tear_sheet(3)


def spells_of(body: str) -> list[tuple[float, float, str]]:
    """Return where boxes with words begin and end, px, and their words."""
    found = re.findall(r'<rect x="([\d.]+)"[^>]* width="([\d.]+)"[^>]*><title>([^<]+)<', body)
    return [(float(x), float(x) + float(width), words) for x, width, words in found]


def test_drawdown_that_is_not_recovered_reaches_the_end_of_the_period() -> None:
    row = SHEET.drawdowns[0]
    days = SHEET.exposure.days
    peak, trough = days[len(days) // 4], days[len(days) // 2]
    lasting = replace(row, peak_day=peak, trough_day=trough, recovered_day=None)

    chart = charts.drawdowns_chart(replace(SHEET, drawdowns=(lasting,)))

    assert chart is not None
    (fell, back) = spells_of(chart.drawing.body)
    assert "lost" in fell[2]
    assert back[2] == "not recovered"
    assert back[0] == pytest.approx(fell[1], abs=0.2)
    assert back[1] == pytest.approx(chart.drawing.width - 6, abs=0.2)


def test_year_compounds_its_months() -> None:
    month = SHEET.months[0]
    told = (("2024-12", 1.0), ("2025-01", 0.10), ("2025-02", -0.10))
    months = tuple(replace(month, month=name, return_frac=number) for name, number in told)

    assert charts.year_return(replace(SHEET, months=months), "2025") == pytest.approx(-0.01)


def test_exposure_draws_gross_and_net_as_two_lines() -> None:
    exposure = replace(SHEET.exposure, net_frac=tuple(-each for each in SHEET.exposure.gross_frac))

    chart = charts.exposure_chart(replace(SHEET, exposure=exposure))

    assert chart is not None
    lines = re.findall(r'<path d="(M[^Z"]+)" class="([^"]*)"', chart.drawing.body)
    drawn = {style: path for path, style in lines if path.count("L") > 20}
    assert len(drawn) == 2
    assert len(set(drawn.values())) == 2


def test_longest_holding_times_are_named_and_open() -> None:
    names = charts._bin_names(SHEET)

    edges = SHEET.holding.edges_bars
    assert names[-1] == f"{edges[-2]}+"
    assert len(names) == len(edges) - 1
