"""What a finished run is worth: best weights on validation and test, beside simple policies."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from tradingbot.agents.baselines.market_rules import flat
from tradingbot.data.splits import IndexRange
from tradingbot.envs.population.layout import action_spec
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.evaluation.allocation.schedule import backtest_allocations
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest, backtest, ready_bars
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.backtest.portfolios import backtest_portfolio, pool_accounts
from tradingbot.evaluation.performance.measure import (
    PlayedPolicy,
    action_histograms,
    part_performance,
)
from tradingbot.evaluation.performance.record import AGENTS, FLAT, HOLD, PartPerformance
from tradingbot.learning.allocation_shrinkage import decide_allocation, keep_allocation
from tradingbot.learning.shrinkage import (
    Act,
    Earned,
    ShrinkageConfig,
    apply,
    decide,
    staying_out,
)
from tradingbot.learning.trainer import Trainer
from tradingbot.runs import RunDirectory
from tradingbot.training.action_gate import DIVIDES, ActionGate, judge_actions, not_applied
from tradingbot.training.data import DECIDING_BLOCKS, REFERENCE_INDEX, TrainingData, halves
from tradingbot.training.opponents import (
    backtest_index,
    backtest_opponents,
    holding,
    oracle_under_test,
    span_of,
)
from tradingbot.training.result_file import TrainResult
from tradingbot.training.run_policy import LearnerPolicy
from tradingbot.training.setup import TrainingSetup

DECIDED_ON = "the second half of validation"
"""Bars that decide; the first half chose the weights, and is used up."""


@dataclass(frozen=True, eq=False)
class SelectedPolicy:
    """What is kept of a policy."""

    act: Act
    trades: list[bool]
    """Of each agent, whether it trades."""
    words: str

    def trading(self, symbols: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the agents that trade."""
        return tuple(name for name, does in zip(symbols, self.trades, strict=True) if does)


def select_everything(setup: TrainingSetup) -> SelectedPolicy:
    """Keep the policy as it was learned."""
    learner = setup.learner
    return SelectedPolicy(learner.act, [True] * len(learner.task.agent_names), "as it was learned")


def select_nothing(setup: TrainingSetup) -> SelectedPolicy:
    """Let no agent trade: there are no weights that were ever found healthy."""
    learner = setup.learner
    n_agents, action = len(learner.task.agent_names), learner.task.action
    act = staying_out(learner.act, torch.zeros(n_agents, dtype=torch.bool), action)
    who = "the agent stays out" if n_agents == 1 else f"all {n_agents} agents stay out"
    words = f"{who}: no evaluation on validation was healthy, so there are no best weights to judge"
    return SelectedPolicy(act, [False] * n_agents, words)


def select_by_validation(setup: TrainingSetup, data: TrainingData) -> SelectedPolicy:
    """Let the second half of validation decide; what is not kept is gone from the learner."""
    learner, bars = setup.learner, halves(data.split.validation)[1]
    task = learner.task
    factor, usual = data.factor, ShrinkageConfig()
    blocks = replace(
        usual, block_bars=max(1, min(usual.block_bars, (len(bars) - 1) // DECIDING_BLOCKS))
    )

    def play(act: Act) -> Earned:
        played = backtest_agents(setup, data, bars, act)
        alpha = attribute_backtest(played, factor).alpha
        return Earned(torch.from_numpy(alpha), torch.from_numpy(played.returns))

    divides = isinstance(task, PortfolioTask)
    found = (decide_allocation if divides else decide)(learner, play, blocks)
    found = replace(found, judged_on=DECIDED_ON, judged_by=f"alpha against {factor.words}")
    if divides:
        keep_allocation(learner, found)
    else:
        apply(learner.networks(), found)
    act = staying_out(learner.act, found.trades, task.action)
    return SelectedPolicy(act, [bool(does) for does in found.trades.tolist()], found.words)


def backtest_agents(
    setup: TrainingSetup, data: TrainingData, bars: IndexRange, act: Act
) -> Backtest:
    """Let the agents of a run trade some bars by what they act by."""
    task = setup.learner.task
    if isinstance(task, PortfolioTask):
        over = task.backtest(bars.start, bars.stop - 1)
        return backtest_portfolio(over, act, bars_per_year=data.bars_per_year, name=AGENTS)
    policy = LearnerPolicy(task, act)
    return backtest(data.world, setup.env, policy, name=AGENTS, **span_of(data, bars))


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
    judged = [judge_part(name, part, setup, data, selected) for name, part in parts]
    return TrainResult(
        run=run.id,
        label=data.identity.label,
        synthetic=data.identity.synthetic,
        best_mean_sharpe=trainer.best_score,
        decision=selected.words,
        trading_agents=selected.trading(setup.learner.task.agent_names),
        final_weights_sha256=final_sha256,
        parts=tuple(part for part, _ in judged),
        gates=tuple(gate for _, gate in judged),
        joint=() if setup.joint is None else setup.joint.report(),
    )


def judge_part(
    name: str, part: IndexRange, setup: TrainingSetup, data: TrainingData, selected: SelectedPolicy
) -> tuple[PartPerformance, ActionGate]:
    """Judge what was selected on one part of the bars, beside simple policies."""
    bars, env = ready_bars(data.world, part), setup.env
    task, oracle = setup.learner.task, oracle_under_test(data, env)
    others = backtest_opponents(data, env, bars, [holding(), *oracle, PolicyUnderTest(FLAT, flat)])
    index = backtest_index(data, env, bars)
    agents = backtest_agents(setup, data, bars, selected.act)
    allocated: tuple[Backtest, ...] = ()
    if isinstance(task, PortfolioTask):
        others, index = tuple(map(pool_accounts, others)), [*map(pool_accounts, index)]
        allocated = backtest_allocations(task, bars, bars_per_year=data.bars_per_year)
    played = [
        PlayedPolicy("agents", agents),
        PlayedPolicy("baseline", others[0]),
        *(PlayedPolicy("oracle", each) for each in others[1:-1]),
        *(PlayedPolicy("baseline", each) for each in (*index, others[-1], *allocated)),
    ]
    action = action_spec(env.rules)
    histograms = action_histograms(agents, action)
    reference = REFERENCE_INDEX if index and not data.whole.synthetic else HOLD
    trading = selected.trading(task.agent_names)
    figures = part_performance(
        name,
        played,
        histograms,
        trading,
        factor=data.factor,
        reference=reference,
    )
    gate = judge_actions(agents.action, histograms, figures.trades_per_1000, action)
    if not any(selected.trades):
        return figures, not_applied(gate)
    return figures, not_applied(gate, DIVIDES) if isinstance(task, PortfolioTask) else gate
