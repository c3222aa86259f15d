"""What is kept of a trained policy: everything, or what validation decides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from tradingbot.app.training.data import DECIDING_BLOCKS, TrainingData, halves
from tradingbot.app.training.wiring import Wired, part_task
from tradingbot.learning.shrinkage import Act, ShrinkageConfig, apply, decide, staying_out

DECIDED_ON = "the second half of validation"
"""Bars that decide; the first half chose the weights, and is used up."""


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of a policy."""

    act: Act
    trades: list[bool]
    """Of each agent, whether it trades."""
    words: str

    def trading(self, symbols: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of those who trade."""
        return tuple(name for name, does in zip(symbols, self.trades, strict=True) if does)


def keep_everything(wired: Wired) -> Kept:
    """Keep the policy as it was learned."""
    learner = wired.learner
    return Kept(learner.act, [True] * len(learner.task.agent_names), "as it was learned")


def keep_nothing(wired: Wired) -> Kept:
    """Let nobody trade: there are no weights that were ever found healthy."""
    learner = wired.learner
    n_agents, action = len(learner.task.agent_names), learner.task.action
    act = staying_out(learner.act, torch.zeros(n_agents, dtype=torch.bool), action)
    words = (
        f"all {n_agents} agents stay out: no evaluation on validation was healthy, so there are no "
        "best weights to judge"
    )
    return Kept(act, [False] * n_agents, words)


def keep_what_validation_supports(wired: Wired, data: TrainingData) -> Kept:
    """Let the second half of validation decide; what is not kept is gone from the learner."""
    learner = wired.learner
    task = part_task(wired, data, halves(data.split.validation)[1])
    usual = ShrinkageConfig()
    blocks = replace(
        usual, block_bars=max(1, min(usual.block_bars, task.episode_bars // DECIDING_BLOCKS))
    )
    found = replace(decide(learner, task, task.episode_bars, blocks), judged_on=DECIDED_ON)
    apply(learner.networks(), found)
    act = staying_out(learner.act, found.trades, task.action)
    return Kept(act, [bool(does) for does in found.trades.tolist()], found.words)
