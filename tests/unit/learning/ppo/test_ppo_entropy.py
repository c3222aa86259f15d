"""Entropy of numeric actions against integration, and a KL stop that is each agent's own."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.action_policy import entropy_of
from tradingbot.learning.generators import make_generator
from tradingbot.learning.ppo import PPO, PPOConfig
from tradingbot.learning.schedules import constant
from tradingbot.networks.distributions import SquashedGaussian
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

_DRAWS = 200_000
LOW, HIGH = -1.0, 2.0


def integrated_entropy(mean: float, std: float) -> float:
    """Return −∫ p ln p over the actions themselves, by the midpoint rule; float64."""
    cells = 400_000
    share = (torch.arange(cells, dtype=torch.float64) + 0.5) / cells
    unsquashed = torch.atanh(2.0 * share - 1.0)
    density = torch.distributions.Normal(mean, std).log_prob(unsquashed).exp()
    # dy/du of y = low + (high − low)(tanh u + 1) / 2
    density = density / (0.5 * (HIGH - LOW) * (1.0 - (2.0 * share - 1.0) ** 2))
    width = (HIGH - LOW) / cells
    assert density.sum().item() * width == pytest.approx(1.0, abs=1e-3)
    return -torch.special.xlogy(density, density).sum().item() * width


@pytest.mark.parametrize(("mean", "std"), [(0.0, 0.3), (0.8, 0.9)])
def test_entropy_of_squashed_gaussian_agrees_with_integration(mean: float, std: float) -> None:
    shape = (1, _DRAWS)
    log_std = torch.full(shape, std).log()
    policy = SquashedGaussian(torch.full(shape, mean), log_std, LOW, HIGH)

    made = entropy_of(policy, make_generator(3, "entropy")).double()

    error = made.std().item() / _DRAWS**0.5
    assert error < 0.01
    assert abs(made.mean().item() - integrated_entropy(mean, std)) < 4.0 * error + 1e-5


HEAD = HeadConfig(hidden=(8,), pooling="independent")
CONFIG = PPOConfig(
    actor=HEAD,
    critic=HEAD,
    rollout_steps=16,
    n_epochs=4,
    minibatch=16,
    learning_rate=constant(1e-3),
    weight_decay=0.1,
    kl_stop=1.0,
)


def learner(config: PPOConfig) -> PPO:
    task = SignalTask(2, 4)
    return PPO(task, TableView(task.table), config, seed=1)


def test_agent_beyond_the_kl_limit_stops_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the second agent drew is told as twenty times less probable than it was."""
    ppo, free = learner(CONFIG), learner(replace(CONFIG, kl_stop=0.0))
    before = {name: p.detach().clone() for name, p in ppo.network.named_parameters()}
    for each in (ppo, free):
        inner = each._choose

        def choose(seen, inner=inner):
            choice = inner(seen)
            told = choice.log_prob.clone()
            told[1] -= 3.0
            return choice._replace(log_prob=told)

        monkeypatch.setattr(each, "_choose", choose)

    stopped, went_on = ppo.update().metrics, free.update().metrics

    assert stopped["policy/update_share"].tolist() == [1.0, 0.0]
    assert went_on["policy/update_share"].tolist() == [1.0, 1.0]
    for (name, now), other in zip(
        ppo.network.named_parameters(), free.network.parameters(), strict=True
    ):
        assert torch.equal(now[1], before[name][1]), name
        assert not torch.equal(now[0], before[name][0]), name
        assert torch.equal(now[0], other[0]), name
        assert not torch.equal(other[1], before[name][1]), name
