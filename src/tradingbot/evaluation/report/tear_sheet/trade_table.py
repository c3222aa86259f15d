"""The list of trades: sorted by a head of a column, filtered by symbol, side, result and ending."""

from __future__ import annotations

from tradingbot.evaluation.performance.tear_sheet.trade_record import TradeLog, TradeRow
from tradingbot.evaluation.report.numbers import count, percent, plain
from tradingbot.evaluation.report.table import (
    Cell,
    Table,
    column,
    record_table,
    text,
    text_column,
)


def _result(row: TradeRow) -> Cell:
    if row.ended_by == "still open":
        return text("open", tone="soft")
    return text("won", tone="good") if row.pnl_ccy > 0 else text("lost", tone="bad")


_COLUMNS = (
    text_column("Symbol", lambda row: text(row.symbol, tone="strong")),
    text_column("Side", lambda row: text("long" if row.side > 0 else "short")),
    text_column("Entry, UTC", "entered_at"),
    text_column("Exit, UTC", "exited_at"),
    column("Bars", "bars", "bars in which it was held", count),
    column("Units", "units", "bought in all, of a short sold; those bought again count again"),
    column("In", "entry_price", "mean price of what was opened, costs of the fill included"),
    column("Out", "exit_price", "mean price of what was closed; else the last close"),
    column("P&L", "pnl_ccy", "account currency, net of the costs of fills", signed=True),
    column("Capital", "committed_ccy", "the most that was in it at once: units × their mean price"),
    column("Return", "return_frac", "P&L ÷ that capital", percent, digits=2, signed=True),
    text_column("Result", _result),
    text_column("Ended by", "ended_by"),
)


ON_PAPER = 40
"""Rows of a printed list, as `page.css` has it."""


def trade_table(log: TradeLog, scope: str) -> Table:
    """Lay out the trades that are listed, by time."""
    listed = len(log.rows)
    which = (
        "All trades by time"
        if listed == log.n_trades
        else f"{listed:,} of {log.n_trades:,} trades by time: the latest half and those that moved "
        "most money; tradingbot backtest RUN --trades FILE writes all"
    )
    paper = f" Paper shows the first {ON_PAPER}." if listed > ON_PAPER else ""
    caption = f"{which}; {scope}.{paper}"
    return record_table(
        _COLUMNS,
        log.rows,
        caption,
        is_tall=True,
        filters=("Symbol", "Side", "Result", "Ended by"),
        is_brief_on_paper=True,
        folded_under=f"List of {plain(listed, 0)} trades" if listed > 200 else "",
    )
