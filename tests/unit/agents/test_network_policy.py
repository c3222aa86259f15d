"""Trained heads trade in a rollout as they do in the task they were trained on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fixtures.trading_worlds import small_world
from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.evaluation.rollout import roll_out, sleeve_config
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.playing import play
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import TableView


def learner() -> Direct:
    """Return an untrained learner whose agents differ."""
    config = sleeve_config()
    episode = replace(config.rules.episode, episode_bars=20)
    config = replace(config, rules=replace(config.rules, episode=episode))
    task = PopulationTask(small_world(), config, n_envs=2, seed=0).showing("size", "drawdown")
    head = HeadConfig(hidden=(8,), deviation_scale=1.0, output_gain=2.0)
    return Direct(task, TableView(task.table), DirectConfig(actor=head), seed=1)


def policy_of(direct: Direct, **changes) -> NetworkPolicy:
    """Return its heads as a policy."""
    actor = direct.networks()["actor"]
    assert isinstance(actor, StackedHead)
    options = {"private": ("size", "drawdown")} | changes
    return NetworkPolicy(
        TableView(direct.task.table), actor, Squash("sigmoid", 4.0, levels=2), **options
    )


def test_rollout_of_the_policy_equals_the_backtest_of_the_learner() -> None:
    direct, world = learner(), small_world()
    rolled = roll_out(world, sleeve_config(), {"network": policy_of(direct)})
    task = evaluation_task(world, sleeve_config(), dtype=torch.float64).showing("size", "drawdown")
    played = play(task, direct.act, task.episode_bars)
    assert np.allclose(rolled.equity[:, 0] / 1e5, played.wealth[..., 0].numpy(), rtol=1e-9)
    assert played.traded.float().mean() > 0.02


def test_agents_that_do_not_trade_stay_flat() -> None:
    trades = torch.tensor([True, False, True])
    rolled = roll_out(small_world(), sleeve_config(), {"n": policy_of(learner(), trades=trades)})
    moved = (rolled.equity[:, 0] != 1e5).any(axis=0)
    assert moved.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("squash", "expected"),
    [
        (Squash(), [0.5, 1.0, 0.0]),
        (Squash("tanh", low=-1.0), [0.0, 1.0, -1.0]),
        (Squash("sigmoid", levels=3), [0.5, 1.0, 0.0]),
    ],
)
def test_outputs_are_squashed_into_the_range(squash: Squash, expected: list[float]) -> None:
    found = squash(torch.tensor([0.0, 50.0, -50.0]))
    torch.testing.assert_close(found, torch.tensor(expected))
    assert float(Squash("sigmoid", 4.0)(torch.tensor(0.25))) == pytest.approx(0.731059)


def test_policy_that_does_not_fit_is_refused() -> None:
    direct = learner()
    with pytest.raises(ConfigError, match=r"'sise'.*size"):
        policy_of(direct, private=("sise",))
    with pytest.raises(ConfigError, match="must read the view"):
        policy_of(direct, private=("size",))
    with pytest.raises(ConfigError, match="one for each agent"):
        policy_of(direct)(
            PolicyInputs(torch.zeros(2).long(), torch.zeros(2), torch.zeros(2), torch.zeros(18, 2))
        )
    with pytest.raises(ConfigError, match="levels"):
        Squash(levels=1)


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
def test_policy_computes_what_the_head_computes(pooling: str, activation: str) -> None:
    draws = torch.Generator().manual_seed(3)
    table = torch.randn(3, 5, 4, generator=draws)
    head = HeadConfig(hidden=(8, 6), pooling=pooling, activation=activation, deviation_scale=1.0)  # type: ignore[arg-type]
    actor = StackedHead(3, 5, 1, head, draws)
    with torch.no_grad():
        for parameter in actor.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=draws))
    policy = NetworkPolicy(TableView(table), actor, Squash(), private=("size",))
    row = torch.tensor([0, 5, 10, 2, 8, 14])  # two accounts of each agent
    private = torch.zeros(18, 6)
    private[0] = torch.rand(6, generator=draws)

    found = policy(PolicyInputs(row, torch.zeros(6, 1), torch.zeros(6, 1), private))

    inputs = torch.cat([table.view(15, 4)[row], private[0][:, None]], dim=-1)
    expected = actor(inputs.view(2, 3, 5).transpose(0, 1))[..., 0].T.reshape(-1)
    torch.testing.assert_close(found, torch.sigmoid(expected.detach()), rtol=1e-6, atol=0.0)
    assert len(found.unique()) == 6
