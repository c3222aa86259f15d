"""Learned shaping moves no best policy, learns what states are worth, and adapts its weight."""

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
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.reward_transform import CollectedSteps, transform_rewards
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.shaping.config import ShapingConfig
from tradingbot.learning.shaping.transform import LearnedShaping, PotentialInputs
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(8,))
LEARNERS: dict[str, Any] = {
    "ppo": PPOConfig(actor=HEAD, critic=HEAD, rollout_steps=8, n_epochs=2, minibatch=16),
    "sac": SACConfig(
        actor=HEAD, critic=HEAD, buffer_size=256, warm_up=8, batch_size=8, steps_per_update=8
    ),
}
SMALL = ShapingConfig(weight=0.1, warm_up=16, batches=2, batch_size=16, hidden=(8,))
GAMMA = 0.9


def shaping(
    task: SignalTask, config: ShapingConfig = SMALL, discount: float = GAMMA
) -> LearnedShaping:
    inputs = PotentialInputs(task.table.flatten(0, 1)[:, :3], position=0, growth=0)
    return LearnedShaping(task, inputs, config, discount=discount, seed=3)


def all_transitions(n_states: int, *, ends: bool, truncated: bool = False) -> CollectedSteps:
    """Every pair of states as one step each of one agent: (S², 1, 1)."""
    state = torch.arange(n_states)
    before = state.repeat_interleave(n_states)[:, None, None]
    after = state.repeat(n_states)[:, None, None]
    private = torch.zeros(*before.shape, 1)
    over = (after == n_states - 1) & torch.tensor(ends)
    zeros, flat = torch.zeros(before.shape), torch.zeros(before.shape, dtype=torch.bool)
    late = (after == n_states - 1) & torch.tensor(truncated)
    return CollectedSteps(before, private, zeros, zeros, after, private, over, flat | late)


def best_policy(reward: Tensor, move: Tensor, *, ends: bool) -> tuple[Tensor, Tensor]:
    """Return greedy actions (S,) and values (S, A) of rewards (S, S′) by value iteration.

    `move` (S, A, S′) are probabilities; the last state is the end where there is one.
    """
    follows = torch.ones(move.shape[-1], dtype=torch.float64)
    if ends:
        follows[-1] = 0.0
    value = torch.zeros(len(move), dtype=torch.float64)
    for _ in range(400):
        worth = (move * (reward[:, None] + GAMMA * follows * value)).sum(-1)
        value = worth.amax(-1)
    return worth.argmax(-1), worth


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_best_policies_of_small_problems_are_unchanged(ends: bool, seed: int) -> None:
    draws, n_states = torch.Generator().manual_seed(seed), 6
    move = torch.rand(n_states, 3, n_states, generator=draws, dtype=torch.float64) ** 4
    move /= move.sum(-1, keepdim=True)
    reward = torch.randn(n_states, n_states, generator=draws, dtype=torch.float64)
    task = SignalTask(1, 1, n_bars=64)
    shaped = shaping(task, replace(SMALL, warm_up=0))
    shaped.adapted.weight.fill_(20.0)
    shaped.adapted.unit.fill_(1.0)
    change = transform_rewards(shaped, all_transitions(n_states, ends=ends)).view(n_states, -1)
    assert change.abs().max() > 0.5

    plain, worth = best_policy(reward, move, ends=ends)
    moved, shaped_worth = best_policy(reward + change.double(), move, ends=ends)

    live = slice(None, -1 if ends else None)
    assert torch.equal(plain[live], moved[live])
    # Values move by the potential of the state alone, the same for every action.
    gap = (worth - shaped_worth)[live]
    torch.testing.assert_close(gap, gap[:, :1].expand_as(gap), atol=1e-4, rtol=0.0)


def test_potential_is_zero_after_a_failure_and_not_after_a_truncation() -> None:
    task = SignalTask(1, 1, n_bars=64)
    shaped = shaping(task, replace(SMALL, warm_up=0))
    shaped.adapted.unit.fill_(1.0)
    paid = {
        name: transform_rewards(shaped, all_transitions(4, **kind))[:, 0, 0].view(4, 4)
        for name, kind in {
            "failed": {"ends": True},
            "late": {"ends": False, "truncated": True},
            "open": {"ends": False},
        }.items()
    }

    assert torch.equal(paid["late"], paid["open"])
    assert torch.equal(paid["failed"][:, :-1], paid["open"][:, :-1])
    potential = shaped._value(torch.arange(4)[:, None, None], torch.zeros(4, 1, 1, 1)).flatten()
    expected = -0.1 * potential
    torch.testing.assert_close(paid["failed"][:, -1], expected.detach())
    assert not torch.allclose(paid["open"][:, -1], expected)


def test_steps_that_took_a_while_are_discounted_by_their_own() -> None:
    task = SignalTask(1, 1, n_bars=64)
    shaped = shaping(task, replace(SMALL, warm_up=0))
    shaped.adapted.unit.fill_(1.0)
    steps = all_transitions(4, ends=False)
    long = steps._replace(discount=torch.full(steps.reward.shape, GAMMA**3))
    other = shaping(task, replace(SMALL, warm_up=0), discount=GAMMA**3)
    other.adapted.unit.fill_(1.0)

    torch.testing.assert_close(transform_rewards(shaped, long), transform_rewards(other, steps))
    assert not torch.allclose(transform_rewards(shaped, steps), transform_rewards(shaped, long))


def held(task: SignalTask, action: float, n_steps: int = 16, gain: float = 0.0) -> CollectedSteps:
    """Steps of one action for ever; the private number grows by `gain` and a little noise."""
    generator = torch.Generator().manual_seed(5)
    state, seen = task.begin()
    made = []
    for _ in range(n_steps):
        drawn = torch.rand(seen.row.shape, generator=generator)
        act = torch.full(seen.row.shape, action) if action >= 0.0 else drawn
        step = task.step(state, act)
        after = (1.0 + seen.private) * (1.0 + gain + 1e-3 * drawn[..., None]) - 1.0
        parts = (step.final_row, after, step.terminated, step.truncated)
        made.append((seen.row, seen.private, act, step.reward, *parts))
        state, seen = step.state, step.observation
    return CollectedSteps(*(torch.stack(column) for column in zip(*made, strict=True)))


def test_weight_rises_where_actions_are_few_and_falls_where_the_sharpe_ratio_is_high() -> None:
    task = SignalTask(2, 4)
    weights = {}
    for name, action, gain in (("few", 0.5, -0.01), ("rich", -1.0, 0.01), ("usual", -1.0, -0.01)):
        shaped = shaping(task, replace(SMALL, warm_up=100))
        for _ in range(4):  # 64 steps of an agent each: the first is within the warm-up
            shaped.learn(held(task, action, gain=gain))
        weights[name] = shaped.adapted.weight
    torch.testing.assert_close(weights["few"], torch.full((2,), 0.13))
    torch.testing.assert_close(weights["rich"], torch.full((2,), 0.07))
    torch.testing.assert_close(weights["usual"], torch.full((2,), 0.10))

    capped = shaping(task, replace(SMALL, warm_up=0, max_weight=0.11))
    for _ in range(4):
        capped.learn(held(task, 0.5, gain=-0.01))
    torch.testing.assert_close(capped.adapted.weight, torch.full((2,), 0.11))


def test_nothing_is_paid_before_the_warm_up_and_something_after() -> None:
    task = SignalTask(2, 4)
    shaped, steps = shaping(task, replace(SMALL, warm_up=64)), held(task, -1.0)
    assert torch.equal(transform_rewards(shaped, steps), steps.reward)
    shaped.learn(steps)
    assert not torch.equal(transform_rewards(shaped, steps), steps.reward)


def test_potential_learns_what_states_are_worth() -> None:
    task = SignalTask(1, 32, kappa=1.0, cost=0.0)
    config = replace(SMALL, batches=20, batch_size=128, learning_rate=0.01)
    shaped, steps = shaping(task, config), held(task, 1.0, n_steps=32)
    losses = [float(shaped.learn(steps)["shaping/loss"]) for _ in range(8)]

    with torch.no_grad():
        known, _ = shaped._potentials(steps)
    signal = task.table.flatten(0, 1)[steps.row, 0]
    assert losses[-1] < 0.9 * losses[0]
    assert torch.corrcoef(torch.stack([known.flatten(), signal.flatten()]))[0, 1] > 0.6


def build(name: str) -> Learner:
    task = SignalTask(2, 4)
    made = shaping(task, discount=LEARNERS[name].discount)
    view = TableView(task.table)
    return learner_spec(name).build(task, view, LEARNERS[name], seed=1, reward_transform=made)


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(t, other[k]) for k, t in one.items())


@pytest.mark.parametrize("name", ["ppo", "sac"])
def test_learner_with_shaping_resumes_bit_for_bit(name: str) -> None:
    learner = build(name)
    for _ in range(2):
        learner.update()
    stored = learner.state()
    for _ in range(2):
        learner.update()
    resumed = build(name)
    resumed.load_state(stored)
    for _ in range(2):
        resumed.update()

    assert same(learner.state(), resumed.state())
    owned = {k for k in stored if k.startswith("reward_transform/")}
    assert {"reward_transform/adapted/weight", "reward_transform/batches"} <= owned


def test_potential_reads_the_trend_by_the_side_of_the_position() -> None:
    task = SignalTask(1, 1, n_bars=64)
    shaped, row = shaping(task), torch.arange(3)[:, None, None]

    read = {at: shaped._read(row, torch.full((3, 1, 1, 1), at)) for at in (-0.5, 0.0, 0.5)}

    levels = task.table.flatten(0, 1)[:3, None, None, :3]
    for at, seen in read.items():
        torch.testing.assert_close(seen[..., :2], levels[..., :2])
        torch.testing.assert_close(seen[..., 2:-1], levels[..., 2:] * at)
        torch.testing.assert_close(seen[..., -1], torch.full((3, 1, 1), at))


def test_sharpe_ratio_is_annualised_by_the_root_of_bars_per_year() -> None:
    task = SignalTask(2, 4)
    steps = held(task, -1.0, gain=0.01)
    once, four = (
        shaping(task, replace(SMALL, bars_per_year=bars))._sharpe(steps) for bars in (100.0, 400.0)
    )
    growth = (1.0 + steps.final_private[..., 0]) / (1.0 + steps.private[..., 0]) - 1.0
    by_agent = growth.transpose(0, 1).flatten(1)
    expected = 10.0 * by_agent.mean(1) / by_agent.std(1, correction=0)
    torch.testing.assert_close(once, expected, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(four, 2.0 * once)
