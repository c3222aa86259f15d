"""Does it hold through time, in every regime, under stress?"""

from __future__ import annotations

import math
from functools import partial

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.robustness import Regimes, Stress, StressRow, WalkForward, Window
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.report.blocks import Block, Points
from tradingbot.evaluation.report.chart import HALF_PX, Chart, Charts, full_chart
from tradingbot.evaluation.report.numbers import (
    count,
    format_count,
    format_interval,
    percent,
    plain,
    share,
)
from tradingbot.evaluation.report.sections.scope import Answer, scope, section_of
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.table import Cell, column, record_table, text_column

_NET = "after costs, with 95 % interval"
_HOLD = column("Hold", "hold_return_frac", "return of equal weight", percent, signed=True)


def _days(row: Window | StressRow) -> Cell:
    return Cell(f"{row.first_day} to {row.last_day}", row.first_day)


def _sharpe(row: Window) -> Cell:
    if row.stayed_out:
        return Cell("stayed out", 0.0, tone="soft")
    return Cell(plain(row.sharpe_annual), row.sharpe_annual)


_WINDOW_COLUMNS = (
    text_column("Window", _days),
    text_column("Trained until", "trained_until", "last day its agents learned from"),
    column("Alpha bp/bar", "alpha_bps_per_bar", "net of the market, which judges", signed=True),
    column("Sharpe", _sharpe, "annual"),
    column("Return", "total_return_frac", "after costs", percent, signed=True),
    _HOLD,
    column("Drawdown", "max_drawdown_frac", "largest fall from a peak", percent),
)
_REGIME_COLUMNS = (
    text_column("Regime", "regime"),
    column("Bars", "bars", "", count),
    column("Share", "share_frac", "of all bars", percent, digits=0),
    column("Net bp/bar", "net_bps_per_bar", _NET, signed=True, is_loss_bad=True),
    column("Alpha bp/bar", "alpha_bps_per_bar", "its own part, 95 % interval", signed=True),
    column("Market bp/bar", "market_bps_per_bar", "the market's part", signed=True),
    column("Timing bp/bar", "timing_bps_per_bar", "of the market", signed=True),
    column("Hold bp/bar", "hold_bps_per_bar", "equal weight", signed=True),
    column("Sharpe", "sharpe_annual", "annual"),
    column("Drawdown", "max_drawdown_frac", "within its bars, joined", percent),
    column("Trades", "n_trades", "closed ones that were decided on in it", count),
    column("Win rate", "win_rate_frac", "of those trades", percent),
    column("Bars held", "mean_trade_bars", "mean of those trades"),
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


@section_of("walk-forward", "Walk-forward")
def walk_forward_section(dossier: Dossier, found: WalkForward) -> Answer:
    """Show every window, each traded by agents that never saw it."""
    if not found.windows:
        return "No window fits into the data.", None
    caption = "Windows in order of time, after costs."
    table = record_table(_WINDOW_COLUMNS, found.windows, caption, folded="windows")
    positive = round(found.share_positive.estimate * len(found.traded))
    judged = any(math.isfinite(window.alpha_bps_per_bar) for window in found.windows)
    out = len(found.windows) - len(found.traded)
    head = "With alpha above 0" if judged else "Profitable"
    finding = (
        f"{head}: {positive} of {format_count(len(found.traded), 'traded windows')} "
        f"({share(found.share_positive)}). {_stayed_out(out)}Each window of {found.window_days} "
        f"days was traded by agents that learned from earlier days only; they were trained again "
        f"every {found.retrain_every} windows, with {count(found.steps_per_agent)} steps per agent."
        f"{_joined(found)}"
    )
    if not found.traded:
        finding = (
            f"No agent trades in any of {format_count(len(found.windows), 'windows')}: agents that "
            f"learned anew from earlier days were kept out, {count(found.steps_per_agent)} "
            f"steps per agent. The table says what holding made meanwhile."
        )
        return finding, (table,)
    return finding, (_window_charts(dossier, found), table)


def _joined(found: WalkForward) -> str:
    if found.sharpe_annual is None:
        return ""
    ratio = f"{plain(found.sharpe_annual.estimate)} {format_interval(found.sharpe_annual)}"
    alpha = found.alpha_bps
    if alpha is None:
        return f" All windows joined have a Sharpe ratio of {ratio}."
    own = f"{plain(alpha.estimate)} {format_interval(alpha)}"
    return f" All windows joined have alpha of {own} bp per bar and a Sharpe ratio of {ratio}."


def _stayed_out(count: int) -> str:
    if not count:
        return ""
    words = f"{format_count(count, 'windows')} more, which count on neither side"
    return f"Validation kept the agents out of {words}. "


@section_of("regimes", "Regimes")
def regimes_section(dossier: Dossier, found: Regimes) -> Answer:
    """Show what was earned in each regime."""
    is_idle = no_agent_trades(dossier)
    caption = "A bar's regime is what was known of it at the decision."
    folded = "regimes" if is_idle else ""
    table = record_table(_REGIME_COLUMNS, found.rows, caption, folded=folded)
    if is_idle:
        return f"No agent trades, so no regime earns and none loses. {found.method}", (table,)
    judged = any(row.alpha_bps_per_bar is not None for row in found.rows)
    what = "have alpha above 0" if judged else "earn"
    finding = (
        f"The agents {what} in {found.profitable} of {len(found.rows)} regimes. {found.method}"
    )
    return finding, (_regime_chart(dossier, found), table)


@section_of("stress", "Stress")
def stress_section(dossier: Dossier, found: Stress) -> Answer:
    """Show bad times, real and made up."""
    is_idle, blocks = no_agent_trades(dossier), list[Block]()
    if found.rows:
        caption = "After costs; synthetic scenarios are made of the test part."
        folded = "scenarios" if is_idle else ""
        blocks.append(record_table(_STRESS_COLUMNS, found.rows, caption, folded=folded))
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
    return finding, blocks


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
    ratio = drawn(sharpe, Axis("Sharpe, annual"))
    earned = drawn(returns, Axis("return, dots: holding", unit="percent"))
    dots = "Columns are the agents, dots are holding in equal weight."
    ratios = Chart("Sharpe ratio of each window", ratio, caption)
    return Charts((ratios, Chart("Return of each window", earned, dots)))


def _hint(window: Window) -> str:
    return (
        f"{window.first_day} to {window.last_day}\n"
        f"{'stayed out' if window.stayed_out else f'Sharpe {plain(window.sharpe_annual)}'}\n"
        f"return {percent(window.total_return_frac, signed=True)}, hold "
        f"{percent(window.hold_return_frac, signed=True)}\ntrained until {window.trained_until}"
    )


def _regime_chart(dossier: Dossier, found: Regimes) -> Charts:
    estimates = [
        Estimate(
            row.regime,
            row.alpha_bps_per_bar or row.net_bps_per_bar,
            "agents" if row.is_profitable else "loss",
        )
        for row in found.rows
    ]
    draw = partial(forest_chart, estimates, Axis("net return, bp per bar", holds=(0.0,)))
    caption = f"Dots with 95 % intervals; {scope(dossier)}."
    return full_chart("Net return by regime", draw, caption)
