"""The four formulas, against numbers worked out by hand and against autograd."""

from __future__ import annotations

import pytest
import torch

from tradingbot.learning.sac.loss import actor_loss, critic_loss, critic_target, temperature_loss

TEMPERATURE = torch.tensor([0.5, 2.0])


def test_target_takes_the_smaller_critic_and_the_entropy_of_each_agent():
    target = critic_target(
        torch.tensor([[1.0], [1.0]]),
        torch.ones(2, 1),
        torch.tensor([[[3.0], [7.0]], [[4.0], [5.0]]]),
        torch.tensor([[-1.0], [0.5]]),
        temperature=TEMPERATURE,
        discount=0.9,
    )
    expected = [1 + 0.9 * (3 + 0.5), 1 + 0.9 * (5 - 1.0)]
    assert target.flatten().tolist() == pytest.approx(expected)


def test_target_after_a_failure_is_the_reward_alone():
    target = critic_target(
        torch.tensor([[1.0, 1.0]]),
        torch.tensor([[0.0, 1.0]]),
        torch.full((2, 1, 2), 10.0),
        torch.zeros(1, 2),
        temperature=torch.ones(1),
        discount=0.5,
    )
    assert target.tolist() == [[1.0, 6.0]]


def test_critic_loss_adds_both_critics_and_averages_samples():
    value = torch.tensor([[[1.0, 3.0]], [[2.0, 2.0]]])
    assert critic_loss(value, torch.tensor([[2.0, 1.0]])).tolist() == pytest.approx(
        [0.5 * ((1 + 4) / 2 + (0 + 1) / 2)]
    )


def test_actor_loss_pushes_towards_value_and_away_from_certainty():
    value = torch.tensor([[[2.0], [2.0]], [[1.0], [4.0]]], requires_grad=True)
    log_prob = torch.tensor([[0.5], [0.5]], requires_grad=True)
    loss = actor_loss(value, log_prob, temperature=TEMPERATURE)
    assert loss.tolist() == pytest.approx([0.25 - 1.0, 1.0 - 2.0])
    loss.sum().backward()
    assert log_prob.grad.flatten().tolist() == TEMPERATURE.tolist()
    assert value.grad.flatten().tolist() == [0.0, -1.0, -1.0, 0.0]


def test_temperature_rises_below_the_target_entropy_and_falls_above():
    log_temperature = torch.zeros(2, requires_grad=True)
    entropy = torch.tensor([0.2, 0.8])
    log_prob = -entropy[:, None].expand(2, 4)
    temperature_loss(log_temperature, log_prob, torch.tensor([0.5, 0.5])).sum().backward()
    # A descent step raises what has a negative gradient.
    assert log_temperature.grad.tolist() == pytest.approx([-0.3, 0.3])
