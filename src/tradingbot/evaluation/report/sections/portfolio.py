"""Did the agents earn anything? Equity curves and drawdowns against the baselines."""

from __future__ import annotations

import math
from functools import partial

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.gates.plausibility import say_oracle
from tradingbot.evaluation.performance.record import PartPerformance, PolicyPerformance
from tradingbot.evaluation.report.blocks import Block, Section
from tradingbot.evaluation.report.chart import FULL_PX, NARROW_PX, Chart, Charts
from tradingbot.evaluation.report.numbers import bps, count, format_interval, percent, share
from tradingbot.evaluation.report.sections.scope import period, reference_of
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Cell, Table, column, record_table, text, text_column


def _policy(row: PolicyPerformance) -> Cell:
    return text(row.policy, tone="strong" if row.kind == "agents" else "")


_PERIOD = "whole period, after costs"
_COLUMNS = (
    text_column("Policy", _policy),
    column("Return", "total_return_frac", _PERIOD, percent, signed=True, is_barred=True),
    column("Per year", "annual_return_frac", "annualised return", percent, signed=True),
    column("Sharpe", "sharpe_annual", "annual, with 95 % interval (stationary bootstrap)"),
    column("Sortino", "sortino_annual", "annual"),
    column("Drawdown", "max_drawdown_frac", "largest fall from a peak, at closes", percent),
    column("Net bp/bar", "net_bps_per_bar", "mean of the per-symbol accounts, with 95 % interval"),
    column("Alpha bp/bar", "alpha_bps", "its own part of that, with 95 % interval", signed=True),
    column("Win rate", "win_rate_frac", "of closed trades", percent),
    column("Profit factor", "profit_factor", "gross profit ÷ gross loss, closed trades"),
    column("Trades", "n_trades", "closed round trips", count),
    column("Turnover", "turnover_per_bar_frac", "traded notional ÷ equity, per bar", percent),
    column("Costs", "cost_share_frac", "of the result before costs", percent, digits=0),
)
_PART_COLUMNS = (
    text_column("Policy", _policy),
    column("Net bp/bar", "net_bps_per_bar", "mean of the per-symbol accounts, with 95 % interval"),
    column("Alpha bp/bar", "alpha_bps", "its own part of that, with 95 % interval", signed=True),
    column("Market bp/bar", "market_bps", "the market's part, at its mean exposure", signed=True),
    column("Timing bp/bar", "timing_bps", "of the market: the third part", signed=True),
    column("Intercept", "alpha_annual_frac", "annual, on the reference", percent, signed=True),
    column("Beta", "beta", "to the reference"),
)


def portfolio_section(dossier: Dossier) -> Section:
    """Show equity curve and drawdown of every part, the test part first and large."""
    test, blocks = dossier.test, list[Block]()
    for part in reversed(dossier.parts):
        blocks.append(Charts((_worth_chart(part, dossier), _drawdown_chart(part)), "full"))
        blocks.extend(_policy_tables(part, is_folded=part is not test))
    finding = _idle_finding(test) if no_agent_trades(dossier) else _finding(dossier)
    return Section("performance", "Performance", finding, blocks)


def _finding(dossier: Dossier) -> str:
    test = dossier.test
    agents, hold = test.policies[0], reference_of(test)
    words = [
        f"On the {period(test)} ({count(test.bars)} bars after the first), the agents made "
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
    if agents.earned is not None:
        market, timing, alpha = (
            bps(each.estimate)
            for each in (
                agents.earned.market_bps,
                agents.earned.timing_bps,
                agents.earned.alpha_bps,
            )
        )
        words.append(
            f"Of the net {bps(agents.net_bps_per_bar.estimate)} per bar {market} are the market's, "
            f"{timing} timing of it, and {alpha} alpha, 95 % "
            f"{format_interval(agents.earned.alpha_bps)}: alpha is what judges "
            f"(market: {test.factor})."
        )
    if test.share_of_oracle is not None:
        oracle = say_oracle(dossier, share(test.share_of_oracle))
        words.append(f"The oracle, which knows how this market works, {oracle}.")
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
    draw = partial(time_chart, part.days, lines, axis)
    wide, narrow = draw(width=FULL_PX, height=330), draw(width=NARROW_PX, height=280)
    accounts = "Equal per-symbol accounts, never rebalanced"
    if dossier.allocation is not None:
        accounts = "Agents: one account of all symbols, divided by its master; others pooled"
    caption = (
        f"{accounts}; {period(part)}, after costs "
        f"({dossier.header.costs}). Grey lines without a name are other baselines: rest the "
        f"pointer on a day to read all."
    )
    return Chart(f"Equity curve, {part.part} part", wide, caption, narrow)


def _drawdown_chart(part: PartPerformance) -> Chart:
    axis = Axis("fall from the peak", unit="percent", holds=(0.0,))
    shown = [row for row in part.policies if row.kind == "agents" or row == reference_of(part)]
    lines = [_line(row, part, _drawdown(row.equity)) for row in shown]
    draw = partial(time_chart, part.days, lines, axis, height=190)
    caption = f"At the last bar of each day; {period(part)}, after costs."
    title = f"Drawdown, {part.part} part"
    return Chart(title, draw(width=FULL_PX), caption, draw(width=NARROW_PX))


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


def _policy_tables(part: PartPerformance, *, is_folded: bool) -> tuple[Table, Table]:
    """Return the figures of every policy, and what of them was the market's."""
    whole = f"Every policy on the {period(part)}, after costs."
    apart = f"What of it was the market's; intercept and beta by a regression on {part.reference}."
    if part.factor:
        apart += f" Net = alpha + market + timing; the market is {part.factor}."
    tables = (_COLUMNS, whole, "All policies"), (_PART_COLUMNS, apart, "Market and alpha")
    figures, parts = (
        record_table(
            columns,
            part.policies,
            caption,
            folded_under=f"{words} on the {part.part} part" if is_folded else "",
        )
        for columns, caption, words in tables
    )
    return figures, parts
