"""Steps with durations and discounts of their own: hand-made numbers, tables, and learners."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.toy_tasks import SignalTask, WaitingTask
from reference.value_targets import (
    generalized_advantage_by_loop,
    lambda_targets_by_loop,
)
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.entropy_config import EntropyConfig
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.replay import Replay, transitions_of
from tradingbot.learning.rollout import Choice, allocate_rollout, collect_rollout
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import (
    Observation,
    TransitionExtras,
    extras_of,
    transition_discount,
)
from tradingbot.learning.value_targets import generalized_advantage
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

GAMMA = 0.9
WORTH = 1.0 / (1.0 - GAMMA)


def test_targets_with_discounts_per_step_equal_a_hand_made_example() -> None:
    # Three options of 2, 1 and 3 steps; values 10, 20, 30 follow; the last is a rollout's end.
    reward, value_tp1 = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([10.0, 20.0, 30.0])
    never = torch.zeros(3, dtype=torch.bool)
    discount = transition_discount(0.5, torch.tensor([2.0, 1.0, 3.0]), None)
    assert isinstance(discount, torch.Tensor)
    assert discount.tolist() == [0.25, 0.5, 0.125]

    # λ = 1: 3 + ⅛ · 30 = 6.75; 2 + ½ · 6.75 = 5.375; 1 + ¼ · 5.375 = 2.34375.
    found = lambda_targets_by_loop(reward, value_tp1, never, never, discount=discount, decay=1.0)
    assert found.tolist() == [2.34375, 5.375, 6.75]
    # λ = ½, value 8 everywhere: errors 1 + 2.5 − 8, 2 + 10 − 8, 3 + 3.75 − 8.
    for advantage in (generalized_advantage, generalized_advantage_by_loop):
        found = advantage(
            reward, torch.full((3,), 8.0), value_tp1, never, never, discount=discount, decay=0.5
        )
        assert found.tolist() == [-4.5 + 0.125 * (4.0 + 0.25 * -1.25), 4.0 + 0.25 * -1.25, -1.25]


def test_fast_targets_equal_the_loops_with_discounts_per_step() -> None:
    generator = torch.Generator().manual_seed(1)
    reward, value_t, value_tp1 = torch.randn(3, 33, 2, 3, generator=generator).double()
    discount = torch.rand(33, 2, 3, generator=generator).double()
    ended = torch.rand(33, 2, 3, generator=generator) < 0.2
    terminated, truncated = ended & (reward > 0.0), ended & (reward <= 0.0)
    ends = (terminated, truncated)
    torch.testing.assert_close(
        generalized_advantage(reward, value_t, value_tp1, *ends, discount=discount, decay=0.8),
        generalized_advantage_by_loop(
            reward, value_t, value_tp1, *ends, discount=discount, decay=0.8
        ),
    )
    with pytest.raises(ValueError, match="must share one shape"):
        generalized_advantage(reward, value_t, value_tp1, *ends, discount=discount[:5], decay=0.8)


def test_targets_find_the_values_of_options_on_a_chain() -> None:
    # A chain 0 … 4 with an exit behind 4 that pays 1. Option `walk` makes 1 step; option `run`
    # makes 2 steps, or 1 where there is only one. The policy runs from even places, walks else.
    length = torch.tensor([2, 1, 2, 1, 1])  # from 4 the exit is one step away
    place = torch.arange(5)
    after = place + length
    leaves = after >= 5
    reward = leaves.double() * GAMMA ** (length - 1)  # paid at the end of the option
    # By Bellman's equation of options: V = R + γ^k P V, solved as a linear system.
    system = torch.eye(5, dtype=torch.float64)
    for start in range(5):
        if not leaves[start]:
            system[start, after[start]] -= GAMMA ** int(length[start])
    exact = torch.linalg.solve(system, reward)

    # A rollout of one episode from each place, ten times; the critic is a table.
    value = torch.zeros(5, dtype=torch.float64)
    discount = transition_discount(GAMMA, length.double()[:, None], None)
    for _ in range(10):
        value_tp1 = torch.where(leaves, 0.0, value[after.clamp_max(4)])[:, None]
        value = generalized_advantage(
            reward[:, None],
            torch.zeros_like(value_tp1),  # the target itself: what exceeds a value of nothing
            value_tp1,
            leaves[:, None],
            ~leaves[:, None],  # rows are single decisions, not each other's successors
            discount=discount,
            decay=0.0,
        )[:, 0]

    torch.testing.assert_close(value, exact)
    assert exact[3] == pytest.approx(GAMMA * 1.0)  # 3 → 4 → exit, two steps: γ
    assert exact[0] == pytest.approx(GAMMA**4)  # five steps to the exit whatever options do it


def _still(observation: Observation) -> Choice:
    nothing = torch.zeros(observation.row.shape)
    return Choice(nothing, nothing, nothing)


def test_rollouts_keep_what_is_asked_for_and_nothing_else() -> None:
    task = WaitingTask(discount=GAMMA, carries=TransitionExtras(duration=True, discount=True))
    plain, full = allocate_rollout(task, 4), allocate_rollout(task, 4, extras_of(task))
    for rollout in (plain, full):
        collect_rollout(task, *task.begin(), _still, rollout)

    assert (plain.duration, plain.discount, plain.episode, plain.goal, plain.step_terms) == (
        *[None] * 5,
    )
    assert full.duration is not None
    assert full.discount is not None
    assert full.duration[:, 0, 0].tolist() == [1.0, 3.0, 1.0, 3.0]
    torch.testing.assert_close(full.discount, GAMMA**full.duration)
    assert torch.equal(plain.reward, full.reward)


def test_task_that_does_not_deliver_is_refused() -> None:
    task = SignalTask(1, 2)
    with pytest.raises(ConfigError, match=r"must deliver what is kept of its steps: duration"):
        collect_rollout(
            task, *task.begin(), _still, allocate_rollout(task, 2, TransitionExtras(duration=True))
        )


@pytest.mark.parametrize(
    "carries", [TransitionExtras(duration=True), TransitionExtras(discount=True)]
)
def test_replay_gives_durations_and_discounts_back(carries: TransitionExtras) -> None:
    task = WaitingTask(discount=GAMMA, carries=carries)
    replay = Replay(1, task.n_envs, 1, capacity=20, extras=carries)
    state, seen = task.begin()
    for _ in range(6):
        step = task.step(state, torch.zeros(1, task.n_envs))
        replay.insert(transitions_of(seen, torch.zeros(1, task.n_envs), step, carries))
        state, seen = step.state, step.observation

    drawn = replay.sample(50, torch.Generator().manual_seed(1))

    waits = torch.where(drawn.row == 0, 1.0, 3.0)
    if carries.duration:
        assert drawn.discount is None
        assert torch.equal(drawn.duration, waits)
    else:
        assert drawn.duration is None
        torch.testing.assert_close(drawn.discount, GAMMA**waits)


HEAD = HeadConfig(hidden=(16,), output_gain=1.0)


@pytest.mark.parametrize(
    "carries", [TransitionExtras(duration=True), TransitionExtras(discount=True)]
)
def test_ppo_values_waits_by_their_time_not_by_their_number(carries: TransitionExtras) -> None:
    config = PPOConfig(
        actor=HEAD,
        critic=HEAD,
        rollout_steps=32,
        n_epochs=4,
        minibatch=32,
        discount=GAMMA,
        decay=0.9,
        learning_rate=constant(0.02),
        kl_stop=0.0,
        entropy=EntropyConfig(coefficient=constant(0.0), target=0.0, floor=0.0, guard_entropy=0.0),
    )
    task = WaitingTask(discount=GAMMA, carries=carries)
    learner = PPO(task, TableView(task.table), config, seed=1)
    for _ in range(12):
        update = learner.update()
    assert float(update.metrics["value/mean"]) == pytest.approx(WORTH, rel=0.05)

    # One and the same discount for every wait would make it 18.6.
    blind = WaitingTask(discount=GAMMA, carries=TransitionExtras())
    learner = PPO(blind, TableView(blind.table), config, seed=1)
    for _ in range(12):
        update = learner.update()
    assert float(update.metrics["value/mean"]) > 1.5 * WORTH


def test_sac_values_waits_by_their_time_not_by_their_number() -> None:
    config = SACConfig(
        actor=HEAD,
        critic=HEAD,
        discount=GAMMA,
        learning_rate=constant(0.02),
        target_rate=0.1,
        temperature=1e-6,
        tune_temperature=False,
        scale_rewards=False,
        warm_up=8,
        batch_size=32,
        steps_per_update=32,
    )
    worth = {}
    for carries in (TransitionExtras(duration=True), TransitionExtras()):
        task = WaitingTask(discount=GAMMA, carries=carries)
        learner = SAC(task, TableView(task.table), config, seed=1)
        for _ in range(10):
            update = learner.update()
        worth[carries.duration] = float(update.metrics["value/mean"])
    assert worth[True] == pytest.approx(WORTH, rel=0.1)
    assert worth[False] > 1.4 * WORTH


def test_learning_from_steps_of_one_is_as_without_durations() -> None:
    class OneStep(SignalTask):
        carries = TransitionExtras(discount=True)

        def step(self, state, action):  # type: ignore[no-untyped-def]
            made = super().step(state, action)
            return made._replace(discount=torch.full_like(made.reward, 0.99))

    heads = HeadConfig(hidden=(8,))
    config = replace(PPOConfig(), actor=heads, critic=heads, rollout_steps=8, n_epochs=2)
    states = []
    for kind in (SignalTask, OneStep):
        task = kind(2, 4)
        learner = PPO(task, TableView(task.table), config, seed=1)
        for _ in range(3):
            learner.update()
        states.append(learner.state())
    for key, tensor in states[0].items():
        torch.testing.assert_close(tensor, states[1][key], rtol=1e-4, atol=1e-6)
