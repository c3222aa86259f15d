"""What a finished run is worth: best weights on validation and test, beside simple policies.

Every account is a sleeve of the same size that is never rebalanced; the portfolio is all sleeves
together. Figures are net of costs. Sharpe ratios are annual; intervals are 95 %, stationary
bootstrap.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.buy_and_hold import buy_and_hold
from tradingbot.agents.policy import Policy
from tradingbot.data.atomic import write_text
from tradingbot.data.json_files import as_json
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World, cut_world, select_symbols
from tradingbot.evaluation.metrics.returns import drawdown_of, simple_returns
from tradingbot.evaluation.oracle.action_rule import Information
from tradingbot.evaluation.oracle_policy import oracle_policy
from tradingbot.evaluation.rollout import roll_out, sleeve_config
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval, sharpe_interval
from tradingbot.learning.playing import play, score
from tradingbot.learning.trainer import Trainer
from tradingbot.market.costs import CostProfile
from tradingbot.runs import RunDirectory
from tradingbot.training.action_gate import ActionGate, judge_actions, not_applied
from tradingbot.training.data import REFERENCE_INDEX, TrainingData
from tradingbot.training.prepared_setup import TrainingSetup, part_task
from tradingbot.training.selection import (
    SelectedPolicy,
    select_by_validation,
    select_everything,
    select_nothing,
)

FloatArray = NDArray[np.float64]
RESULT_FILE = "result.json"
FIGURES_NOTE = (
    "Return, Sharpe and drawdown: all sleeves together, never rebalanced. bp/bar: mean of sleeves. "
    "Not the score of training, which is the mean of the single agents' Sharpe on the first half "
    "of validation. That half chose the weights, the second decided what is kept of them; test "
    "decided nothing."
)
"""Stands under the tables of a result."""
AGENTS, HOLD, FLAT, ORACLE = "agents", "equal weight, held", "flat", "oracle"


@dataclass(frozen=True)
class PolicyFigures:
    """One policy as a portfolio of sleeves."""

    policy: str
    total_return_frac: float
    """Of all sleeves together."""
    sharpe_annual: Interval
    """Of all sleeves together."""
    net_bps_per_bar: Interval
    """Mean over sleeves and bars of the sleeves' simple returns."""
    max_drawdown_frac: float
    """Of all sleeves together."""


@dataclass(frozen=True)
class AgentFigures:
    """One agent on its own."""

    agent: str
    sharpe_annual: float
    total_return_frac: float
    hold_return_frac: float
    """Of buying and holding its symbol."""
    net_bps_per_bar: float
    trades_per_1000: float
    action_entropy: float
    """Of its deterministic actions, in [0, 1]."""


@dataclass(frozen=True)
class PartResult:
    """One part of the data."""

    part: str
    first_day: str
    last_day: str
    bars: int
    policies: tuple[PolicyFigures, ...]
    excess_over_hold_bps: Interval
    """Net return of the agents less that of equal weight, per bar."""
    share_of_oracle: float | None
    """Net return of the agents ÷ the oracle's, on a synthetic market whose oracle earns."""
    gate: ActionGate
    agents: tuple[AgentFigures, ...]

    def policy(self, name: str) -> PolicyFigures | None:
        """Return the figures of a policy; None where it is not there."""
        return next((each for each in self.policies if each.policy == name), None)


@dataclass(frozen=True)
class TrainResult:
    """A finished run, as `result.json` keeps it."""

    run: str
    label: str
    synthetic: bool
    best_mean_sharpe: float
    """Mean of the single agents' annual Sharpe ratios on the first half of validation, before
    anybody was told to stay out: the `score` that the best weights were chosen by; not the
    portfolio's Sharpe ratio. −∞ where no evaluation was healthy."""
    decision: str
    """What the second half of validation decided to keep of the policy, in words."""
    trading_agents: tuple[str, ...]
    """Those whom that half lets trade; the others stay out."""
    final_weights_sha256: str
    """Of the weights when training ended."""
    parts: tuple[PartResult, ...]
    weights_sha256: str = ""
    """Of the checkpoint `selected`: the best weights with what is kept of their deviations, and who
    trades."""
    caveat: str = ""
    """What every figure here is to be read with; empty for synthetic data."""


def judge_result(
    setup: TrainingSetup,
    data: TrainingData,
    trainer: Trainer,
    run: RunDirectory,
    *,
    final_sha256: str,
    shrinks: bool,
) -> TrainResult:
    """Judge the best weights; they are the learner's afterwards.

    Args:
        setup: The learner and its surroundings.
        data: What it learned from.
        trainer: After its run.
        run: For its id.
        final_sha256: Hash of the weights when training ended.
        shrinks: Let the second half of validation decide what is kept of the policy.
    """
    trainer.use_best()
    selected = select_nothing(setup)
    if trainer.has_best:
        selected = select_by_validation(setup, data) if shrinks else select_everything(setup)
    parts = (("validation", data.split.validation), ("test", data.split.test))
    return TrainResult(
        run=run.id,
        label=data.identity.label,
        synthetic=data.identity.synthetic,
        best_mean_sharpe=trainer.best_score,
        decision=selected.words,
        trading_agents=selected.trading(data.world.symbols),
        final_weights_sha256=final_sha256,
        parts=tuple(_judge(name, part, setup, data, selected) for name, part in parts),
    )


def store_result(run: RunDirectory, result: TrainResult) -> None:
    """Write `result.json` into the run directory.

    Raises:
        StorageError: If the disk refuses.
    """
    write_text(run.path / RESULT_FILE, json.dumps(as_json(result), indent=1) + "\n")


def _judge(
    name: str, part: IndexRange, setup: TrainingSetup, data: TrainingData, selected: SelectedPolicy
) -> PartResult:
    cut = cut_world(data.world, part.start, part.stop - 1)
    begin = part.start + first_ready_bar(cut)
    task = part_task(setup, data, IndexRange(begin, part.stop))
    played = play(task, selected.act, task.episode_bars)
    equity = {AGENTS: played.wealth.double().cpu().numpy()[..., 0]}
    others = _roll_out_others(cut, setup.env.costs, data, part)
    figures = [
        _figures(policy, worth, data.bars_per_year)
        for policy, worth in {**equity, **others}.items()
    ]
    agents, hold = simple_returns(equity[AGENTS]), simple_returns(others[HOLD])
    days = data.world.closed_at[[begin, part.stop - 1]].astype("datetime64[us]")
    first, last = (str(day) for day in days.astype("datetime64[D]"))
    scores = score(played, setup.learner.task.action, bars_per_year=data.bars_per_year)
    gate = judge_actions(scores, setup.learner.task.action)
    return PartResult(
        part=name,
        first_day=first,
        last_day=last,
        bars=len(agents),
        policies=tuple(figures),
        excess_over_hold_bps=net_bps_interval(agents - hold),
        share_of_oracle=_share(figures),
        gate=gate if any(selected.trades) else not_applied(gate),
        agents=_agent_figures(data.world.symbols, scores, equity[AGENTS], others[HOLD]),
    )


def _roll_out_others(
    cut: World, costs: CostProfile, data: TrainingData, part: IndexRange
) -> dict[str, FloatArray]:
    """Return the worth (S + 1, N) of simple policies over the same bars, 1 at the start."""
    config = sleeve_config(costs)
    policies: dict[str, Policy] = {HOLD: buy_and_hold}
    if data.market is not None:
        cost_frac = costs.one_way_frac
        with suppress(ConfigError):  # not every market has an oracle
            policies[ORACLE] = oracle_policy(
                data.market, cut, cost_frac=cost_frac, information=Information.ATTAINABLE
            )
    rolled = roll_out(cut, config, policies)
    worth = {
        name: rolled.equity[:, index] / rolled.initial_cash_ccy
        for index, name in enumerate(rolled.policies)
    }
    if REFERENCE_INDEX in data.whole.symbols:
        alone = cut_world(select_symbols(data.whole, [REFERENCE_INDEX]), part.start, part.stop - 1)
        index_rolled = roll_out(alone, config, {REFERENCE_INDEX: buy_and_hold})
        worth[REFERENCE_INDEX] = index_rolled.equity[:, 0] / index_rolled.initial_cash_ccy
    return {**worth, FLAT: np.ones_like(worth[HOLD])}


def _figures(policy: str, worth: FloatArray, bars_per_year: float) -> PolicyFigures:
    whole = worth.mean(axis=1)
    return PolicyFigures(
        policy=policy,
        total_return_frac=float(whole[-1] / whole[0] - 1.0),
        sharpe_annual=sharpe_interval(simple_returns(whole), bars_per_year),
        net_bps_per_bar=net_bps_interval(simple_returns(worth)),
        max_drawdown_frac=float(drawdown_of(whole).max()),
    )


def _agent_figures(
    symbols: tuple[str, ...], scores: Mapping[str, object], worth: FloatArray, hold: FloatArray
) -> tuple[AgentFigures, ...]:
    columns = {
        name: np.asarray(scores[name].tolist())  # type: ignore[attr-defined]
        for name in ("sharpe", "return_bp", "trades_per_1000", "entropy")
    }
    return tuple(
        AgentFigures(
            agent=symbol,
            sharpe_annual=float(columns["sharpe"][i]),
            total_return_frac=float(worth[-1, i] / worth[0, i] - 1.0),
            hold_return_frac=float(hold[-1, i] / hold[0, i] - 1.0),
            net_bps_per_bar=float(columns["return_bp"][i]),
            trades_per_1000=float(columns["trades_per_1000"][i]),
            action_entropy=float(columns["entropy"][i]),
        )
        for i, symbol in enumerate(symbols)
    )


def _share(figures: list[PolicyFigures]) -> float | None:
    net = {each.policy: each.net_bps_per_bar.estimate for each in figures}
    if net.get(ORACLE, 0.0) <= 0.0:
        return None
    return net[AGENTS] / net[ORACLE]
