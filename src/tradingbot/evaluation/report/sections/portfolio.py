"""Did the agents earn anything? Equity curves and drawdowns against the baselines."""

from __future__ import annotations

import math

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.performance.record import PartPerformance, PolicyPerformance
from tradingbot.evaluation.report.blocks import (
    Block,
    Cell,
    Chart,
    Charts,
    Column,
    Section,
    Table,
    number,
    text,
)
from tradingbot.evaluation.report.numbers import bps, count, format_interval, percent, plain, share
from tradingbot.evaluation.report.sections.scope import (
    FULL_PX,
    NARROW_PX,
    period,
    reference_of,
)
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis

_COLUMNS = (
    Column("Policy", is_number=False),
    Column("Return", "whole period, after costs"),
    Column("Per year", "annualised return"),
    Column("Sharpe", "annual, with 95 % interval (stationary bootstrap)"),
    Column("Sortino", "annual"),
    Column("Drawdown", "largest fall from a peak, at closes"),
    Column("Net bp/bar", "mean of the per-symbol accounts, with 95 % interval"),
    Column("Win rate", "of closed trades"),
    Column("Profit factor", "gross profit ÷ gross loss, closed trades"),
    Column("Trades", "closed ones"),
    Column("Turnover", "traded notional ÷ equity, per bar"),
    Column("Alpha", "annual, over the reference"),
    Column("Beta", "to the reference"),
    Column("Costs", "share of the gross profit"),
)


def portfolio_section(dossier: Dossier) -> Section:
    """Show equity curve and drawdown of every part, the test part first and large."""
    test, blocks = dossier.test, list[Block]()
    for part in reversed(dossier.parts):
        blocks.append(Charts((_worth_chart(part, dossier), _drawdown_chart(part, dossier)), "full"))
        blocks.append(_policy_table(part, is_folded=part is not test))
    finding = _idle_finding(test) if no_agent_trades(dossier) else _finding(test)
    return Section("performance", "Performance", finding, blocks)


def _finding(test: PartPerformance) -> str:
    agents, hold = test.policies[0], reference_of(test)
    words = [
        f"On the {period(test)} ({count(test.bars)} bars), the agents made "
        f"{percent(agents.total_return_frac, signed=True)} after costs, with a max drawdown of "
        f"{percent(agents.max_drawdown_frac)}."
    ]
    if hold is not None:
        words.append(
            f"The baseline to beat ({hold.policy}) made "
            f"{percent(hold.total_return_frac, signed=True)} with a drawdown of "
            f"{percent(hold.max_drawdown_frac)}."
        )
    excess = test.excess_over_hold_bps
    if math.isfinite(excess.estimate):
        words.append(
            f"The difference is {bps(excess.estimate)} per bar, 95 % {format_interval(excess)}: "
            + ("zero lies within." if excess.covers(0) else "zero lies outside.")
        )
    if test.share_of_oracle is not None:
        words.append(
            f"The oracle, which knows how this market works, sets the limit: the agents reach "
            f"{share(test.share_of_oracle)} of it."
        )
    return " ".join(words)


def _idle_finding(test: PartPerformance) -> str:
    """Say what an account in cash can be said to have done."""
    hold = reference_of(test)
    beside = (
        f" Meanwhile {hold.policy} made {percent(hold.total_return_frac, signed=True)} with a "
        f"drawdown of {percent(hold.max_drawdown_frac)}: that is the market's doing, and says "
        f"nothing of the agents."
        if hold
        else ""
    )
    return (
        f"No agent trades: on the {period(test)} ({count(test.bars)} bars), the agents stayed in "
        f"cash, without profit, loss or risk.{beside}"
    )


def _worth_chart(part: PartPerformance, dossier: Dossier) -> Chart:
    axis = Axis("equity, 1 at the start", holds=(1.0,))
    lines = [_line(row, part, row.equity) for row in part.policies]
    return Chart(
        f"Equity curve, {part.part} part",
        _drawn(part, lines, axis, FULL_PX, 330),
        caption=(
            f"Equal per-symbol accounts, never rebalanced; {period(part)}, after costs "
            f"({dossier.header.costs}). Grey lines without a name are other baselines: rest the "
            f"pointer on a day to read all."
        ),
        narrow=_drawn(part, lines, axis, NARROW_PX, 280),
    )


def _drawdown_chart(part: PartPerformance, dossier: Dossier) -> Chart:
    axis = Axis("fall from the peak", unit="percent", holds=(0.0,))
    shown = [row for row in part.policies if row.kind == "agents" or row == reference_of(part)]
    lines = [_line(row, part, _drawdown(row.equity)) for row in shown]
    return Chart(
        f"Drawdown, {part.part} part",
        _drawn(part, lines, axis, FULL_PX, 190),
        caption=f"At the last bar of each day; {period(part)}, after costs.",
        narrow=_drawn(part, lines, axis, NARROW_PX, 190),
    )


def _drawn(
    part: PartPerformance, lines: list[LineSeries], axis: Axis, width: float, height: float
) -> Drawing:
    return time_chart(part.days, lines, axis, width=width, height=height)


def _line(row: PolicyPerformance, part: PartPerformance, ys: tuple[float, ...]) -> LineSeries:
    style = _style(row, part)
    falls = row.kind == "agents" and bool(ys) and ys[0] <= 0
    return LineSeries(row.policy, ys, style, is_named=style != "other", is_filled=falls)


def _style(row: PolicyPerformance, part: PartPerformance) -> str:
    if row.kind in {"agents", "oracle"}:
        return row.kind
    if row == reference_of(part):
        return "held"
    return "index" if row.policy == part.reference else "other"


def _drawdown(equity: tuple[float, ...]) -> tuple[float, ...]:
    falls, peak = [], -math.inf
    for worth in equity:
        peak = max(peak, worth) if math.isfinite(worth) else peak
        falls.append(worth / peak - 1 if peak > 0 and math.isfinite(worth) else math.nan)
    return tuple(falls)


def _policy_table(part: PartPerformance, *, is_folded: bool) -> Table:
    largest = max((abs(row.total_return_frac) for row in part.policies), default=0) or 1.0
    return Table(
        _COLUMNS,
        [_policy_row(row, largest) for row in part.policies],
        f"Every policy on the {period(part)}, after costs. Alpha and beta refer to "
        f"{part.reference}.",
        folded_under=f"All policies on the {part.part} part" if is_folded else "",
    )


def _policy_row(row: PolicyPerformance, largest: float) -> list[Cell]:
    return [
        text(row.policy, tone="strong" if row.kind == "agents" else ""),
        number(
            percent(row.total_return_frac, signed=True),
            row.total_return_frac,
            bar=row.total_return_frac / largest,
        ),
        number(percent(row.annual_return_frac, signed=True), row.annual_return_frac),
        number(
            plain(row.sharpe_annual.estimate),
            row.sharpe_annual.estimate,
            note=format_interval(row.sharpe_annual),
        ),
        number(plain(row.sortino_annual), row.sortino_annual),
        number(percent(row.max_drawdown_frac), row.max_drawdown_frac),
        number(
            plain(row.net_bps_per_bar.estimate),
            row.net_bps_per_bar.estimate,
            note=format_interval(row.net_bps_per_bar),
        ),
        number(percent(row.win_rate_frac), row.win_rate_frac),
        number(plain(row.profit_factor), row.profit_factor),
        number(count(row.n_trades), row.n_trades or 0),
        number(percent(row.turnover_per_bar_frac), row.turnover_per_bar_frac),
        number(percent(row.alpha_annual_frac, signed=True), row.alpha_annual_frac),
        number(plain(row.beta), row.beta),
        number(percent(row.cost_share_frac, 0), row.cost_share_frac),
    ]
