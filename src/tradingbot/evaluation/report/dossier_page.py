"""The dossier as one self-contained page: the verdict first, then the evidence."""

from __future__ import annotations

import base64
import hashlib
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.report.blocks import Figure
from tradingbot.evaluation.report.numbers import (
    count,
    format_interval,
    percent,
    plain,
    sentence,
    typeset,
)
from tradingbot.evaluation.report.sections.behaviour import behaviour_section
from tradingbot.evaluation.report.sections.costs import costs_section
from tradingbot.evaluation.report.sections.ensemble import ensemble_section
from tradingbot.evaluation.report.sections.gates import gates_section
from tradingbot.evaluation.report.sections.league import league_section
from tradingbot.evaluation.report.sections.origin import caveats_section, origin_section
from tradingbot.evaluation.report.sections.placebos import leak_section, placebos_section
from tradingbot.evaluation.report.sections.portfolio import portfolio_section
from tradingbot.evaluation.report.sections.robustness import (
    regimes_section,
    stress_section,
    walk_forward_section,
)
from tradingbot.evaluation.report.sections.scope import reference_of
from tradingbot.evaluation.report.sections.statistics import statistics_section
from tradingbot.evaluation.report.sections.training import (
    ablation_section,
    health_section,
    seeds_section,
)
from tradingbot.evaluation.report.svg.drawing import as_svg

if TYPE_CHECKING:
    from jinja2 import Environment

_EVIDENCE = (
    portfolio_section,
    league_section,
    walk_forward_section,
    regimes_section,
    stress_section,
    costs_section,
    seeds_section,
    ablation_section,
    ensemble_section,
    behaviour_section,
    health_section,
    statistics_section,
    placebos_section,
    leak_section,
)


def render_dossier(dossier: Dossier, memo: Memo) -> str:
    """Render a page that needs no other file and no network.

    Every text is escaped; equal input gives equal bytes.

    Raises:
        MissingExtraError: If Jinja is not installed.
    """
    is_idle = no_agent_trades(dossier)
    evidence = [build(dossier) for build in _EVIDENCE]
    origin = origin_section(dossier)
    titles = {section.id: section.title for section in (*evidence, origin)}
    sections = [
        *evidence,
        gates_section(memo, titles, is_idle=is_idle),
        caveats_section(dossier),
        origin,
    ]
    environment = _environment(synthetic=dossier.header.synthetic)
    script = _source("dossier.js")
    return environment.from_string(_source("dossier.html")).render(
        header=dossier.header,
        label=dossier.header.label.removeprefix("synthetic "),  # a badge beside it says so
        memo=memo,
        is_idle=is_idle,
        key_figures=_idle_figures(dossier) if is_idle else _key_figures(dossier),
        sections=sections,
        alarm=sentence(memo.alarm.words) if memo.alarm else "",
        decision=sentence(dossier.header.decision),
        steps=count(dossier.header.steps_per_agent),
        style=_source("dossier.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
    )


def _environment(*, synthetic: bool) -> Environment:
    try:
        from jinja2 import Environment, StrictUndefined
    except ModuleNotFoundError as e:
        raise MissingExtraError("plot", package="jinja2") from e
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["typeset"] = typeset
    environment.globals["svg"] = partial(as_svg, synthetic=synthetic)
    return environment


def _source(name: str) -> str:
    return (files("tradingbot.evaluation") / "templates" / name).read_text("utf-8")


def _key_figures(dossier: Dossier) -> list[Figure]:
    """Return the numbers that a reader in a hurry needs, each with its yardstick."""
    test, found = dossier.test, dossier.statistics
    agents, hold = test.policies[0], reference_of(test)
    figures = [
        Figure(
            "Return, test part",
            percent(agents.total_return_frac, signed=True),
            f"{hold.policy} {percent(hold.total_return_frac, signed=True)}" if hold else "",
        ),
        Figure(
            "Sharpe, annual",
            plain(agents.sharpe_annual.estimate),
            f"95 % {format_interval(agents.sharpe_annual)}"
            if format_interval(agents.sharpe_annual)
            else "",
        ),
        Figure(
            "Largest drawdown",
            percent(agents.max_drawdown_frac),
            f"{hold.policy} {percent(hold.max_drawdown_frac)}" if hold else "",
        ),
        Figure(
            "Deflated Sharpe",
            percent(found.deflated_sharpe),
            f"after {found.n_trials} trial{'s' if found.n_trials != 1 else ''}",
        ),
    ]
    costs = dossier.sensitivity
    if costs is not None and costs.break_even_cost_bps:
        figures.append(
            Figure(
                "Break-even cost",
                _break_even(costs.break_even_cost_bps[0], max(costs.cost_bps)),
                f"one way; {plain(costs.assumed_cost_bps, 1)} bp assumed",
            )
        )
    if dossier.walk_forward is not None and dossier.walk_forward.windows:
        windows = len(dossier.walk_forward.windows)
        positive = percent(dossier.walk_forward.share_positive.estimate, 0)
        figures.append(Figure("Windows above 0", positive, f"of {windows}"))
    return figures


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


def _break_even(cost: float | None, highest: float) -> str:
    if cost is None:
        return "none"
    return f"> {plain(highest, 0)} bp" if cost == float("inf") else f"{plain(cost, 1)} bp"
