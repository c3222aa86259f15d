"""Backtests of the same bars as a page: figures, equity, drawdown, the last trades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tradingbot import __version__
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.metrics.returns import drawdown_of
from tradingbot.evaluation.performance.measure import day_ends
from tradingbot.evaluation.performance.record import PolicyPerformance
from tradingbot.evaluation.performance.table import (
    PERFORMANCE_COLUMNS,
    PERFORMANCE_NOTE,
    performance_columns,
    performance_row,
)
from tradingbot.evaluation.performance.tear_sheet.measure import (
    Reference,
    price_reference,
    tear_sheet_of,
)
from tradingbot.evaluation.performance.tear_sheet.trades import ending_of, minute_of
from tradingbot.evaluation.report.blocks import Block, Figure, Section
from tradingbot.evaluation.report.chart import Chart, full_chart
from tradingbot.evaluation.report.first_screen import equity_picture, lead_figures
from tradingbot.evaluation.report.numbers import percent
from tradingbot.evaluation.report.page import Page, render_page
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Table, table_of
from tradingbot.evaluation.report.tear_sheet.sections import tear_sheet_sections
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval

TRADE_COLUMNS = (
    *("policy", "symbol", "entry time, UTC", "exit time, UTC", "bars", "units"),
    *("entry", "exit", "fees", "P&L", "ended by"),
)
HOLDING = "buy_and_hold"
_TRADES_SHOWN = 20
_STYLES = {
    HOLDING: "held",
    "random": "index",
    "oracle": "oracle",
    "omniscient": "oracle",
}


@dataclass(frozen=True)
class HistoryWords:
    """What a page says of how the accounts came about."""

    kind: str = "Backtest"
    synthetic: str = "Synthetic bars: nothing here was earned on a real market."
    observed: str = "Observed bars, simulated trading; past prices promise nothing."
    finding: str = "Net of costs; decisions at the close are filled at the next open."


def render_backtests(
    played: Sequence[Backtest],
    performance: Sequence[PolicyPerformance],
    terms: str,
    words: HistoryWords = HistoryWords(),  # noqa: B008 - frozen
) -> str:
    """Render a page about backtests of the same bars, the first one in its headline.

    Args:
        played: Policies over the period.
        performance: Figures of each.
        terms: Data, costs and delay in words.
        words: What they are called; a session of a journal is no backtest.

    Raises:
        MissingExtraError: If what draws pages is not installed.
    """
    first, synthetic = played[0], any(each.synthetic for each in played)
    warning = f"{words.synthetic if synthetic else words.observed} Data:"
    reference = holding_among(played) or price_reference(first)
    sheet = tear_sheet_of(first, reference)
    scope = f"{first.label}, after costs"
    names = ", ".join(policy_words(each.policy) for each in played)
    return render_page(
        Page(
            title=f"{words.kind} of {policy_words(first.policy)}",
            top="Overview",
            kicker=(f"{words.kind} on", first.label, f" · {len(first.symbols)} symbols"),
            headline=f"{names}, {first.first_day} … {first.last_day}",
            is_synthetic=synthetic,
            facts=_facts(first),
            lead_figures=_lead_figures(first, performance[0], reference),
            picture=_picture(played, performance[0]),
            scope=f"{warning} {terms}",
            sections=[
                _performance_section(played, performance, words.finding),
                *tear_sheet_sections(sheet, scope),
                *_others_section(played[1:]),
            ],
            footer=f"tradingbot {__version__}",
        )
    )


def holding_among(played: Sequence[Backtest]) -> Reference | None:
    """Return buying and holding where it was played beside the first policy."""
    found = next((each for each in played[1:] if each.policy == HOLDING), None)
    if found is None:
        return None
    return Reference(policy_words(HOLDING), found.portfolio_returns)


def _lead_figures(
    first: Backtest, figures: PolicyPerformance, reference: Reference | None
) -> list[Figure]:
    over = None
    if reference is not None:
        over = net_bps_interval(first.portfolio_returns - reference.returns)
    return lead_figures(figures, first.n_bars, first.bars_per_year, over)


def _facts(first: Backtest) -> list[tuple[str, str]]:
    days = f"{first.first_day} … {first.last_day}, {first.n_bars:,} bars"
    kind = "synthetic" if first.synthetic else "observed bars"
    cost = f"{1e4 * first.costs.one_way_frac:.1f} bp of each fill"
    delay = f", decisions wait {first.delay_bars} bars" if first.delay_bars else ""
    return [
        ("What was tested", policy_words(first.policy)),
        ("Data", f"{kind}: {len(first.symbols)} symbols, one account each"),
        ("Period", days),
        ("Costs", f"{cost}{delay}"),
    ]


def _picture(played: Sequence[Backtest], figures: PolicyPerformance) -> Chart:
    places = day_ends(played[0])
    lines = [
        LineSeries(
            policy_words(each.policy),
            tuple(each.portfolio[places].tolist()),
            "agents" if each is played[0] else _STYLES.get(each.policy, "other"),
        )
        for each in played
    ]
    days = tuple(str(day) for day in played[0].days()[places])
    caption = (
        f"All accounts together, after costs: {percent(figures.total_return_frac, signed=True)}, "
        f"deepest fall {percent(figures.max_drawdown_frac)}."
    )
    return equity_picture(days, lines, "What became of 1", caption)


def _performance_section(
    played: Sequence[Backtest], performance: Sequence[PolicyPerformance], finding: str
) -> Section:
    places = performance_columns(performance, len(PERFORMANCE_COLUMNS))[1:]
    rows = [
        [policy_words(each.policy), *(performance_row(each)[place] for place in places)]
        for each in performance
    ]
    columns = ["policy", *(PERFORMANCE_COLUMNS[place] for place in places)]
    figures = table_of(columns, rows, PERFORMANCE_NOTE, words=("policy",))
    blocks = [figures, *equity_charts(played, played[0].policy)]
    return Section("performance", "Performance", finding, blocks)


def _others_section(others: Sequence[Backtest]) -> list[Section]:
    """List the last trades of the policies that the first one is compared with."""
    trades = sum(len(each.trades) for each in others)
    if not trades:
        return []
    rows = [
        _trade_row(each, at) for each in others for at in range(len(each.trades))[-_TRADES_SHOWN:]
    ]
    line = f"The last {_TRADES_SHOWN} trades of each, of {trades:,} in all"
    finding = f"{trades:,} trades of the policies beside it, rebuilt from fills."
    return [Section("others", "Trades of the others", finding, [trade_table(rows, line)])]


def equity_charts(played: Sequence[Backtest], main: str) -> list[Block]:
    """Draw equity and drawdown of all accounts together; `main` is the policy that stands out."""
    pointer = "Rest the pointer on a day to read its figures."
    draw = partial(_over_time, played, main, "equity, 1 at the start", falls=False)
    equity = full_chart("Equity of all accounts together, 1 at the start", draw, pointer)
    draw = partial(_over_time, played, main, "fall from the peak", falls=True)
    return [equity, full_chart("Drawdown", draw, "How far below their highest equity.")]


def trade_table(rows: Sequence[Sequence[str | float]], line: str) -> Table:
    """Lay out trades under `TRADE_COLUMNS`, folded under a line."""
    return table_of(
        TRADE_COLUMNS,
        rows,
        "Money in account currency.",
        words=(*TRADE_COLUMNS[:4], TRADE_COLUMNS[-1]),
        folded_under=line,
    )


def trade_rows(played: Backtest, symbol: int, most: int) -> list[Sequence[str | float]]:
    """Lay out the last trades of a policy in a symbol."""
    mine = np.flatnonzero(played.trades.symbol == symbol)
    return [_trade_row(played, int(at)) for at in mine[-most:]]


def policy_words(name: str) -> str:
    """Write a policy's name with blanks; its parameters as they are."""
    name, colon, parameters = name.partition(":")
    return name.replace("_", " ") + colon + parameters


def days_of(played: Backtest) -> tuple[str, ...]:
    """Return the day of every bar."""
    return tuple(str(day) for day in played.days())


def _over_time(
    played: Sequence[Backtest], main: str, words: str, *, width: float, falls: bool
) -> Drawing:
    axis = Axis(words, unit="percent" if falls else "number", holds=(0.0,) if falls else (1.0,))
    lines = []
    for each in played:
        ys = -drawdown_of(each.portfolio) if falls else each.portfolio
        style = "agents" if each.policy == main else _STYLES.get(each.policy, "other")
        lines.append(LineSeries(policy_words(each.policy), tuple(ys.tolist()), style))
    return time_chart(days_of(played[0]), lines, axis, width=width, height=260 if falls else 320)


def _trade_row(played: Backtest, at: int) -> list[str | float]:
    trades = played.trades
    amounts = (trades.units, trades.entry_price, trades.exit_price, trades.commission_ccy)
    return [
        policy_words(played.policy),
        played.traded[trades.symbol[at]],
        *(minute_of(stamps[at]) for stamps in (trades.entered_at, trades.exited_at)),
        f"{trades.bars[at]:,}",
        *(f"{amount[at]:,.2f}" for amount in amounts),
        f"{trades.pnl_ccy[at]:+,.2f}",
        ending_of(trades, at),
    ]
