"""The least deviation that numbers are drawn with while a learner learns."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.ppo import PPO, PPOConfig
from tradingbot.learning.ppo.actor_critic import ActorCritic
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(6,))
SMALL = PPOConfig(actor=HEAD, critic=HEAD, rollout_steps=8, n_epochs=1, minibatch=16, kl_stop=0.0)
SHRINKING = Schedule("linear", 2.0, 0.5, over=64)


def learner(seed: int = 1, kind: str = "box", **settings: object) -> PPO:
    task = SignalTask(2, 4, kind=kind)
    return PPO(task, TableView(task.table), replace(SMALL, **settings), seed=seed)


def deviation(ppo: PPO) -> torch.Tensor:
    return ppo._policy(ppo.task.begin()[1]).log_std.detach().exp()


@pytest.mark.parametrize(
    "action", [ActionSpec(), ActionSpec(n_components=2), ActionSpec.simplex(3)]
)
def test_variances_of_actor_and_setting_are_added_and_gradients_stay(action: ActionSpec) -> None:
    config = replace(SMALL, initial_std=0.3)
    network = ActorCritic(1, 4, action, config, torch.Generator().manual_seed(1))
    inputs, allowed = torch.zeros(1, 1, 4), torch.empty(1, 1, 0)

    network.min_std = 0.4
    policy = network.policy(inputs, allowed)
    policy.log_std.sum().backward()

    assert policy.log_std.exp().flatten().tolist() == pytest.approx(
        [math.hypot(0.3, 0.4)] * policy.log_std.numel(), rel=1e-5
    )
    assert network.actor.biases[-1].grad.abs().sum() > 0.1
    network.min_std = 0.0
    assert network.policy(inputs, allowed).log_std.exp().max().item() == pytest.approx(
        0.3, rel=1e-5
    )


def test_it_follows_its_schedule_through_updates_and_resuming() -> None:
    ppo, resumed = (learner(seed, initial_std=0.01, min_std=SHRINKING) for seed in (1, 2))
    found = []
    for _ in range(3):
        found.append(float(deviation(ppo).mean()))
        ppo.update()

    assert found == pytest.approx([2.0, 1.25, 0.5], rel=0.01)  # 32 steps each
    state = learner(1, initial_std=0.01, min_std=SHRINKING)
    state.update()
    resumed.load_state(state.state())
    assert torch.equal(deviation(resumed), deviation(state))
    assert torch.equal(resumed.sample(resumed._observation), state.sample(state._observation))


def test_off_is_as_it_was_and_codes_have_none() -> None:
    for kind in ("box", "discrete"):
        plain, off = learner(kind=kind), learner(kind=kind, min_std=constant(0.0))
        wide = learner(kind=kind, min_std=constant(3.0))
        for ppo in (plain, off, wide):
            ppo.update()
        same, moved = (
            all(map(torch.equal, plain.state().values(), other.state().values()))
            for other in (off, wide)
        )
        assert same
        assert moved == (kind == "discrete")


def test_rollout_is_learned_from_with_the_deviation_that_it_was_drawn_with() -> None:
    ppo = learner(initial_std=0.01, min_std=SHRINKING)
    drawn, learned = [], []
    choose, learn = ppo._choose, ppo._learn

    def choosing(*args: object) -> object:
        drawn.append(ppo.network.min_std)
        return choose(*args)

    def learning(*args: object) -> object:
        learned.append(ppo.network.min_std)
        return learn(*args)

    ppo._choose, ppo._learn = choosing, learning
    for _ in range(3):
        ppo.update()

    assert learned == pytest.approx([2.0, 1.25, 0.5])
    assert drawn == pytest.approx([each for each in learned for _ in range(8)])
