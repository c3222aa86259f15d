"""Objectives are weighed by what they are worth to growth, not by what they pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.catalogue import learner_spec
from tradingbot.learning.learner import Learner
from tradingbot.learning.objectives.config import ObjectivesConfig
from tradingbot.learning.objectives.transform import LearnedObjectives, Objectives
from tradingbot.learning.objectives.weights import limit_weights, scale_weights
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.reward_transform import CollectedSteps, transform_rewards
from tradingbot.learning.sac.config import SACConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(8,))
LEARNERS: dict[str, Any] = {
    "ppo": PPOConfig(actor=HEAD, critic=HEAD, rollout_steps=8, n_epochs=2, minibatch=16),
    "sac": SACConfig(
        actor=HEAD, critic=HEAD, buffer_size=256, warm_up=8, batch_size=8, steps_per_update=8
    ),
}
SMALL = ObjectivesConfig(enabled=True, hidden=(8,), batches=2, batch_size=64)
NAMES, FIRST = ("profit", "risk", "exploration"), (0.4, 0.3, 0.3)


def made(config: ObjectivesConfig = SMALL, *, wild: bool = False) -> LearnedObjectives:
    task = SignalTask(2, 4)
    volatile = torch.full((task.table[..., 0].numel(),), wild)
    told = Objectives(NAMES, (0, 1, 2), FIRST, growth=0, volatile=volatile)
    return LearnedObjectives(task, told, config, discount=0.5, seed=3)


def steps_of(seed: int, *, by_state: bool = False) -> CollectedSteps:
    """Growth at random; profit follows it, risk opposes it, exploration pays much for nothing.

    With `by_state` profit follows growth where the state is above 0, and risk elsewhere.
    """
    draws, shape = torch.Generator().manual_seed(seed), (32, 2, 4)
    growth = 0.01 * torch.randn(shape, generator=draws)
    state = torch.randint(0, 500, shape, generator=draws)
    before = torch.zeros(*shape, 1)
    side = torch.where(SignalTask(2, 4).table.flatten(0, 1)[state, 0] > 0.0, 1.0, -1.0)
    noise = 0.01 * torch.randn(3, *shape, generator=draws)
    profit = growth * (side if by_state else 1.0) + noise[0]
    risk = -growth * (side if by_state else 1.0) + noise[1]
    easy = 1.0 + 50.0 * noise[2]
    terms = torch.stack([0.4 * profit, 0.3 * risk, 0.3 * easy], dim=1)
    never = torch.zeros(shape, dtype=torch.bool)
    after = growth.exp()[..., None] - 1.0
    return CollectedSteps(
        state, before, torch.rand(shape), terms.sum(1), state, after, never, never, terms
    )


def weights_after(transform: LearnedObjectives, updates: int, **kind: bool) -> Tensor:
    for number in range(updates):
        transform.learn(steps_of(number, **kind))
    return transform.weigh(steps_of(10_000, **kind))


def test_weights_cannot_cheat_by_preferring_the_objective_that_pays_most() -> None:
    steps = steps_of(0)
    paid = steps.terms.mean((0, 2, 3)) / torch.tensor(FIRST)  # type: ignore[union-attr]
    assert paid.argmax() == 2  # the weighted sum itself would prefer it, by far
    assert paid[2] > 50.0 * paid[0].abs()

    weight = weights_after(made(replace(SMALL, learning_rate=0.01)), 60).mean((0, 1, 2))

    assert weight[0] > 0.5  # what lets the account grow
    assert weight[1] < 0.25  # what opposes it
    assert weight[2] < FIRST[2]


@pytest.mark.parametrize("critics", [False, True])
def test_weights_follow_the_state(critics: bool) -> None:
    config = replace(SMALL, learning_rate=0.01, critics=critics)
    transform = made(config)
    weight = weights_after(transform, 100, by_state=True)
    state = steps_of(10_000, by_state=True).row
    above = SignalTask(2, 4).table.flatten(0, 1)[state, 0] > 0.5
    below = SignalTask(2, 4).table.flatten(0, 1)[state, 0] < -0.5

    assert weight[above][:, 0].mean() > weight[below][:, 0].mean() + 0.15
    assert weight[below][:, 1].mean() > weight[above][:, 1].mean() + 0.15


def test_no_objective_weighs_more_than_the_limit() -> None:
    weight = weights_after(made(replace(SMALL, learning_rate=0.05, pull=0.0)), 60)
    free = weights_after(made(replace(SMALL, learning_rate=0.05, pull=0.0, max_weight=1.0)), 60)

    assert weight.max() <= 0.6 + 1e-6
    assert free.max() > 0.8
    torch.testing.assert_close(weight.sum(-1), torch.ones(weight.shape[:-1]))


def test_limit_keeps_proportions_and_leaves_what_is_below_it() -> None:
    weight = torch.tensor([[0.8, 0.15, 0.05], [0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    limited = limit_weights(weight, 0.6)
    torch.testing.assert_close(limited[0], torch.tensor([0.6, 0.3, 0.1]))
    assert torch.equal(limited[1], weight[1])
    assert limited[2, 0] == pytest.approx(0.6)


def test_wild_markets_weigh_risk_more_and_profit_less() -> None:
    calm, wild = (made(wild=each).weigh(steps_of(0)).mean((0, 1, 2)) for each in (False, True))
    torch.testing.assert_close(calm, torch.tensor(FIRST), atol=2e-3, rtol=0.0)
    expected = scale_weights(torch.tensor(FIRST), torch.tensor([0.8, 1.5, 1.0]))
    torch.testing.assert_close(wild, expected, atol=2e-3, rtol=0.0)


def test_reward_is_the_tasks_own_at_first_and_weights_pull_back() -> None:
    steps = steps_of(0)
    torch.testing.assert_close(transform_rewards(made(), steps), steps.reward, atol=5e-3, rtol=5e-3)
    free, pulled = (
        weights_after(made(replace(SMALL, learning_rate=0.05, pull=pull, max_weight=1.0)), 60)
        for pull in (0.0, 5.0)
    )
    first = torch.tensor(FIRST)
    assert (pulled - first).abs().mean() < 0.5 * (free - first).abs().mean()


def build(name: str) -> Learner:
    task = SignalTask(2, 4)
    volatile = torch.zeros(task.table[..., 0].numel(), dtype=torch.bool)
    told = Objectives(("profit", "risk"), (0, 1), (0.5, 0.5), growth=0, volatile=volatile)
    config = replace(SMALL, critics=True)
    settings = LEARNERS[name]
    transform = LearnedObjectives(task, told, config, discount=settings.discount, seed=3)
    view = TableView(task.table)
    return learner_spec(name).build(task, view, settings, seed=1, reward_transform=transform)


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(t, other[k]) for k, t in one.items())


@pytest.mark.parametrize("name", ["ppo", "sac"])
def test_learner_with_objectives_resumes_bit_for_bit(name: str) -> None:
    learner = build(name)
    for _ in range(2):
        learner.update()
    stored = learner.state()
    told = [learner.update() for _ in range(2)]
    resumed = build(name)
    resumed.load_state(stored)
    for _ in range(2):
        resumed.update()

    assert same(learner.state(), resumed.state())
    assert "objectives/weight/profit" in told[-1].metrics
    assert any(key.startswith("reward_transform/critics/") for key in stored)


def test_wild_markets_keep_to_the_limit() -> None:
    config = replace(SMALL, risk_factor=50.0)
    weight = made(config, wild=True).weigh(steps_of(0))

    torch.testing.assert_close(weight[..., 1].amax(), torch.tensor(0.6))


def test_critics_of_objectives_learn_what_was_paid_and_what_follows() -> None:
    """Without traces a target is the reward in its units, and γ times the value of what follows."""
    weigher = made(replace(SMALL, critics=True, decay=0.0))
    steps, streams = (
        steps_of(0),
        torch.randn(32, 4, 2, 4, generator=torch.Generator().manual_seed(1)),
    )
    with torch.no_grad():
        _, target = weigher._advantages(steps, streams)
        (critic,) = weigher._critics
        after = weigher._judge(critic, steps.final_row, steps.final_private)

    unit = streams.transpose(0, 1).flatten(3).std((1, 3), correction=0)
    expected = streams / unit[..., None] + 0.5 * after
    assert after.abs().mean() > 0.01
    torch.testing.assert_close(target, expected.movedim(1, -1))
