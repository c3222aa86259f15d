"""What is kept of a trained policy: everything, or what validation decides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from tradingbot.learning.shrinkage import Act, ShrinkageConfig, apply, decide, staying_out
from tradingbot.training.data import DECIDING_BLOCKS, TrainingData, halves
from tradingbot.training.prepared_setup import TrainingSetup, part_task

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
    words = (
        f"all {n_agents} agents stay out: no evaluation on validation was healthy, so there are no "
        "best weights to judge"
    )
    return SelectedPolicy(act, [False] * n_agents, words)


def select_by_validation(setup: TrainingSetup, data: TrainingData) -> SelectedPolicy:
    """Let the second half of validation decide; what is not kept is gone from the learner."""
    learner = setup.learner
    task = part_task(setup, data, halves(data.split.validation)[1])
    usual = ShrinkageConfig()
    blocks = replace(
        usual, block_bars=max(1, min(usual.block_bars, task.episode_bars // DECIDING_BLOCKS))
    )
    found = replace(decide(learner, task, task.episode_bars, blocks), judged_on=DECIDED_ON)
    apply(learner.networks(), found)
    act = staying_out(learner.act, found.trades, task.action)
    return SelectedPolicy(act, [bool(does) for does in found.trades.tolist()], found.words)
