"""Which agents carry the result? The league table."""

from __future__ import annotations

import math
import statistics

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.performance.record import AgentPerformance
from tradingbot.evaluation.report.blocks import (
    Cell,
    Chart,
    Charts,
    Column,
    Section,
    Table,
    number,
    text,
)
from tradingbot.evaluation.report.numbers import count, finite, format_count, percent, plain
from tradingbot.evaluation.report.sections.scope import FULL_PX, NARROW_PX, scope
from tradingbot.evaluation.report.svg.bars import BarGroup as Bar
from tradingbot.evaluation.report.svg.bars import column_chart
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.scale import Axis

_COLUMNS = (
    Column("Agent", is_number=False),
    Column("Trades?", "whether validation lets it trade", is_number=False),
    Column("Sharpe", "annual"),
    Column("Return", "whole period, after costs"),
    Column("Hold", "return of buying and holding its symbol"),
    Column("Drawdown", "largest fall from a peak"),
    Column("Net bp/bar", "mean net return, basis points per bar"),
    Column("Win rate", "of closed trades"),
    Column("Profit factor", "gross profit ÷ gross loss"),
    Column("Trades", "closed ones"),
    Column("Turnover", "traded notional ÷ equity, per bar"),
    Column("Entropy", "of deterministic actions, 0 to 1"),
    Column("Largest bin", "share of its most frequent action"),
)


def league_section(dossier: Dossier) -> Section:
    """Rank the agents by Sharpe ratio; a click on a column head ranks by it."""
    agents = sorted(dossier.test.agents, key=_rank)
    if not agents:
        return Section("league", "Agents", "No agent has figures of its own.", is_left_out=True)
    is_idle = not any(row.trades for row in agents)
    largest = max((abs(n) for n in finite([row.sharpe_annual for row in agents])), default=0) or 1.0
    table = Table(
        _COLUMNS,
        [_row(row, largest) for row in agents],
        f"One line per agent; {scope(dossier)}.",
        is_tall=True,
        sorted_by="Sharpe",
        folded_under=f"Table of {format_count(len(agents), 'agents')} that stay out"
        if is_idle
        else "",
    )
    chart = Chart(
        "Annual Sharpe ratio of each agent that trades, sorted",
        _ranking(agents, FULL_PX),
        "Rest the pointer on a column to read the agent's name.",
        narrow=_ranking(agents, NARROW_PX),
    )
    blocks = (table,) if is_idle else (Charts((chart,), "full"), table)
    return Section("league", "Agents", _finding(agents), blocks)


def _rank(row: AgentPerformance) -> tuple[bool, float, str]:
    missing = math.isnan(row.sharpe_annual)
    return missing, 0.0 if missing else -row.sharpe_annual, row.agent


def _finding(agents: list[AgentPerformance]) -> str:
    trading = [row for row in agents if row.trades]
    ratios = finite([row.sharpe_annual for row in trading])
    if not trading:
        return (
            f"No agent trades: validation keeps {format_count(len(agents), 'agents')} in cash, so "
            "there is nothing to rank."
        )
    idle = len(agents) - len(trading)
    words = f"{format_count(len(trading), 'agents')} traded, {count(idle)} stayed out."
    if not ratios:
        return words
    better = sum(row.total_return_frac > row.hold_return_frac for row in trading)
    return (
        f"{words} With a Sharpe ratio above 0: {sum(ratio > 0 for ratio in ratios)} of "
        f"{len(trading)} (median {plain(statistics.median(ratios))}). Better than holding their "
        f"symbol: {better} of {len(trading)}."
    )


def _ranking(agents: list[AgentPerformance], width: float) -> Drawing:
    columns = [
        Bar(
            row.agent,
            row.sharpe_annual,
            f"{row.agent}: Sharpe {plain(row.sharpe_annual)}, "
            f"return {percent(row.total_return_frac, signed=True)}",
        )
        for row in agents
        if row.trades and math.isfinite(row.sharpe_annual)
    ]
    return column_chart(columns, Axis("Sharpe, annual"), width=width, height=190)


def _row(row: AgentPerformance, largest: float) -> list[Cell]:
    return [
        text(row.agent, tone="strong"),
        text("yes" if row.trades else "stays\u00a0out", tone="" if row.trades else "soft"),
        number(plain(row.sharpe_annual), row.sharpe_annual, bar=_share(row.sharpe_annual, largest)),
        number(percent(row.total_return_frac, signed=True), row.total_return_frac),
        number(percent(row.hold_return_frac, signed=True), row.hold_return_frac),
        number(percent(row.max_drawdown_frac), row.max_drawdown_frac),
        number(plain(row.net_bps_per_bar), row.net_bps_per_bar),
        number(percent(row.win_rate_frac), row.win_rate_frac),
        number(plain(row.profit_factor), row.profit_factor),
        number(count(row.n_trades), row.n_trades or 0),
        number(percent(row.turnover_per_bar_frac), row.turnover_per_bar_frac),
        number(plain(row.action_entropy), row.action_entropy),
        number(percent(row.largest_bin_frac, 0), row.largest_bin_frac),
    ]


def _share(number: float, largest: float) -> float | None:
    return number / largest if math.isfinite(number) else None
