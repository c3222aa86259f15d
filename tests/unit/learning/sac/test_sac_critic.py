"""Two critics as one tensor program: equal to plain networks, one by one."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from tradingbot.learning.generators import make_generator
from tradingbot.learning.sac.critic import TwinCritic
from tradingbot.networks.head_config import HeadConfig

N, M, WIDTH = 3, 5, 4
POOLINGS = ("partial", "pooled", "independent")


def make(pooling: str, hidden: tuple[int, ...] = (8, 6)) -> TwinCritic:
    config = HeadConfig(hidden=hidden, activation="relu", pooling=pooling, output_gain=1.0)
    critic = TwinCritic(N, WIDTH, config, make_generator(0, "weights"))
    generator = make_generator(1, "biases")
    for name, parameter in critic.named_parameters():
        if "bias" in name or name == "deviations":
            parameter.data.normal_(generator=generator)
    return critic


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = make_generator(2, "inputs")
    return torch.randn(N, M, WIDTH, generator=generator), torch.randn(N, M, generator=generator)


def plainly(critic: TwinCritic, copy: int, agent: int) -> torch.Tensor:
    """Judge one agent's samples with one copy, layer by layer."""
    x, action = inputs()
    own = critic.config.pooling == "independent"
    place = copy * N + agent if own else copy
    hidden = torch.cat([x[agent], action[agent, :, None]], -1)
    first = torch.cat([critic.observation_weight[place], critic.action_weight[place]])
    for weight, bias in zip(
        [first, *(weight[place] for weight in critic.weights)], critic.biases, strict=True
    ):
        hidden = functional.relu(hidden @ weight + bias[place])
    output = hidden @ critic.output_weight[place] + critic.output_bias[place]
    if critic.config.pooling == "partial":
        output = output + hidden @ critic.directions[copy] @ critic.deviations[copy, agent, :, None]
    return output.squeeze(-1)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("hidden", [(8,), (8, 6), (8, 6, 5)])
def test_critics_equal_plain_networks(pooling: str, hidden: tuple[int, ...]):
    critic = make(pooling, hidden)
    values = critic(*inputs())
    assert values.shape == (2, N, M)
    for copy in range(2):
        for agent in range(N):
            torch.testing.assert_close(values[copy, agent], plainly(critic, copy, agent))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_copies_begin_different(pooling: str):
    values = make(pooling)(*inputs())
    assert not torch.allclose(values[0], values[1])


def test_agents_share_all_but_what_pooling_allows():
    same_x, same_action = (part[:1].expand_as(part).contiguous() for part in inputs())
    for pooling, differ in (("pooled", False), ("partial", True), ("independent", True)):
        values = make(pooling)(same_x, same_action)
        assert torch.allclose(values[:, 0], values[:, 1]) != differ


def test_penalty_is_the_square_of_deviations_of_both_copies():
    critic = make("partial")
    z = critic.deviations.detach()
    assert torch.allclose(critic.penalty(), z[0].square().sum(-1) + z[1].square().sum(-1))
    assert make("pooled").penalty().tolist() == [0.0] * N


@pytest.mark.parametrize("pooling", POOLINGS)
def test_frozen_critics_judge_alike_and_pass_gradients_to_actions_alone(pooling: str):
    critic, (x, action) = make(pooling), inputs()
    action.requires_grad_()
    values = critic(x, action)
    (expected,) = torch.autograd.grad(values.sum(), action)
    frozen = critic.judge(critic.observe(x).detach(), action, frozen=True)
    torch.testing.assert_close(frozen, values)
    frozen.sum().backward()
    torch.testing.assert_close(action.grad, expected)
    assert all(parameter.grad is None for parameter in critic.parameters())
