"""PPO learns what is there, and finds nothing where nothing is. Tasks are synthetic."""

from __future__ import annotations

import pytest
import torch

from fixtures.toy_tasks import ClockTask, SignalTask
from tradingbot.learning.entropy_config import EntropyConfig
from tradingbot.learning.playing import play
from tradingbot.learning.ppo import PPO, PPOConfig
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.learning.task import Observation
from tradingbot.networks.head_config import HeadConfig, Pooling
from tradingbot.networks.view import TableView

N_AGENTS, COST = 8, 0.02


def config(pooling: Pooling = "partial", **changed) -> PPOConfig:
    entropy = EntropyConfig(coefficient=constant(0.01), target=0.0, guard_entropy=0.0)
    fields = {
        "actor": HeadConfig((16,), pooling=pooling),
        "critic": HeadConfig((16,), pooling=pooling, output_gain=1.0),
        "rollout_steps": 32,
        "n_epochs": 4,
        "minibatch": 128,
        "discount": 0.9,
        "decay": 0.9,
        "learning_rate": Schedule("linear", 1e-2, 1e-3, over=20 * 32 * 16),
        "deviation_penalty": 0.01,
        "kl_stop": 0.05,
        "entropy": entropy,
        "act_levels": 2,
    }
    return PPOConfig(**(fields | changed))


def task(kappa: float, seed: int, **options) -> SignalTask:
    return SignalTask(
        N_AGENTS, 16, kappa=kappa, cost=COST, seed=seed, n_bars=1024, n_features=3, **options
    )


def out_of_sample(ppo: PPO, test: SignalTask) -> float:
    """Mean reward per step of the deterministic policy on bars it never saw."""
    seen_in_training, ppo.view = ppo.view, TableView(test.table)
    played = play(test, ppo.act, 128)
    ppo.view = seen_in_training
    return played.reward.mean().item()


def oracle(test: SignalTask) -> float:
    """Mean reward of two thresholds on the true signal; a change costs 2 · cost there and back."""
    flat = test.table.reshape(-1, 3)[:, 0]

    def act(seen: Observation) -> torch.Tensor:
        signal = flat[seen.row] * test.signs[:, None]
        held = seen.private[..., 0] > 0.5
        wanted = torch.where(held, signal > -0.05, signal > 0.05)
        return wanted.float() if test.action.kind == "box" else torch.where(wanted, 3, 1)

    return play(test, act, 128).reward.mean().item()


def learn(train: SignalTask, settings: PPOConfig, updates: int = 20) -> PPO:
    ppo = PPO(train, TableView(train.table), settings, seed=3)
    for _ in range(updates):
        ppo.update()
    return ppo


@pytest.mark.parametrize("kind", ["box", "discrete"])
def test_planted_signal_is_learned(kind: str) -> None:
    ppo = learn(task(0.3, seed=1, kind=kind), config())
    test = task(0.3, seed=2, kind=kind)

    assert out_of_sample(ppo, test) > 0.85 * oracle(test)


@pytest.mark.slow
def test_opposed_signs_are_learned_by_partial_pooling_and_not_by_one_head() -> None:
    test = task(0.3, seed=2, opposed=True)

    partial = learn(task(0.3, seed=1, opposed=True), config(), updates=30)
    pooled = learn(task(0.3, seed=1, opposed=True), config("pooled"), updates=30)

    assert out_of_sample(partial, test) > 0.75 * oracle(test)
    assert out_of_sample(pooled, test) < 0.3 * oracle(test)


def test_noise_teaches_to_stay_out_of_costs() -> None:
    ppo = learn(task(0.0, seed=1), config())
    test = task(0.0, seed=2)

    ppo.view = TableView(test.table)
    played = play(test, ppo.act, 128)

    # Rounded actions at random change in half of the steps.
    assert played.traded.float().mean() < 0.2
    # 8 · 1024 returns of deviation 1: nothing is earned beyond four standard errors.
    assert played.reward.mean().abs() < 4.0 / (8 * 1024) ** 0.5


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_critic_learns_that_time_limits_are_no_ends(end: str) -> None:
    clock = ClockTask(end, length=4)
    settings = config(
        "pooled",
        discount=0.5,
        decay=0.5,
        rollout_steps=16,
        minibatch=64,
        learning_rate=constant(1e-2),
        n_epochs=8,
        kl_stop=0.0,
        weight_decay=0.0,
    )
    ppo = PPO(clock, TableView(clock.table), settings, seed=1)
    for _ in range(25):
        ppo.update()

    with torch.no_grad():
        value = ppo._values(torch.arange(4).view(1, 1, 4), torch.zeros(1, 1, 4, 1)).flatten()

    expected = [2.0 - 0.5 ** (3 - k) for k in range(4)] if end == "terminated" else [2.0] * 4
    assert value.tolist() == pytest.approx(expected, abs=0.08)
