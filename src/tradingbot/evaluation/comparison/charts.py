"""Charts of a comparison: worths over shared bars, differences, actions, exposure."""

from __future__ import annotations

import math
from functools import partial

from tradingbot.evaluation.comparison.record import RunComparison
from tradingbot.evaluation.report.chart import FULL_PX, HALF_PX, NARROW_PX, Chart
from tradingbot.evaluation.report.first_screen import equity_picture
from tradingbot.evaluation.report.numbers import percent
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.heat_map import HeatMap, heat_map
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.statistics.interval import Interval

_STYLES = ("held", "agents", "index", "oracle")
"""Of the first run, and of the next ones; more are grey."""


def equity_chart(found: RunComparison) -> Chart | None:
    """Draw the worth of every run over the bars that all traded."""
    if not found.days:
        return None
    pairs = zip(found.runs, found.equity, strict=True)
    lines = [LineSeries(each.run, ys, _style(place)) for place, (each, ys) in enumerate(pairs)]
    caption = (
        f"Over the bars that all runs traded, {found.days[0]} … {found.days[-1]}, after costs."
    )
    return equity_picture(found.days, lines, "What became of 1", caption)


def difference_charts(found: RunComparison) -> list[Chart]:
    """Draw every difference with its interval."""
    asked = (
        ("Net return", "net_bps_per_bar", "bp per bar more", 1.0),
        ("Alpha", "alpha_bps_per_bar", "bp per bar more", 1.0),
        ("Sharpe ratio", "sharpe_annual", "annual, more", 1.0),
        ("Exposure", "exposure_frac", "% of equity more", 100.0),
    )
    charts = []
    for title, field, words, scale in asked:
        estimates = [
            _estimate(each.run, getattr(each, field).scaled(scale)) for each in found.differences
        ]
        draw = partial(forest_chart, estimates, Axis(words, holds=(0.0,)))
        charts.append(Chart(f"{title}, less that of {found.runs[0].run}", draw(width=HALF_PX)))
    return charts if found.differences else []


def actions_chart(found: RunComparison) -> Chart | None:
    """Draw the share of each action of each run; None where actions are of several kinds."""
    bins = found.runs[0].behaviour.bins
    if any(each.behaviour.bins != bins for each in found.runs):
        return None
    cells = [[100 * share for share in each.behaviour.histogram] for each in found.runs]
    table = HeatMap(cells, [each.run for each in found.runs], bins, digits=0)
    draw = partial(heat_map, table, cell_height=30)
    caption = "Share of deterministic actions in each bin, percent, all agents together."
    return Chart("What is asked for", draw(width=FULL_PX), caption, draw(width=NARROW_PX))


def exposure_chart(found: RunComparison) -> Chart | None:
    """Draw what every run had invested, where their days are the same."""
    days = found.runs[0].behaviour.exposure.days
    if any(each.behaviour.exposure.days != days for each in found.runs):
        return None
    lines = [
        LineSeries(each.run, each.behaviour.exposure.gross_frac, _style(place))
        for place, each in enumerate(found.runs)
    ]
    axis = Axis("gross, share of equity", unit="percent", holds=(0.0,))
    draw = partial(time_chart, days, lines, axis, height=220)
    return Chart("Exposure over time", draw(width=FULL_PX), "At the last bar of days.",
                 draw(width=NARROW_PX))  # fmt: skip


def agents_chart(found: RunComparison) -> Chart | None:
    """Draw the return of every symbol in the second run less that in the first."""
    if len(found.runs) != 2:
        return None
    rows = [
        (row.symbol, row.total_return_frac[1] - row.total_return_frac[0])
        for row in found.agents
        if all(map(math.isfinite, row.total_return_frac))
    ]
    columns = [
        BarGroup(symbol, less, f"{symbol}: {percent(less, signed=True)}")
        for symbol, less in sorted(rows, key=lambda each: -each[1])
    ]
    if not columns:
        return None
    draw = partial(column_chart, columns, Axis("return, more", unit="percent"), height=200)
    first, second = (each.run for each in found.runs)
    caption = f"Return of {second} less that of {first} on the same symbol, whole test parts."
    return Chart("Symbol by symbol", draw(width=FULL_PX), caption, draw(width=NARROW_PX))


def _style(place: int) -> str:
    return _STYLES[place] if place < len(_STYLES) else "other"


def _estimate(name: str, interval: Interval) -> Estimate:
    style = "unsure" if interval.covers(0) else "agents" if interval.estimate > 0 else "loss"
    return Estimate(name, interval, style=style)
