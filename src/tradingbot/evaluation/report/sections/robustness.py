"""Does it hold through time, in every regime, under stress?"""

from __future__ import annotations

from functools import partial

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.robustness import Regimes, Stress, StressRow, WalkForward, Window
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import Block, Points, Section
from tradingbot.evaluation.report.chart import HALF_PX, Chart, Charts, full_chart
from tradingbot.evaluation.report.numbers import count, format_count, percent, plain, share
from tradingbot.evaluation.report.sections.scope import left_out, scope
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Cell, Table, column, record_table, text_column

_HOLD = column("Hold", "hold_return_frac", "return of equal weight", percent, signed=True)


def _days(row: Window | StressRow) -> Cell:
    return Cell(f"{row.first_day} to {row.last_day}", row.first_day)


_WINDOW_COLUMNS = (
    text_column("Window", _days),
    text_column("Trained until", "trained_until", "last day its agents learned from"),
    column("Sharpe", "sharpe_annual", "annual"),
    column("Return", "total_return_frac", "after costs", percent, signed=True),
    _HOLD,
    column("Drawdown", "max_drawdown_frac", "largest fall from a peak", percent),
)
_REGIME_COLUMNS = (
    text_column("Regime", "regime"),
    column("Bars", "bars", "", count),
    column("Share", "share_frac", "of all bars", percent, digits=0),
    column(
        "Net bp/bar",
        "net_bps_per_bar",
        "after costs, with 95 % interval",
        signed=True,
        is_loss_bad=True,
    ),
    column("Hold bp/bar", "hold_bps_per_bar", "equal weight", signed=True),
    column("Sharpe", "sharpe_annual", "annual"),
    column("Drawdown", "max_drawdown_frac", "within its bars, joined", percent),
)
_STRESS_COLUMNS = (
    text_column("Scenario", lambda row: Cell(row.scenario, row.scenario.lower(), note=row.words)),
    text_column("Kind", "kind"),
    text_column("Days", _days),
    column("Return", "total_return_frac", "after costs", percent, signed=True, is_loss_bad=True),
    _HOLD,
    column("Drawdown", "max_drawdown_frac", "of the agents", percent),
    column("Hold drawdown", "hold_drawdown_frac", "of equal weight", percent),
)


def walk_forward_section(dossier: Dossier) -> Section:
    """Show every window, each traded by agents that never saw it."""
    title, found = "Walk-forward", dossier.walk_forward
    if found is None:
        return left_out(dossier, "walk-forward", title)
    positive = sum(window.sharpe_annual > 0 for window in found.windows)
    finding = (
        f"With a Sharpe ratio above 0: {positive} of {format_count(len(found.windows), 'windows')} "
        f"({share(found.share_positive)}). Each window of {found.window_days} days was traded by "
        f"agents that learned from earlier days only; they were trained again every "
        f"{found.retrain_every} windows, with {count(found.steps_per_agent)} steps per agent."
    )
    if found.windows and all(_is_flat(window) for window in found.windows):
        finding = (
            f"No agent trades in any of {format_count(len(found.windows), 'windows')}: agents that "
            f"learned anew from earlier days were kept out, {count(found.steps_per_agent)} "
            f"steps per agent. The table says what holding made meanwhile."
        )
        return Section("walk-forward", title, finding, (_window_table(found),))
    if not found.windows:
        return Section("walk-forward", title, "No window fits into the data.", is_left_out=True)
    blocks = (_window_charts(dossier, found), _window_table(found))
    return Section("walk-forward", title, finding, blocks)


def regimes_section(dossier: Dossier) -> Section:
    """Show what was earned in each regime."""
    title, found = "Regimes", dossier.regimes
    if found is None:
        return left_out(dossier, "regimes", title)
    if no_agent_trades(dossier):
        finding = f"No agent trades, so no regime earns and none loses. {found.method}"
        return Section("regimes", title, finding, (_regime_table(found, is_folded=True),))
    finding = f"The agents earn in {found.profitable} of {len(found.rows)} regimes. {found.method}"
    return Section("regimes", title, finding, (_regime_chart(dossier, found), _regime_table(found)))


def stress_section(dossier: Dossier) -> Section:
    """Show bad times, real and made up."""
    title, found = "Stress", dossier.stress
    if found is None:
        return left_out(dossier, "stress", title)
    is_idle = no_agent_trades(dossier)
    blocks: list[Block] = [_stress_table(found, is_folded=is_idle)] if found.rows else []
    if found.left_out:
        blocks.append(Points("Scenarios left out", found.left_out, tone="soft"))
    finding = (
        f"The max drawdown over {format_count(len(found.rows), 'scenarios')} is "
        f"{percent(found.worst_drawdown_frac)}."
        if found.rows
        else "No scenario could be played."
    )
    if found.rows and is_idle:
        finding = (
            "No agent trades, so no scenario can hurt: cash has no drawdown, and that is no merit "
            "of the agents."
        )
    return Section("stress", title, finding, blocks)


def _is_flat(window: Window) -> bool:
    return window.total_return_frac == 0 and window.max_drawdown_frac == 0


def _window_table(found: WalkForward) -> Table:
    return record_table(
        _WINDOW_COLUMNS,
        found.windows,
        "Windows in order of time, after costs.",
        folded_under=f"Table of {format_count(len(found.windows), 'windows')}",
    )


def _window_charts(dossier: Dossier, found: WalkForward) -> Charts:
    caption = (
        f"Windows of {found.window_days} days, a new one every {found.step_days} days: they "
        f"overlap. After costs ({dossier.header.costs})."
    )
    sharpe = [BarGroup(each.first_day, each.sharpe_annual, _hint(each)) for each in found.windows]
    returns = [
        BarGroup(each.first_day, each.total_return_frac, _hint(each), each.hold_return_frac)
        for each in found.windows
    ]
    drawn = partial(column_chart, width=HALF_PX, height=230, words="first day of the window")
    dots = "Columns are the agents, dots are holding in equal weight."
    earned = drawn(returns, Axis("return, dots: holding", unit="percent"))
    return Charts(
        (
            Chart("Sharpe ratio of each window", drawn(sharpe, Axis("Sharpe, annual")), caption),
            Chart("Return of each window", earned, dots),
        )
    )


def _hint(window: Window) -> str:
    return (
        f"{window.first_day} to {window.last_day}\nSharpe {plain(window.sharpe_annual)}\n"
        f"return {percent(window.total_return_frac, signed=True)}, hold "
        f"{percent(window.hold_return_frac, signed=True)}\ntrained until {window.trained_until}"
    )


def _regime_chart(dossier: Dossier, found: Regimes) -> Charts:
    estimates = [
        Estimate(row.regime, row.net_bps_per_bar, "agents" if row.is_profitable else "loss")
        for row in found.rows
    ]
    return full_chart(
        "Net return by regime",
        partial(forest_chart, estimates, Axis("net return, bp per bar", holds=(0.0,))),
        f"Dots with 95 % intervals; {scope(dossier)}.",
    )


def _regime_table(found: Regimes, *, is_folded: bool = False) -> Table:
    return record_table(
        _REGIME_COLUMNS,
        found.rows,
        "A bar's regime is what was known of it at the decision.",
        folded_under=f"Table of {format_count(len(found.rows), 'regimes')}" if is_folded else "",
    )


def _stress_table(found: Stress, *, is_folded: bool) -> Table:
    return record_table(
        _STRESS_COLUMNS,
        found.rows,
        "After costs; synthetic scenarios are made of the test part.",
        folded_under=f"Table of {format_count(len(found.rows), 'scenarios')}" if is_folded else "",
    )
