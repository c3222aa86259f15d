"""Which agents carry the result? The league table."""

from __future__ import annotations

import math
import statistics
from functools import partial

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.performance.record import AgentPerformance
from tradingbot.evaluation.report.blocks import Section
from tradingbot.evaluation.report.chart import Charts, full_chart
from tradingbot.evaluation.report.numbers import count, finite, format_count, percent, plain
from tradingbot.evaluation.report.sections.scope import scope
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Cell, column, record_table, text, text_column


def _trades(row: AgentPerformance) -> Cell:
    return text("yes") if row.trades else text("stays\u00a0out", tone="soft")


_COLUMNS = (
    text_column("Agent", lambda row: text(row.agent, tone="strong")),
    text_column("Trades?", _trades, "whether validation lets it trade"),
    column("Sharpe", "sharpe_annual", "annual", is_barred=True),
    column("Return", "total_return_frac", "whole period, after costs", percent, signed=True),
    column(
        "Hold", "hold_return_frac", "return of buying and holding its symbol", percent, signed=True
    ),
    column("Drawdown", "max_drawdown_frac", "largest fall from a peak", percent),
    column("Net bp/bar", "net_bps_per_bar", "mean net return, basis points per bar"),
    column("Alpha", "alpha_bps_per_bar", "its own part of that, bp per bar", signed=True),
    column(
        "Market",
        "market_bps_per_bar",
        "the market's part, bp per bar; the rest of net is timing of the market",
        signed=True,
    ),
    column("Win rate", "win_rate_frac", "of closed trades", percent),
    column("Profit factor", "profit_factor", "gross profit ÷ gross loss"),
    column("Trades", "n_trades", "closed round trips", count),
    column("Turnover", "turnover_per_bar_frac", "traded notional ÷ equity, per bar", percent),
    column("Entropy", "action_entropy", "of deterministic actions, 0 to 1"),
    column(
        "Largest bin", "largest_bin_frac", "share of its most frequent action", percent, digits=0
    ),
)


def league_section(dossier: Dossier) -> Section:
    """Rank the agents by Sharpe ratio; a click on a column head ranks by it."""
    agents = sorted(dossier.test.agents, key=_rank)
    if not agents:
        return Section("league", "Agents", "No agent has figures of its own.", is_left_out=True)
    is_idle = not any(row.trades for row in agents)
    stay_out = f"Table of {format_count(len(agents), 'agents')} that stay out"
    caption, line = f"One line per agent; {scope(dossier)}.", stay_out if is_idle else ""
    table = record_table(
        _COLUMNS, agents, caption, is_tall=True, sorted_by="Sharpe", folded_under=line
    )
    blocks = (table,) if is_idle else (_ranking(agents), table)
    return Section("league", "Agents", _finding(agents, dossier.test.years), blocks)


def _rank(row: AgentPerformance) -> tuple[bool, float, str]:
    missing = math.isnan(row.sharpe_annual)
    return missing, 0.0 if missing else -row.sharpe_annual, row.agent


def _finding(agents: list[AgentPerformance], years: float) -> str:
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
        f"symbol: {better} of {len(trading)}.{_luck_words(years)}"
    )


def _luck_words(years: float) -> str:
    """Say how far from 0 the Sharpe ratio of one agent may lie by luck: 1.96 ÷ √years."""
    if years <= 0.0:
        return ""
    reach = plain(1.96 / math.sqrt(years), 1)
    return (
        f" An agent without skill lies within ±{reach} in 95 % of such periods of {plain(years)} "
        f"years, so that of twenty one is beyond by luck; their rank is little evidence."
    )


def _ranking(agents: list[AgentPerformance]) -> Charts:
    columns = [
        BarGroup(
            row.agent,
            row.sharpe_annual,
            f"{row.agent}: Sharpe {plain(row.sharpe_annual)}, "
            f"return {percent(row.total_return_frac, signed=True)}",
        )
        for row in agents
        if row.trades and math.isfinite(row.sharpe_annual)
    ]
    draw = partial(column_chart, columns, Axis("Sharpe, annual"), height=190)
    caption = "Rest the pointer on a column to read the agent's name."
    return full_chart("Annual Sharpe ratio of each agent that trades, sorted", draw, caption)
