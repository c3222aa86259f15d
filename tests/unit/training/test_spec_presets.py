"""The specification's own stacks: what they hold, and that they train."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.learner import mean_terms
from tradingbot.learning.trainer_tensors import copied_tensors
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.setup import build_training_setup, env_config

TINY: dict[str, object] = {
    "market.start": "2025-06-10",
    "symbols": ["SPY", "AAPL"],
    "splits.by": "ratio",
    "splits.train": 0.8,
    "splits.validation": 0.12,
    "splits.test": 0.08,
    "task.rules.episode.episode_bars": 16,
    "guards.probe_every": 0,
    "encoder.preset": "row",
    "budget.n_envs": 2,
    "budget.steps_per_agent": 64,
    "seed": 5,
    "tracking.mlflow": "off",
    "tracking.tensorboard": "off",
}
SMALL: dict[str, dict[str, object]] = {
    "spec_discrete": {"learner.ppo.rollout_steps": 16},
    "spec_sac": {
        "learner.sac.steps_per_update": 8,
        "learner.sac.warm_up": 16,
        "learner.sac.batch_size": 8,
        "learner.sac.buffer_size": 256,
    },
    "impala": {"learner.impala.rollout_steps": 8, "learner.impala.minibatch": 8},
    "recovery_d": {
        "learner.es.population": 4,
        "learner.es.bars": 8,
        "budget.steps_per_agent": 200,
    },
}
V31 = ("pnl", "cost", "sharpe", "drawdown", "diversity", "repeat", "intrinsic_action")


def test_discrete_stack_is_the_specifications() -> None:
    config = load_train_config("spec_discrete")
    rules, ppo, entropy = config.task.rules, config.learner.ppo, config.learner.ppo.entropy

    assert (rules.action.space, rules.action.max_repeats) == ("discrete", 3)
    assert (rules.limits.max_position_frac, rules.account.position_loss_frac) == (0.15, 0.05)
    assert rules.account.portfolio_loss_frac == 0.2
    assert env_config(config).reward_stack.names == V31
    assert (ppo.rollout_steps, config.budget.n_envs, ppo.minibatch, ppo.n_epochs) == (
        2048,
        8,
        64,
        10,
    )
    assert (ppo.discount, ppo.decay, ppo.gradient_clip, ppo.kl_stop) == (0.99, 0.95, 0.5, 0.015)
    steps = config.budget.steps_per_agent
    assert [round(ppo.clip.at(at), 3) for at in (0, steps)] == [0.3, 0.1]
    assert [entropy.coefficient.at(at) for at in (0, 10_000, 50_000)] == [0.08, 0.08, 0.03]
    assert (entropy.target, entropy.scale, entropy.max_factor, entropy.floor) == (
        0.55,
        0.35,
        3,
        0.02,
    )
    assert (entropy.warm_up, entropy.decay, entropy.guard_entropy) == (4_000, 0.12, 0.22)


def test_continuous_stack_is_the_specifications() -> None:
    config = load_train_config("spec_sac")
    action, sac = config.task.rules.action, config.learner.sac

    assert (action.space, action.hold_zone, action.smoothing_bars) == ("continuous", 0.1, 3)
    assert sac.actor.hidden == sac.critic.hidden == (256, 256, 128)
    assert (config.budget.n_envs, sac.batch_size, sac.buffer_size, sac.warm_up) == (
        16,
        256,
        100_000,
        1_000,
    )
    assert (sac.learning_rate.at(0), sac.target_rate, sac.discount) == (3e-4, 0.005, 0.99)
    # The plan's target of −0.2 nats: numbers in [−1, 1] use ½ · exp(entropy) of their range.
    assert sac.target_normalised_entropy == pytest.approx(0.5 * math.exp(-0.2), abs=1e-3)
    assert env_config(config).reward_stack.names == V31


@pytest.mark.parametrize("name", SMALL)
def test_preset_trains_and_tells_every_term_of_its_reward(name: str, tmp_path: Path) -> None:
    config = load_train_config(name, TINY | SMALL[name])
    learner = build_training_setup(config, open_data(config, tmp_path), seed=5).learner
    before = copied_tensors(learner.networks())

    for _ in range(3):
        update = learner.update()
    recorded = FlightRecorder(learner.task, config.guards).record(update, updates=3, steps=48)

    after = copied_tensors(learner.networks())
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
    assert not all(torch.equal(tensor, before[name]) for name, tensor in after.items())
    terms = mean_terms(learner.task.term_names, update.experience)
    assert list(terms) == [f"reward/{term}" for term in V31]
    total = torch.stack([*terms.values()]).sum(0)
    torch.testing.assert_close(total, update.metrics["rollout/reward"], atol=1e-6, rtol=1e-4)
    assert bool(torch.isfinite(recorded.measures["market/turnover"]).all())
