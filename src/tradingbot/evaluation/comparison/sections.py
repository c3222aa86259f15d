"""Sections of a comparison: results, configuration, data, behaviour, symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tradingbot.evaluation.comparison import charts
from tradingbot.evaluation.comparison.record import (
    AgentRow,
    ComparedRun,
    DifferingRow,
    RunComparison,
)
from tradingbot.evaluation.report.blocks import Block, Section
from tradingbot.evaluation.report.chart import Chart, Charts
from tradingbot.evaluation.report.numbers import (
    count,
    format_count,
    format_interval,
    percent,
    plain,
)
from tradingbot.evaluation.report.table import (
    Cell,
    Column,
    Table,
    column,
    record_table,
    text,
    text_column,
)
from tradingbot.evaluation.statistics.interval import Interval

_HASH_DIGITS = 12
_RESULTS = (
    text_column("Run", lambda row: text(row.run, tone="strong")),
    column("Return", lambda row: _cell(row.performance.total_return_frac, percent, signed=True)),
    column("Sharpe", lambda row: _interval_cell(row.performance.sharpe_annual), "annual, 95 %"),
    column("Net bp/bar", lambda row: _interval_cell(row.performance.net_bps_per_bar), "95 %"),
    column("Alpha bp/bar", lambda row: _interval_cell(row.performance.alpha_bps), "95 %"),
    column("Drawdown", lambda row: _cell(row.performance.max_drawdown_frac, percent)),
    column("Costs", "costs_bps", "of each fill, basis points", digits=1),
    column("Trading", lambda row: Cell(f"{row.trading_agents} of {row.agents}", row.trading_agents),
           "agents that validation lets trade"),
)  # fmt: skip
_DIFFERENCES = (
    text_column("Run", lambda row: text(row.run, tone="strong")),
    column("Bars", "bars", "that both traded", count),
    column("Net bp/bar", "net_bps_per_bar", "more than the first, with 95 % interval", signed=True),
    column("Alpha bp/bar", "alpha_bps_per_bar", "more than the first", signed=True),
    column("Sharpe", "sharpe_annual", "annual, more than the first", signed=True),
    column("Turnover", lambda row: _percent_cell(row.turnover_per_bar_frac), "% a bar, more"),
    column("Exposure", lambda row: _percent_cell(row.exposure_frac), "% of equity, more"),
    column("Correlation", "correlation", "of the returns of both"),
)
_BEHAVIOUR = (
    text_column("Run", lambda row: text(row.run, tone="strong")),
    column("Trades", lambda row: _cell(row.performance.n_trades, count), "closed round trips"),
    column("Win rate", lambda row: _cell(row.performance.win_rate_frac, percent)),
    column("Median bars", lambda row: _cell(row.behaviour.holding.median_bars, count), "held"),
    column("Longest", lambda row: _cell(row.behaviour.holding.longest_bars, count), "bars held"),
    column("Invested", lambda row: _cell(row.performance.exposure_frac, percent), "mean, gross"),
    column("In the market", lambda row: _cell(row.behaviour.time_in_market_frac, percent), "bars"),
    column("Turnover", lambda row: _cell(row.performance.turnover_per_bar_frac, percent, digits=2),
           "of equity per bar"),
    column("Entropy", lambda row: _cell(row.behaviour.entropy, plain), "of actions, 0 to 1"),
)  # fmt: skip


def results_section(found: RunComparison) -> Section:
    """Which one earns more, and is it luck?"""
    first = found.runs[0].run
    beyond = [each.run for each in found.differences if not each.net_bps_per_bar.covers(0)]
    finding = (
        f"Runs that share bars with {first}: {len(found.differences)}; that earn more or less per "
        f"bar beyond 95 % of chance: {len(beyond)}. The interval of a run "
        f"says how sure its figure is; whether two runs differ is told by that of the difference."
    )
    tables: list[Block] = [
        record_table(_RESULTS, found.runs, "Each on its own test part, after its own costs.")
    ]
    if found.differences:
        caption = f"Run less {first}, over the bars that both traded; 95 % intervals of the pair."
        tables.append(record_table(_DIFFERENCES, found.differences, caption))
        tables.insert(0, Charts(charts.difference_charts(found), "half"))
    return Section("results", "Results", finding, tables)


def configuration_section(found: RunComparison) -> Section:
    """What was asked for differently?"""
    if not found.config:
        return Section("configuration", "Configuration", "Every setting is the same.")
    finding = f"{format_count(len(found.config), 'settings')} differ; the others are the same."
    table = _differing_table("Setting", found.config, found.runs, "Only keys that differ.")
    return Section("configuration", "Configuration", finding, [table])


def data_section(found: RunComparison) -> Section:
    """Which data, periods, code and seeds?"""
    rows = [
        DifferingRow("data", tuple(each.label for each in found.runs)),
        DifferingRow("data hash", tuple(each.data_sha256 for each in found.runs)),
        DifferingRow(
            "test part", tuple(f"{each.first_day} … {each.last_day}" for each in found.runs)
        ),
        DifferingRow("test bars", tuple(f"{each.bars:,}" for each in found.runs)),
        *(row for row in found.facts if row.name != "data"),
    ]
    is_same = len({each.data_sha256 for each in found.runs}) == 1
    finding = (
        "All runs learned from the same data, by their hash."
        if is_same
        else "Data differ: differences of results are those of runs and data together."
    )
    table = _differing_table("Fact", rows, found.runs, "Data, and other facts that differ.")
    return Section("data", "Data and facts", finding, [table])


def behaviour_section(found: RunComparison) -> Section:
    """Do they act differently?"""
    finding = "What the runs do with their accounts, on their test parts."
    drawn = [
        chart for chart in (charts.actions_chart(found), charts.exposure_chart(found)) if chart
    ]
    table = record_table(_BEHAVIOUR, found.runs, "Deterministic actions; closed trades.")
    return Section("behaviour", "Behaviour", finding, [*_full(drawn), table])


def agents_section(found: RunComparison) -> Section:
    """On which symbols do they differ?"""
    heads = [Column("Symbol", is_number=False), *(Column(each.run) for each in found.runs)]
    rows = [[text(row.symbol, tone="strong"), *_returns(row)] for row in found.agents]
    caption = "Return of each account over the run's own test part, after costs."
    table = Table(heads, rows, caption, is_tall=True)
    chart = charts.agents_chart(found)
    shared = sum(all(each == each for each in row.total_return_frac) for row in found.agents)
    finding = f"{shared} of {format_count(len(found.agents), 'symbols')} have an agent in all runs."
    return Section("agents", "Symbols", finding, [*_full([chart] if chart else []), table])


def _cell(number: float | None, write: Callable[..., str], **form: Any) -> Cell:
    return Cell(write(number, **form), math.nan if number is None else float(number))


def _interval_cell(interval: Interval | None) -> Cell:
    if interval is None:
        return Cell(plain(None))
    return Cell(plain(interval.estimate), interval.estimate, note=format_interval(interval))


def _percent_cell(interval: Interval) -> Cell:
    wide = interval.scaled(100)
    words = plain(wide.estimate, signed=True)
    return Cell(words, wide.estimate, note=format_interval(wide))


def _returns(row: AgentRow) -> list[Cell]:
    return [Cell(percent(each, signed=True), each) for each in row.total_return_frac]


def _differing_table(
    head: str, rows: Sequence[DifferingRow], runs: Sequence[ComparedRun], caption: str
) -> Table:
    heads = [Column(head, is_number=False), *(Column(each.run, is_number=False) for each in runs)]
    cells = [[text(row.name, tone="strong"), *(text(_cut(v)) for v in row.values)] for row in rows]
    return Table(heads, cells, caption)


def _cut(value: str) -> str:
    is_hash = len(value) >= 40 and all(letter in "0123456789abcdef" for letter in value)
    return value[:_HASH_DIGITS] if is_hash else value


def _full(drawn: Sequence[Chart]) -> list[Block]:
    return [Charts(drawn, "full")] if drawn else []
