"""Does it hold through time, in every regime, under stress?"""

from __future__ import annotations

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.robustness import Regimes, Stress, WalkForward, Window
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import (
    Block,
    Cell,
    Chart,
    Charts,
    Column,
    Points,
    Section,
    Table,
    number,
    text,
)
from tradingbot.evaluation.report.numbers import (
    count,
    format_count,
    format_interval,
    percent,
    plain,
    share,
)
from tradingbot.evaluation.report.sections.scope import (
    FULL_PX,
    HALF_PX,
    NARROW_PX,
    left_out,
    scope,
)
from tradingbot.evaluation.report.svg.bars import BarGroup as Bar
from tradingbot.evaluation.report.svg.bars import column_chart
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.scale import Axis

_WINDOW_COLUMNS = (
    Column("Window", is_number=False),
    Column("Trained until", "last day its agents learned from", is_number=False),
    Column("Sharpe", "annual"),
    Column("Return", "after costs"),
    Column("Hold", "return of equal weight"),
    Column("Drawdown", "largest fall from a peak"),
)
_REGIME_COLUMNS = (
    Column("Regime", is_number=False),
    Column("Bars"),
    Column("Share", "of all bars"),
    Column("Net bp/bar", "after costs, with 95 % interval"),
    Column("Hold bp/bar", "equal weight"),
    Column("Sharpe", "annual"),
    Column("Drawdown", "within its bars, joined"),
)
_STRESS_COLUMNS = (
    Column("Scenario", is_number=False),
    Column("Kind", is_number=False),
    Column("Days", is_number=False),
    Column("Return", "after costs"),
    Column("Hold", "return of equal weight"),
    Column("Drawdown", "of the agents"),
    Column("Hold drawdown", "of equal weight"),
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
    return Table(
        _WINDOW_COLUMNS,
        [_window_row(window) for window in found.windows],
        "Windows in order of time, after costs.",
        folded_under=f"Table of {format_count(len(found.windows), 'windows')}",
    )


def _window_charts(dossier: Dossier, found: WalkForward) -> Charts:
    caption = (
        f"Windows of {found.window_days} days, a new one every {found.step_days} days: they "
        f"overlap. After costs ({dossier.header.costs})."
    )
    sharpe = [
        Bar(window.first_day, window.sharpe_annual, _hint(window)) for window in found.windows
    ]
    returns = [
        Bar(window.first_day, window.total_return_frac, _hint(window), window.hold_return_frac)
        for window in found.windows
    ]

    def drawn(columns: list[Bar], axis: Axis) -> Drawing:
        return column_chart(
            columns, axis, width=HALF_PX, height=230, words="first day of the window"
        )

    return Charts(
        (
            Chart("Sharpe ratio of each window", drawn(sharpe, Axis("Sharpe, annual")), caption),
            Chart(
                "Return of each window",
                drawn(returns, Axis("return, dots: holding", unit="percent")),
                "Columns are the agents, dots are holding in equal weight.",
            ),
        )
    )


def _hint(window: Window) -> str:
    return (
        f"{window.first_day} to {window.last_day}\nSharpe {plain(window.sharpe_annual)}\n"
        f"return {percent(window.total_return_frac, signed=True)}, hold "
        f"{percent(window.hold_return_frac, signed=True)}\ntrained until {window.trained_until}"
    )


def _window_row(window: Window) -> list[Cell]:
    return [
        Cell(f"{window.first_day} to {window.last_day}", window.first_day),
        text(window.trained_until),
        number(plain(window.sharpe_annual), window.sharpe_annual),
        number(percent(window.total_return_frac, signed=True), window.total_return_frac),
        number(percent(window.hold_return_frac, signed=True), window.hold_return_frac),
        number(percent(window.max_drawdown_frac), window.max_drawdown_frac),
    ]


def _regime_chart(dossier: Dossier, found: Regimes) -> Charts:
    estimates = [
        Estimate(row.regime, row.net_bps_per_bar, "agents" if row.is_profitable else "loss")
        for row in found.rows
    ]
    axis = Axis("net return, bp per bar", holds=(0.0,))
    return Charts(
        (
            Chart(
                "Net return by regime",
                forest_chart(estimates, axis, width=FULL_PX),
                f"Dots with 95 % intervals; {scope(dossier)}.",
                narrow=forest_chart(estimates, axis, width=NARROW_PX),
            ),
        ),
        "full",
    )


def _regime_table(found: Regimes, *, is_folded: bool = False) -> Table:
    rows = [
        [
            text(row.regime),
            number(count(row.bars), row.bars),
            number(percent(row.share_frac, 0), row.share_frac),
            number(
                plain(row.net_bps_per_bar.estimate, signed=True),
                row.net_bps_per_bar.estimate,
                note=format_interval(row.net_bps_per_bar),
                tone="bad" if row.net_bps_per_bar.estimate < 0 else "",
            ),
            number(plain(row.hold_bps_per_bar, signed=True), row.hold_bps_per_bar),
            number(plain(row.sharpe_annual), row.sharpe_annual),
            number(percent(row.max_drawdown_frac), row.max_drawdown_frac),
        ]
        for row in found.rows
    ]
    return Table(
        _REGIME_COLUMNS,
        rows,
        "A bar's regime is what was known of it at the decision.",
        folded_under=f"Table of {format_count(len(rows), 'regimes')}" if is_folded else "",
    )


def _stress_table(found: Stress, *, is_folded: bool) -> Table:
    rows = [
        [
            Cell(row.scenario, row.scenario.lower(), note=row.words),
            text(row.kind),
            Cell(f"{row.first_day} to {row.last_day}", row.first_day),
            number(
                percent(row.total_return_frac, signed=True),
                row.total_return_frac,
                tone="bad" if row.total_return_frac < 0 else "",
            ),
            number(percent(row.hold_return_frac, signed=True), row.hold_return_frac),
            number(percent(row.max_drawdown_frac), row.max_drawdown_frac),
            number(percent(row.hold_drawdown_frac), row.hold_drawdown_frac),
        ]
        for row in found.rows
    ]
    return Table(
        _STRESS_COLUMNS,
        rows,
        "After costs; synthetic scenarios are made of the test part.",
        folded_under=f"Table of {format_count(len(rows), 'scenarios')}" if is_folded else "",
    )
