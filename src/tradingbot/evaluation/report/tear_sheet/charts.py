"""The charts of a tear sheet, by name; each is None where there is nothing to draw."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType

from tradingbot.evaluation.performance.tear_sheet.record import ClockRow, TearSheet
from tradingbot.evaluation.report.chart import FULL_PX, HALF_PX, NARROW_PX, THIRD_PX, Chart
from tradingbot.evaluation.report.numbers import format_count, percent, plain
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.heat_map import HeatMap, heat_map
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.svg.spells import Spell, spell_chart

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WHOLE = "Year"
_UNTHINNED_YEARS = 7
"""Columns of years that fit on a small screen."""


def months_chart(sheet: TearSheet) -> Chart | None:
    """Draw a cell per month and the whole of each year, percent."""
    if not sheet.months:
        return None
    years = sorted({month.month[:4] for month in sheet.months})
    found = {month.month: 100 * month.return_frac for month in sheet.months}
    cells = [
        [*(found.get(f"{year}-{number + 1:02d}", math.nan) for number in range(12)),
         100 * year_return(sheet, year)]
        for year in years
    ]  # fmt: skip
    limit = max((abs(number) for number in found.values()), default=0.0) or 1.0
    columns = (*MONTHS, _WHOLE)
    wide = heat_map(
        HeatMap(cells, years, columns, digits=1, limit=limit), width=FULL_PX, cell_height=30
    )
    shown = years[-_UNTHINNED_YEARS:]
    turned = [[cells[years.index(year)][place] for year in shown] for place in range(13)]
    narrow = heat_map(
        HeatMap(turned, columns, shown, digits=1, limit=limit), width=NARROW_PX, cell_height=24
    )
    caption = (
        "Return of each month, after costs, in percent; the cell named Year is the year. The first "
        "and the last month are as long as the period is in them."
    )
    return Chart("Returns by month", wide, caption, narrow)


def year_return(sheet: TearSheet, year: str) -> float:
    """Compound the months of a year, share."""
    months = [month.return_frac for month in sheet.months if month.month.startswith(year)]
    return math.prod(1.0 + each for each in months) - 1.0


def drawdowns_chart(sheet: TearSheet) -> Chart | None:
    """Draw when each of the deepest drawdowns fell and recovered."""
    if not sheet.drawdowns:
        return None
    days = sheet.exposure.days
    rows = []
    for row in sheet.drawdowns:
        peak, trough = (bisect_left(days, day) for day in (row.peak_day, row.trough_day))
        end = len(days) if row.recovered_day is None else bisect_left(days, row.recovered_day)
        fell = f"{row.peak_day} … {row.trough_day}: lost {percent(row.depth_frac)}"
        back = f"recovered {row.recovered_day}" if row.recovered_day else "not recovered"
        spells = (Spell(peak, trough, "neg", fell), Spell(trough, end, "pos faded", back))
        rows.append((f"−{percent(row.depth_frac)}", spells))
    caption = "Orange: from the peak to the trough. Blue: back to the peak. At closes."
    return _full("Deepest drawdowns over time", partial(spell_chart, days, rows), caption)


def rolling_sharpe_chart(sheet: TearSheet) -> Chart | None:
    """Draw the moving Sharpe ratio, and where it would move if nothing changed."""
    found = sheet.rolling
    if found is None:
        return None
    line = LineSeries("Sharpe", found.sharpe_annual, "agents")
    draw = partial(
        time_chart, found.days, [line], Axis("Sharpe, annual", holds=(0.0,)),
        height=230, band=found.unchanged_sharpe,
    )  # fmt: skip
    caption = (
        f"Of the last {format_count(found.window_bars, 'bars')} at each day. Dashed: the whole "
        f"period. Tinted: where 95 % of such windows lie if nothing changes, by the bootstrap; a "
        f"line that stays within tells no story of better and worse times."
    )
    return _full("Rolling Sharpe ratio", draw, caption)


def rolling_beta_chart(sheet: TearSheet) -> Chart | None:
    """Draw the moving beta to the reference."""
    found = sheet.rolling
    if found is None or not found.beta:
        return None
    line = LineSeries("beta", found.beta, "agents")
    axis = Axis("beta", holds=(0.0,))
    draw = partial(time_chart, found.days, [replace(line, is_named=False)], axis, height=190)
    words = f"Slope on the returns of {sheet.reference}, {found.window_bars} bars."
    return _third("Rolling beta", draw, words)


def rolling_alpha_chart(sheet: TearSheet) -> Chart | None:
    """Draw the moving intercept on the reference."""
    found = sheet.rolling
    if found is None or not found.alpha_annual_frac:
        return None
    line = LineSeries("alpha", found.alpha_annual_frac, "agents")
    axis = Axis("alpha, annual", unit="percent", holds=(0.0,))
    draw = partial(time_chart, found.days, [replace(line, is_named=False)], axis, height=190)
    words = f"Intercept on the returns of {sheet.reference}, {found.window_bars} bars, annual."
    return _third("Rolling alpha", draw, words)


def rolling_volatility_chart(sheet: TearSheet) -> Chart | None:
    """Draw the moving volatility."""
    found = sheet.rolling
    if found is None:
        return None
    line = LineSeries("volatility", found.volatility_annual_frac, "agents")
    axis = Axis("volatility, annual", unit="percent", holds=(0.0,))
    draw = partial(time_chart, found.days, [replace(line, is_named=False)], axis, height=190)
    return _third("Rolling volatility", draw, f"Of returns per bar, {found.window_bars} bars.")


def distribution_chart(sheet: TearSheet) -> Chart | None:
    """Draw the histogram of daily returns beside that of a normal distribution."""
    found = sheet.tails
    if not found.counts:
        return None
    columns = []
    for number, count in enumerate(found.counts):
        low, high = found.edges_frac[number : number + 2]
        middle = 0.0 if low < 0.0 < high else (low + high) / 2
        expected = found.normal_counts[number]
        hint = f"{percent(low, 2)} … {percent(high, 2)}: {count:.0f} days, normal {expected:.1f}"
        style = "neg" if high <= 0.0 else "pos"
        columns.append(BarGroup(percent(middle), count, hint, beside=expected, style=style))
    draw = partial(column_chart, columns, Axis("days"), height=230, words="return of a day")
    caption = (
        f"{format_count(found.days, 'days')}, after costs. Dots: as many as a normal distribution "
        f"of the same mean and deviation would have. The outer columns hold all that lies beyond."
    )
    return _full("Returns of days", draw, caption)


def exposure_chart(sheet: TearSheet) -> Chart | None:
    """Draw gross and net exposure over time."""
    found = sheet.exposure
    lines = [
        LineSeries("gross", found.gross_frac, "agents", is_filled=True),
        LineSeries("net", found.net_frac, "held"),
    ]
    axis = Axis("share of equity", unit="percent", holds=(0.0,))
    caption = (
        "At the last bar of days, of the equity of all accounts. Gross counts longs and shorts, "
        "net takes shorts off."
    )
    return _full("Exposure over time", partial(time_chart, found.days, lines, axis, height=220),
                 caption)  # fmt: skip


def turnover_chart(sheet: TearSheet) -> Chart | None:
    """Draw what was traded over time."""
    found = sheet.exposure
    line = LineSeries("turnover", found.turnover_frac, "agents", is_filled=True)
    axis = Axis("of equity per day", unit="percent", holds=(0.0,))
    draw = partial(time_chart, found.days, [line], axis, height=150)
    return _full("Turnover over time", draw, "Bought and sold per day ÷ equity.")


def hours_chart(sheet: TearSheet) -> Chart | None:
    """Draw what a bar earns by the hour in which it ends; None where all end in one."""
    if len(sheet.clock.hours) < 2:
        return None
    zone = sheet.clock.time_zone
    caption = f"Mean per bar with 95 % interval, by the hour in which bars end, {zone}."
    return _half("By hour", _forest(sheet.clock.hours), caption)


def weekdays_chart(sheet: TearSheet) -> Chart | None:
    """Draw what a bar earns by weekday."""
    caption = f"Mean per bar with 95 % interval, {sheet.clock.time_zone}."
    return _half("By weekday", _forest(sheet.clock.weekdays), caption)


def clock_chart(sheet: TearSheet) -> Chart | None:
    """Draw weekday by hour; None where all bars end in one hour."""
    found = sheet.clock
    if len(found.hours) < 2:
        return None
    table = HeatMap(
        found.cells_bps, [row.name for row in found.weekdays], [row.name for row in found.hours],
        digits=1,
    )  # fmt: skip
    draw = partial(heat_map, table, cell_height=28)
    caption = "Mean return per bar, basis points. Few bars lie in a cell: colours are mostly luck."
    return _full("By weekday and hour", draw, caption)


def holding_chart(sheet: TearSheet) -> Chart | None:
    """Draw how long trades last: those that earned above, the others below."""
    found = sheet.holding
    if not found.won:
        return None
    columns = [
        BarGroup(name, won, f"{name} bars: {won} earned, {lost} did not", below=-lost, style="pos")
        for name, won, lost in zip(_bin_names(sheet), found.won, found.lost, strict=True)
    ]
    draw = partial(column_chart, columns, Axis("trades"), height=210, words="bars held")
    caption = "Closed trades; those that earned stand up, those that lost hang down."
    return _half("Holding times", draw, caption)


def holding_pnl_chart(sheet: TearSheet) -> Chart | None:
    """Draw what trades of each duration made."""
    found = sheet.holding
    if not found.won:
        return None
    columns = [
        BarGroup(name, pnl, f"{name} bars: {plain(pnl, 0, signed=True)}")
        for name, pnl in zip(_bin_names(sheet), found.pnl_ccy, strict=True)
    ]
    axis = Axis("account currency", unit="money")
    draw = partial(column_chart, columns, axis, height=210, words="bars held")
    return _half("P&L by holding time", draw, "All closed trades of each duration, net.")


CHARTS: Mapping[str, Callable[[TearSheet], Chart | None]] = MappingProxyType(
    {
        "months": months_chart,
        "drawdowns": drawdowns_chart,
        "rolling_sharpe": rolling_sharpe_chart,
        "rolling_beta": rolling_beta_chart,
        "rolling_alpha": rolling_alpha_chart,
        "rolling_volatility": rolling_volatility_chart,
        "distribution": distribution_chart,
        "exposure": exposure_chart,
        "turnover": turnover_chart,
        "hours": hours_chart,
        "weekdays": weekdays_chart,
        "clock": clock_chart,
        "holding": holding_chart,
        "holding_pnl": holding_pnl_chart,
    }
)
"""Name → chart of the whole policy; charts of single symbols are in `symbol_charts`."""


def _forest(rows: tuple[ClockRow, ...]) -> Callable[..., Drawing]:
    estimates = [
        Estimate(
            row.name,
            row.net_bps,
            style="unsure" if not math.isfinite(row.net_bps.low) or row.net_bps.covers(0) else
            "agents" if row.net_bps.estimate > 0 else "loss",
        )
        for row in rows
    ]  # fmt: skip
    return partial(forest_chart, estimates, Axis("bp per bar", holds=(0.0,)))


def _full(title: str, draw: Callable[..., Drawing], caption: str) -> Chart:
    return Chart(title, draw(width=FULL_PX), caption, draw(width=NARROW_PX))


def _bin_names(sheet: TearSheet) -> list[str]:
    """Name the bins; the last is open, and short enough to stand at the edge of the picture."""
    pairs = list(pairwise(sheet.holding.edges_bars))
    names = [f"{first}" if end - first == 1 else f"{first}–{end - 1}" for first, end in pairs]
    return [*names[:-1], f"{pairs[-1][0]}+"] if len(names) > 1 else names


def _third(title: str, draw: Callable[..., Drawing], caption: str) -> Chart:
    return Chart(title, draw(width=THIRD_PX), caption)


def _half(title: str, draw: Callable[..., Drawing], caption: str) -> Chart:
    return Chart(title, draw(width=HALF_PX), caption)
