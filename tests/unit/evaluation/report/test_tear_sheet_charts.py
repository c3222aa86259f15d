"""Pictures of a tear sheet show what its record says, to the ends of the period."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

import pytest

from fixtures.example_backtest import example_tear_sheet
from tradingbot.evaluation.report.tear_sheet import charts
from tradingbot.evaluation.report.tear_sheet.sections import months_section
from tradingbot.evaluation.report.tear_sheet.symbol_charts import price_course_chart
from tradingbot.evaluation.report.tear_sheet.trade_table import trade_table

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


def test_fills_of_a_price_are_told_apart_and_counted() -> None:
    course = SHEET.prices[0]
    (entry, exit_), rest = course.marks[:2], course.marks[2:]
    between = (replace(entry, part="add"), replace(exit_, part="partial exit"))

    chart = price_course_chart(replace(course, marks=(entry, *between, exit_, *rest)))

    styles = re.findall(r'<polygon points="([^"]+)" class="([^"]+)"', chart.drawing.body)[:4]
    assert [style for _, style in styles] == ["buys", "buys", "sells hollow", "sells hollow"]
    widths = [max(xs) - min(xs) for xs in (
        [float(corner.split(",")[0]) for corner in points.split()] for points, _ in styles
    )]  # fmt: skip
    assert widths[0] == pytest.approx(widths[3], abs=0.2)
    assert widths[1] == pytest.approx(widths[2], abs=0.2)
    assert widths[1] < 0.8 * widths[0]


def test_caption_of_a_price_says_how_many_fills_are_drawn() -> None:
    course = SHEET.prices[0]

    every = price_course_chart(course).caption
    some = price_course_chart(replace(course, n_fills=2_300)).caption

    assert f"with all {len(course.marks)} fills" in every
    assert f"{len(course.marks)} of their 2\u202f300 fills" in some
    assert "every entry and exit" in some


@pytest.mark.parametrize(
    ("better", "words"),
    [(0, "were better than those"), (1, "was better than that"), (2, "were better than those")],
)
def test_months_that_beat_the_reference_are_counted_in_grammar(better: int, words: str) -> None:
    months = tuple(
        replace(SHEET.months[0], return_frac=0.02, reference_frac=0.01 if place < better else 0.03)
        for place in range(3)
    )

    finding = months_section(replace(SHEET, months=months, reference="SPY")).finding

    assert finding.endswith(f" {better} {words} of SPY.")


def test_words_below_the_months_hold_for_the_wide_and_the_narrow_map() -> None:
    chart = charts.months_chart(SHEET)

    assert chart is not None
    assert "column" not in chart.caption
    assert "the cell named Year is the year" in chart.caption
    assert chart.narrow is not None
    assert ">Year</text>" in chart.drawing.body
    assert ">Year</text>" in chart.narrow.body


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


def test_list_of_trades_says_what_paper_leaves_out() -> None:
    css = (files("tradingbot.evaluation") / "templates" / "page.css").read_text("utf-8")
    rows = SHEET.trades.rows[:1] * 41

    long = trade_table(replace(SHEET.trades, rows=rows, n_trades=41), "scope")
    short = trade_table(replace(SHEET.trades, rows=rows[:40], n_trades=40), "scope")

    assert "Paper shows the first 40." in long.caption
    assert "Paper" not in short.caption
    assert ".brief tbody tr:nth-child(n + 41) { display: none; }" in css
