"""What is kept of a trained policy: everything, or what validation decides."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tradingbot.app.training.data import TrainingData, halves
from tradingbot.app.training.wiring import Wired, part_task
from tradingbot.learning.shrinkage import Act, ShrinkageConfig, apply, decide, staying_out

_BLOCKS = 8
"""Blocks of bars that a decision needs; a short validation part has shorter ones."""


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


def keep_what_validation_supports(wired: Wired, data: TrainingData) -> Kept:
    """Let validation decide; weights that are not kept are gone from the learner."""
    learner = wired.learner
    task = part_task(wired, data, halves(data.split.validation)[1])
    usual = ShrinkageConfig()
    blocks = replace(usual, block_bars=max(1, min(usual.block_bars, task.episode_bars // _BLOCKS)))
    found = decide(learner, task, task.episode_bars, blocks)
    apply(learner.networks(), found)
    act = staying_out(learner.act, found.trades, task.action)
    return Kept(act, [bool(does) for does in found.trades.tolist()], found.words)
