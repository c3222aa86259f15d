"""Values at the end of an episode: PPO looks at what was seen last, not at the next beginning."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor

from fixtures.toy_tasks import ClockTask
from tradingbot.learning.ppo import PPO, PPOConfig
from tradingbot.learning.task import Observation, TaskState, TaskStep
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

DISCOUNT = 0.5
LENGTH = 4
_LAST, _LAST_PRIVATE = 100.0, 1000.0
"""Worth of the row after the end, and of what is private there."""


class LastLookTask(ClockTask):
    """A clock whose last row and private number are seen nowhere else."""

    def __init__(self, end: Literal["terminated", "truncated"]) -> None:
        super().__init__(end, length=LENGTH)
        self.table = torch.tensor([0.0, 1.0, 2.0, 3.0, _LAST])[None, :, None]

    def observe(self, state: TaskState) -> Observation:
        seen = super().observe(state)
        private = torch.where(seen.row == self.length, _LAST_PRIVATE, 0.0)
        return seen._replace(private=private[..., None])

    def differentiable_step(self, state: TaskState, action: Tensor) -> TaskStep:
        step = super().differentiable_step(state, action)
        return step._replace(reward=torch.zeros_like(action), terms=torch.zeros(1, *action.shape))


def judged(end: Literal["terminated", "truncated"]) -> tuple[PPO, Tensor]:
    """Return PPO with a critic that adds up what it sees, and its targets (S, B)."""
    task = LastLookTask(end)
    head = HeadConfig(hidden=(1,), activation="relu", pooling="pooled")
    config = PPOConfig(
        actor=head,
        critic=head,
        rollout_steps=2 * LENGTH,
        discount=DISCOUNT,
        decay=0.0,
        normalise_values=False,
    )
    ppo = PPO(task, TableView(task.table), config, seed=0)
    with torch.no_grad():
        for weight, bias in zip(ppo.network.critic.weights, ppo.network.critic.biases, strict=True):
            weight.fill_(1.0)
            bias.zero_()
    ppo.set_learning_rate_scale(0.0)
    ppo.update()
    _, target, _ = ppo._judge(ppo._rollout)
    return ppo, target[:, 0]


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_target_at_the_end_is_the_worth_of_what_was_seen_last(end: str) -> None:
    ppo, target = judged(end)  # type: ignore[arg-type]
    age = ppo._rollout.row[:, 0]

    # Without rewards and with λ = 0 a target is γ times the value of what follows.
    following = (age + 1).float()
    at_end = (_LAST + _LAST_PRIVATE) if end == "truncated" else 0.0
    expected = DISCOUNT * torch.where(age == LENGTH - 1, at_end, following)
    assert (age == LENGTH - 1).sum() == 2 * LENGTH
    torch.testing.assert_close(target, expected)
