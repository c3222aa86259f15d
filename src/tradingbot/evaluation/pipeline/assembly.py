"""From analyses to the dossier: what was evaluated, in words, and everything that was found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tradingbot import __version__
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.performance import BASELINES, PARTS
from tradingbot.evaluation.analyses.portfolio_run import NOT_FOR_PORTFOLIOS, PortfolioRun
from tradingbot.evaluation.analyses.training_facts import gather_training_facts
from tradingbot.evaluation.backtest.baselines import lookback_note
from tradingbot.evaluation.dossier.dossier import Dossier, Header
from tradingbot.evaluation.pipeline.analysis_names import OPTIONAL
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.evaluation.pipeline.store import StoredAnalysis, weights_sha256
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import SimulatorParams
from tradingbot.training.environment_words import describe_goal
from tradingbot.training.result_file import read_result

_NOT_ASKED_FOR = "not asked for"
_PORTFOLIO_ACTIONS = "share of the portfolio that is given to sleeves: 0 all cash, 1 all in"
_SYNTHETIC = "The market is synthetic: nothing here says what observed bars would have given."
_SIMULATED = "Bars are observed, trading is simulated: no order met a real book."


def assemble_dossier(
    subject: EvaluatedRun,
    config: EvaluateConfig,
    analyses: Mapping[str, StoredAnalysis],
    *,
    command: str,
    evaluated_at: datetime,
    workers_lost: int = 0,
) -> Dossier:
    """Join what was made.

    Args:
        subject: The run.
        config: Of the evaluation.
        analyses: By name; the required ones are there.
        command: That makes the dossier again.
        evaluated_at: Now, UTC; no figure depends on it.
        workers_lost: While analyses were made; no figure depends on it either.
    """
    made = {name: each.record for name, each in analyses.items() if not each.reason}
    left_out = [
        (name, analyses[name].reason if name in analyses else _NOT_ASKED_FOR)
        for name in OPTIONAL
        if name not in made
    ]
    optional: dict[str, Any] = {name: made[name] for name in OPTIONAL if name in made}
    return Dossier(
        header=_header(subject, config, command, evaluated_at),
        parts=made["performance"].parts,
        statistics=made["statistics"],
        health=made["health"],
        leak_check=made["leak_check"],
        training=gather_training_facts(subject),
        tear_sheet=made["performance"].tear_sheet,
        allocation=made["performance"].allocation,
        left_out=tuple(left_out),
        workers_lost=workers_lost,
        **optional,
    )


def cost_words(name: str, costs: CostProfile) -> str:
    """Say what trading costs, one way."""
    parts = [
        f"commission {1e4 * costs.commission_frac:.3g} bp",
        f"slippage {1e4 * costs.slippage_frac:.3g} bp",
    ]
    if costs.spread_frac:
        parts.append(f"half the spread {5e3 * costs.spread_frac:.3g} bp")
    if costs.impact_coef:
        parts.append(f"impact {costs.impact_coef:.3g} σ √participation")
    if costs.borrow_frac_per_bar:
        parts.append(f"borrowing {1e4 * costs.borrow_frac_per_bar:.3g} bp per bar")
    return f"{name}: {', '.join(parts)}, one way"


def action_words(rules: SimulatorParams) -> str:
    """Say what the size of an action means."""
    short = rules.limits.allow_short
    if rules.action.space == "discrete":
        return "codes of orders"
    if rules.action.space == "target":
        lowest = "−1 all short, " if short else ""
        return f"target position: {lowest}0 out, 1 all in"
    sells = "sells the position and goes short" if short else "sells that share of the position"
    return f"order: above 0 buys that share of what may be bought, below 0 {sells}"


def _header(
    subject: EvaluatedRun, config: EvaluateConfig, command: str, evaluated_at: datetime
) -> Header:
    run, data, training = subject.run, subject.data, subject.config
    is_portfolio = isinstance(subject, PortfolioRun)
    return Header(
        run=run.id,
        label=data.identity.label,
        synthetic=data.identity.synthetic,
        learner=training.learner.name,
        encoder=training.encoder.preset,
        agents=len(data.world.symbols),
        steps_per_agent=run.status().steps,
        seed=run.record.seeds["root"],
        costs=cost_words(training.task.costs, subject.env.costs),
        data_sha256=data.identity.data_sha256,
        config_hash=run.record.config_sha256,
        weights_sha256=weights_sha256(subject),
        evaluated_at=evaluated_at.isoformat(timespec="seconds"),
        version=__version__,
        command=command,
        caveats=caveats_of(subject, config),
        decision=read_result(run.path).decision,
        actions=_PORTFOLIO_ACTIONS if is_portfolio else action_words(subject.env.rules),
    )


def caveats_of(subject: EvaluatedRun, config: EvaluateConfig) -> tuple[str, ...]:
    """Say what every figure is to be read with: data, periods, the goal, shorter trainings."""
    data = subject.data
    train, validation, test = (str(each) for each in data.periods.values())
    found = [
        _SYNTHETIC if subject.data.identity.synthetic else _SIMULATED,
        f"Learned from {train}; chosen and decided on {validation}; tested on {test}. The first "
        "bar of a part is decided on and earns nothing: figures are of one bar less.",
    ]
    if isinstance(subject, PortfolioRun):
        found.append(
            f"One account of {len(data.world.symbols)} symbols: a master divides its capital among "
            f"sleeves, each traded by {subject.traded_by}, and cash. Other policies of the tables "
            "are one portfolio each."
        )
    if subject.config.environment.kind == "goal":
        told = describe_goal(subject.config.environment.goal, read_result(subject.run.path).parts)
        found.append(f"Agents were {told}.")
    if subject.data.caveat:
        found.append(subject.data.caveat)
    refused = NOT_FOR_PORTFOLIOS if isinstance(subject, PortfolioRun) else {}
    asked = {name for name in config.analyses if name not in refused}
    shares = {
        "walk-forward": config.walk_forward.steps_share_frac,
        "seeds": config.seeds.steps_share_frac,
        "ablation": config.ablation.steps_share_frac,
    }
    short = [
        f"{name} {share:.0%}"
        for name, share in shares.items()
        if share < 1.0 and name.replace("-", "_") in asked
    ]
    if short:
        found.append(f"Trainings were shorter than the run's own: {', '.join(short)} of its steps.")
    notes = (lookback_note(name, subject.bars(part), part) for part in PARTS for name in BASELINES)
    return (*found, *(note for note in notes if note))
