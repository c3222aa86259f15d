"""Direct gradients flow through what is held: an early action answers for later bars."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import TaskState, TaskStep
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

BARS = 4
COST = 0.5


class RecordingTask(SignalTask):
    """Keeps the actions it is told, with their gradients; nothing is earned, changes cost."""

    def __init__(self) -> None:
        super().__init__(2, 3, cost=COST, episode_bars=64)
        self.next_return = torch.zeros_like(self.next_return)
        self.told: list[Tensor] = []

    def differentiable_step(self, state: TaskState, action: Tensor) -> TaskStep:
        action.retain_grad()
        self.told.append(action)
        return super().differentiable_step(state, action)


@pytest.fixture
def learner() -> Direct:
    task = RecordingTask()
    config = DirectConfig(
        actor=HeadConfig(hidden=(4,), output_gain=1.0),
        objective="reward",
        chunk_bars=BARS,
        learning_rate=constant(0.0),
    )
    return Direct(task, TableView(task.table), config, seed=2)


def differentiate(learner: Direct, bar: int) -> list[Tensor | None]:
    """Play a chunk; return gradients (N, B) of one bar's reward by the action of each bar."""
    made, _ = learner._play()
    reward = made[bar][1].reward
    actions = [action for action, _ in made]
    return list(torch.autograd.grad(reward.sum(), actions, allow_unused=True))


def test_reward_of_the_second_bar_depends_on_the_action_of_the_first(learner: Direct) -> None:
    first, second, *later = differentiate(learner, bar=1)

    assert first is not None
    assert second is not None
    # Own cost of the change: −cost · sign(a₁ − a₀); what the first adds also passes the policy,
    # which sees what is held.
    assert (first != 0.0).all()
    torch.testing.assert_close(second.abs(), torch.full_like(second, COST))
    assert later == [None, None]


def test_gradient_by_the_first_action_is_the_difference_quotient(learner: Direct) -> None:
    """Of everything that follows, through the position and through what the policy then sees."""
    made, _ = learner._play()
    total = torch.stack([step.reward for _, step in made]).sum(0)
    (found,) = torch.autograd.grad(total.sum(), made[0][0])

    def worth(first: Tensor) -> Tensor:
        state, seen = learner.task.begin()
        action, summed = first, torch.zeros_like(first)
        for _ in range(BARS):
            step = learner.task.step(state, action)
            summed, state, seen = summed + step.reward, step.state, step.observation
            action = learner.sample(seen)
        return summed

    with torch.no_grad():
        first, small = made[0][0].detach(), 1e-3
        quotient = (worth(first + small) - worth(first - small)) / (2.0 * small)
    torch.testing.assert_close(found, quotient, rtol=0.02, atol=2e-3)
    # The first bar alone would say −cost, whatever comes later.
    assert ((found + COST).abs() > 0.05).any()


def test_update_gives_the_first_action_its_share_of_later_rewards(learner: Direct) -> None:
    """In units of the loss: the mean over bars, environments and agents, with its sign changed."""
    learner.update()

    task = learner.task
    assert isinstance(task, RecordingTask)
    found = task.told[0].grad
    assert found is not None
    alone = COST / (BARS * task.n_envs * len(task.agent_names))
    assert ((found - alone).abs() > 0.1 * alone).any()


def test_gradient_does_not_reach_into_the_chunk_before(learner: Direct) -> None:
    first, _ = learner._play()
    second, _ = learner._play()
    total = torch.stack([step.reward for _, step in second]).sum()

    gradients = torch.autograd.grad(total, [action for action, _ in first], allow_unused=True)

    assert gradients == (None,) * BARS
