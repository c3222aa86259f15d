"""A tear sheet as sections of a page: what each chart shows, in a sentence, and its table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from tradingbot.evaluation.performance.tear_sheet.record import DatedReturn, TearSheet
from tradingbot.evaluation.report.blocks import Block, Figure, Figures, Section, Words
from tradingbot.evaluation.report.chart import Chart, Charts
from tradingbot.evaluation.report.numbers import (
    count,
    format_count,
    format_interval,
    percent,
    plain,
)
from tradingbot.evaluation.report.table import Cell, column, record_table, text, text_column
from tradingbot.evaluation.report.tear_sheet import charts, symbol_charts
from tradingbot.evaluation.report.tear_sheet.trade_table import trade_table
from tradingbot.evaluation.statistics.interval import Interval

_DRAWDOWN_COLUMNS = (
    text_column("Peak", "peak_day"),
    text_column("Trough", "trough_day"),
    text_column("Recovered", lambda row: _day_or_not(row.recovered_day)),
    column("Depth", "depth_frac", "share lost since the peak", percent),
    column("Fall, bars", "fall_bars", "bars from the peak to the trough", count),
    column("Recovery, bars", "recovery_bars", "bars from the trough back to the peak", count),
)


def tear_sheet_sections(sheet: TearSheet, scope: str) -> list[Section]:
    """Return the sections in the order in which people look for them.

    Args:
        sheet: Of one policy.
        scope: Data, period and costs in words, for captions of tables.
    """
    return [
        months_section(sheet),
        drawdowns_section(sheet, scope),
        rolling_section(sheet),
        tails_section(sheet),
        exposure_section(sheet),
        clock_section(sheet),
        trades_section(sheet, scope),
        symbols_section(sheet),
    ]


def months_section(sheet: TearSheet) -> Section:
    """Which months made it?"""
    returns = [month.return_frac for month in sheet.months]
    gains = sum(each > 0 for each in returns)
    finding = f"{gains} of {format_count(len(returns), 'months')} gained."
    if returns:
        best, worst = (pick(sheet.months, key=lambda each: each.return_frac) for pick in (max, min))
        finding += (
            f" The best was {best.month} with {percent(best.return_frac, signed=True)}, the worst "
            f"{worst.month} with {percent(worst.return_frac, signed=True)}."
        )
    beaten = [m for m in sheet.months if m.return_frac > m.reference_frac]
    if sheet.reference:
        told = "was better than that" if len(beaten) == 1 else "were better than those"
        finding += f" {len(beaten)} {told} of {sheet.reference}."
    return Section("months", "Months", finding, _full(charts.months_chart(sheet)))


def drawdowns_section(sheet: TearSheet, scope: str) -> Section:
    """How deep did it fall, and how long did it take to come back?"""
    if not sheet.drawdowns:
        finding = "Worth was never below an earlier peak."
        return Section("drawdowns", "Drawdowns", finding, is_left_out=True)
    deepest = sheet.drawdowns[0]
    end = (
        f"recovered on {deepest.recovered_day}"
        if deepest.recovered_day
        else f"was not recovered by {sheet.last_day}"
    )
    finding = (
        f"The deepest of {format_count(sheet.n_drawdowns, 'drawdowns')} lost "
        f"{percent(deepest.depth_frac)} from {deepest.peak_day} to {deepest.trough_day} and {end}. "
        f"Worth was below an earlier peak in {percent(sheet.under_water_frac, 0)} of the bars."
    )
    caption = f"At closes; {scope}."
    table = record_table(_DRAWDOWN_COLUMNS, sheet.drawdowns, caption, sorted_by="Depth")
    return Section(
        "drawdowns", "Drawdowns", finding, [*_full(charts.drawdowns_chart(sheet)), table]
    )


def rolling_section(sheet: TearSheet) -> Section:
    """Did it fade?"""
    found = sheet.rolling
    if found is None:
        finding = f"{format_count(sheet.bars, 'bars')} are too few for moving windows."
        return Section("rolling", "Rolling figures", finding, is_left_out=True)
    known = [each for each in found.sharpe_annual if math.isfinite(each)]
    band = found.unchanged_sharpe
    outside = sum(not band.covers(each) for each in known)
    finding = f"Windows of {format_count(found.window_bars, 'bars')}."
    if known:
        finding = (
            f"{finding} The Sharpe ratio moved between {plain(min(known))} and "
            f"{plain(max(known))}, last {plain(known[-1])}; without any change 95 % of windows "
            f"would lie within {format_interval(band)}, and {percent(outside / len(known), 0)} of "
            f"these lie outside."
        )
    smaller = (
        charts.rolling_volatility_chart(sheet),
        charts.rolling_beta_chart(sheet),
        charts.rolling_alpha_chart(sheet),
    )
    blocks = [*_full(charts.rolling_sharpe_chart(sheet)), *_side_by_side(smaller, "third")]
    return Section("rolling", "Rolling figures", finding, blocks)


def tails_section(sheet: TearSheet) -> Section:
    """How bad is a bad day?"""
    found = sheet.tails
    if not found.counts:
        return Section("tails", "Days and tails", "No day gained or lost.", is_left_out=True)
    risk, shortfall = found.value_at_risk_frac, found.expected_shortfall_frac
    finding = (
        f"One day in twenty lost more than {percent(risk.estimate, 2)}, and then "
        f"{percent(shortfall.estimate, 2)} on average. {percent(found.positive_frac, 0)} of the "
        f"days that moved gained."
    )
    figures = Figures(
        (
            Figure("Value at risk, 95 %", percent(risk.estimate, 2), _ends(risk)),
            Figure("Expected shortfall", percent(shortfall.estimate, 2), _ends(shortfall)),
            Figure("Skewness", plain(found.skewness), "below 0: losses reach further"),
            Figure("Kurtosis", plain(found.kurtosis, 1), "3 for a normal distribution"),
            Figure("Tail ratio", plain(found.tail_ratio), "best 5 % ÷ worst 5 %"),
            *_extremes("Best day", found.best[:1]),
            *_extremes("Worst day", found.worst[:1]),
        )
    )
    blocks = [*_full(charts.distribution_chart(sheet)), figures]
    return Section("tails", "Days and tails", finding, blocks)


def exposure_section(sheet: TearSheet) -> Section:
    """How much was at stake?"""
    found = sheet.exposure
    gross, net = (sum(each) / len(each) for each in (found.gross_frac, found.net_frac))
    finding = (
        f"On average {percent(gross, 0)} of equity was invested, net {percent(net, 0)}; at most "
        f"{percent(max(found.gross_frac), 0)}. "
        f"{percent(sum(found.turnover_frac) / len(found.days))} of equity was traded per day."
    )
    blocks = [*_full(charts.exposure_chart(sheet)), *_full(charts.turnover_chart(sheet))]
    return Section("exposure", "Exposure", finding, blocks)


def clock_section(sheet: TearSheet) -> Section:
    """Is there an hour or a day of the week that makes it?"""
    found = sheet.clock
    rows = [*(found.hours if len(found.hours) > 1 else ()), *found.weekdays]
    apart = [
        row.name for row in rows if math.isfinite(row.net_bps.low) and not row.net_bps.covers(0)
    ]
    told = (
        f"Of {len(rows)} hours and weekdays, {', '.join(apart)} lie outside of zero; by luck one "
        f"in twenty would."
        if apart
        else f"Of {len(rows)} hours and weekdays none lies outside of zero beyond 95 % of chance."
    )
    finding = f"{told} Clock of the exchange, {found.time_zone}."
    pair = (charts.hours_chart(sheet), charts.weekdays_chart(sheet))
    blocks = [*_side_by_side(pair), *_full(charts.clock_chart(sheet))]
    return Section("clock", "Hours and weekdays", finding, blocks)


def trades_section(sheet: TearSheet, scope: str) -> Section:
    """Which trades made it, and how long do they last?"""
    log = sheet.trades
    if not log.n_trades:
        return Section("trades", "Trades", "Nothing was traded.", is_left_out=True)
    finding = (
        f"{format_count(log.n_trades, 'trades')}, {count(log.n_open)} still open. Closed ones won "
        f"{plain(log.won_ccy, 0)} and lost {plain(-log.lost_ccy, 0)} in account currency."
    )
    if sheet.holding.won:
        finding += (
            f" Half of them lasted {plain(sheet.holding.median_bars, 0)} bars or less, the longest "
            f"{count(sheet.holding.longest_bars)}."
        )
    holding = _side_by_side((charts.holding_chart(sheet), charts.holding_pnl_chart(sheet)))
    return Section("trades", "Trades", finding, [*holding, trade_table(log, scope)])


def symbols_section(sheet: TearSheet) -> Section:
    """Where on the price were entries and exits, and which symbols carried it?"""
    traded = [each for each in sheet.symbols if each.n_trades]
    gained = sum(each.total_return_frac > 0 for each in traded)
    total = format_count(len(sheet.symbols), "symbols")
    finding = f"{len(traded)} of {total} were traded, {gained} gained."
    if len(traded) > len(sheet.prices) > 0:
        finding += f" Below: the {len(sheet.prices)} that earned and lost most, entry by entry."
    prices = [symbol_charts.price_course_chart(each) for each in sheet.prices]
    multiples = _full(symbol_charts.symbols_chart(sheet))
    blocks: list[Block] = list(multiples)
    if prices:
        blocks += [Words((symbol_charts.PRICE_WORDS,), tone="soft"), Charts(prices, "full")]
    return Section("symbols", "Symbols", finding, blocks)


def _ends(interval: Interval) -> str:
    ends = format_interval(interval.scaled(100))
    return f"of a day; 95 % {ends}" if ends else "of a day"


def _extremes(name: str, days: Sequence[DatedReturn]) -> list[Figure]:
    return [Figure(name, percent(each.return_frac, 2, signed=True), each.day) for each in days]


def _day_or_not(day: str | None) -> Cell:
    return text(day) if day else Cell("not yet", "9999", tone="soft")


def _full(chart: Chart | None) -> list[Block]:
    return [Charts((chart,), "full")] if chart else []


def _side_by_side(
    found: Iterable[Chart | None], size: Literal["half", "third"] = "half"
) -> list[Block]:
    shown = tuple(chart for chart in found if chart)
    return [Charts(shown, size)] if shown else []
