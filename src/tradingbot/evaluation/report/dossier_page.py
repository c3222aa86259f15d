"""The dossier as one self-contained page: the verdict first, then the evidence."""

from __future__ import annotations

import math

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.robustness import WalkForward
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.performance.record import PolicyPerformance
from tradingbot.evaluation.report.blocks import Figure, Section
from tradingbot.evaluation.report.chart import Chart
from tradingbot.evaluation.report.first_screen import data_words, equity_picture, lead_figures
from tradingbot.evaluation.report.numbers import (
    bps,
    count,
    format_count,
    format_interval,
    percent,
    plain,
    sentence,
)
from tradingbot.evaluation.report.page import Notice, Page, PointList, render_page
from tradingbot.evaluation.report.sections import robustness, training
from tradingbot.evaluation.report.sections.allocation import allocation_section
from tradingbot.evaluation.report.sections.behaviour import behaviour_section
from tradingbot.evaluation.report.sections.costs import costs_section
from tradingbot.evaluation.report.sections.ensemble import ensemble_section
from tradingbot.evaluation.report.sections.gates import gates_section
from tradingbot.evaluation.report.sections.league import league_section
from tradingbot.evaluation.report.sections.origin import caveats_section, origin_section
from tradingbot.evaluation.report.sections.placebos import leak_section, placebos_section
from tradingbot.evaluation.report.sections.portfolio import portfolio_section
from tradingbot.evaluation.report.sections.rewards import rewards_section
from tradingbot.evaluation.report.sections.scope import reference_of, scope
from tradingbot.evaluation.report.sections.statistics import statistics_section
from tradingbot.evaluation.report.svg.lines import LineSeries
from tradingbot.evaluation.report.tear_sheet.sections import tear_sheet_sections

_EVIDENCE = (
    portfolio_section,
    league_section,
    robustness.walk_forward_section,
    robustness.regimes_section,
    robustness.stress_section,
    costs_section,
    training.seeds_section,
    training.ablation_section,
    ensemble_section,
    behaviour_section,
    rewards_section,
    training.health_section,
    statistics_section,
    placebos_section,
    leak_section,
)


_IDLE = (
    "The agents stay out of the market, so figures of this page are those of an account in cash. "
    "That it lost nothing, or more or less than others, says nothing about the agents."
)


def render_dossier(dossier: Dossier, memo: Memo) -> str:
    """Render a page that needs no other file and no network.

    Every text is escaped; equal input gives equal bytes.

    Raises:
        MissingExtraError: If Jinja is not installed.
    """
    is_idle = no_agent_trades(dossier)
    portfolio, *others = (build(dossier) for build in _EVIDENCE)
    divided = (
        [] if dossier.allocation is None else [allocation_section(dossier, dossier.allocation)]
    )
    evidence = [portfolio, *divided, *_tear_sheet(dossier), *others]
    header, origin = dossier.header, origin_section(dossier)
    titles = {section.id: section.title for section in (*evidence, origin)}
    gates = gates_section(memo, titles, is_idle=is_idle)
    against = "None was found beside the reasons."
    word = " (synthetic data)" if header.synthetic else ""
    label = header.label.removeprefix("synthetic ")  # a badge beside it says so
    hashes = (
        f"data {header.data_sha256[:12]} · configuration {header.config_hash[:12]} · "
        f"weights {header.weights_sha256[:12]}"
    )
    page = Page(
        title=f"{memo.verdict}: {header.run}{word} – evaluation",
        kicker=("Evaluation of", header.run, f" · {header.agents} agents · {label}"),
        word=memo.verdict,
        headline=memo.headline,
        is_synthetic=header.synthetic,
        notices=_notices(memo, is_idle=is_idle),
        facts=_facts(dossier),
        lead_figures=_idle_figures(dossier) if is_idle else _lead_figures(dossier),
        picture=_picture(dossier),
        change=PointList(
            "What would change the verdict", memo.would_change, "Nothing that is known."
        ),
        key_figures=[] if is_idle else _key_figures(dossier),
        lists=(
            PointList("Reasons for the verdict", memo.reasons, "None were given."),
            PointList("Weaknesses of the strategy", memo.counter_evidence, against),
        ),
        scope=f"{sentence(header.decision)} Costs: {header.costs}. Seed {header.seed}, "
        f"{count(header.steps_per_agent)} steps per agent.",
        sections=[*evidence, gates, caveats_section(dossier), origin],
        footer=f"tradingbot {header.version} · {header.evaluated_at} · {hashes}",
    )
    return render_page(page)


def _notices(memo: Memo, *, is_idle: bool) -> list[Notice]:
    found = []
    if memo.alarm is not None:
        explained = memo.alarm.is_explained
        head = "Alarm, explained" if explained else "Alarm: too good to be believed"
        words = f"{sentence(memo.alarm.words)} {memo.alarm.explanation}"
        found.append(Notice(head, words, "explained-alarm" if explained else ""))
    if is_idle:
        found.append(Notice("No agent trades", _IDLE, "idle"))
    return found


def _tear_sheet(dossier: Dossier) -> list[Section]:
    """Return months, drawdowns, trades and the rest; one line where there are none."""
    finding = (
        f"Left out: this dossier was made before there were any. Evaluate the run again: "
        f"{dossier.header.command or 'tradingbot evaluate ' + dossier.header.run}."
    )
    if no_agent_trades(dossier):
        finding = "Left out: no agent trades, and cash has neither months nor drawdowns."
    elif dossier.tear_sheet is not None:
        return tear_sheet_sections(dossier.tear_sheet, scope(dossier))
    title = "Months, drawdowns, trades"
    return [Section("months", title, finding, is_left_out=True)]


def _facts(dossier: Dossier) -> list[tuple[str, str]]:
    """Say what was tested, on what, when, and at which costs."""
    header, test = dossier.header, dossier.test
    agents = (
        f"{format_count(header.agents, 'agents')}, learner {header.learner}, seed {header.seed}"
    )
    return [
        ("What was tested", agents),
        ("Data", data_words(header.label, header.synthetic)),
        ("Test period", f"{test.period}, not learned"),
        ("Costs", header.costs),
    ]


def _lead_figures(dossier: Dossier) -> list[Figure]:
    test = dossier.test
    sheet, years = dossier.tear_sheet, test.years
    yearly = sheet.bars_per_year if sheet else test.bars / years if years > 0 else math.nan
    over = None if math.isnan(test.excess_over_hold_bps.estimate) else test.excess_over_hold_bps
    return lead_figures(test.policies[0], test.bars, yearly, over)


def _picture(dossier: Dossier) -> Chart:
    """Draw the agents beside what they are compared with."""
    test = dossier.test
    hold, agents = reference_of(test), test.policies[0]
    lines = [LineSeries(agents.policy, agents.equity, "agents")]
    if hold is not None:
        lines.append(LineSeries("holding", hold.equity, "held"))
    made = f"agents {percent(agents.total_return_frac, signed=True)}, deepest fall "
    caption = (
        f"Test part, after costs: {made}{percent(agents.max_drawdown_frac)}"
        + (f"; holding {percent(hold.total_return_frac, signed=True)}" if hold else "")
        + "."
    )
    return equity_picture(test.days, lines, "What became of 1", caption)


def _key_figures(dossier: Dossier) -> list[Figure]:
    """Return the numbers that a reader in a hurry needs, each with its yardstick."""
    test, found = dossier.test, dossier.statistics
    agents, hold = test.policies[0], reference_of(test)
    held = f"{hold.policy} {percent(hold.total_return_frac, signed=True)}" if hold else ""
    fell = f"{hold.policy} {percent(hold.max_drawdown_frac)}" if hold else ""
    trials = f"after {found.n_trials} trial{'s' if found.n_trials != 1 else ''}"
    figures = [
        Figure("Return, test part", percent(agents.total_return_frac, signed=True), held),
        *_alpha_figure(agents),
        Figure("Max drawdown", percent(agents.max_drawdown_frac), fell),
        Figure("Deflated Sharpe", percent(found.deflated_sharpe), trials),
    ]
    costs = dossier.sensitivity
    if costs is not None and costs.break_even_cost_bps:
        even = _break_even(costs.break_even_cost_bps[0], max(costs.cost_bps))
        assumed = f"one way; {plain(costs.assumed_cost_bps, 1)} bp assumed"
        figures.append(Figure(f"Break-even cost of {costs.judged}", even, assumed))
    if dossier.walk_forward is not None and dossier.walk_forward.windows:
        figures.append(_profitable_windows(dossier.walk_forward))
    return figures


def _alpha_figure(agents: PolicyPerformance) -> list[Figure]:
    """Return alpha per bar with its interval; nothing where it was not measured."""
    alpha = agents.alpha_bps
    if alpha is None:
        return []
    return [Figure("Alpha per bar", bps(alpha.estimate), f"95 % {format_interval(alpha)}")]


def _idle_figures(dossier: Dossier) -> list[Figure]:
    """Return what there is to say where no agent trades: nothing of risk or skill."""
    test, found = dossier.test, dossier.statistics
    hold, out = reference_of(test), sum(not row.trades for row in test.agents)
    figures = [
        Figure("Agents that stay out", count(out), f"of {count(len(test.agents))}"),
        Figure("Return, test part", percent(0.0), "in cash"),
    ]
    if hold is not None:
        made = percent(hold.total_return_frac, signed=True)
        figures.append(Figure("Holding made", made, f"{hold.policy}, same days"))
    trials = f"{count(found.n_trials)} trial{'s' if found.n_trials != 1 else ''} counted"
    figures.append(Figure("Sharpe, drawdown, luck", "–", f"cash has none; {trials}"))
    return figures


def _profitable_windows(found: WalkForward) -> Figure:
    traded, out = len(found.traded), len(found.windows) - len(found.traded)
    more = f", {out} stayed out" if out else ""
    positive = percent(found.share_positive.estimate, 0) if traded else "–"
    judged = any(window.alpha_bps_per_bar == window.alpha_bps_per_bar for window in found.windows)
    name = "Windows with alpha" if judged else "Profitable windows"
    return Figure(name, positive, f"of {traded} traded{more}")


def _break_even(cost: float | None, highest: float) -> str:
    if cost is None:
        return "none"
    return f"> {plain(highest, 0)} bp" if cost == float("inf") else f"{plain(cost, 2)} bp"
