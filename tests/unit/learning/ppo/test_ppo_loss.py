from __future__ import annotations

import math

import pytest
import torch

from tradingbot.learning.ppo.loss import explained_variance, normalise, policy_loss, value_loss


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [
        (1.1, 2.0, -2.2),  # inside the range: the ratio counts
        (1.5, 2.0, -2.4),  # a gain beyond the range is cut
        (0.5, 2.0, -1.0),  # a loss is not
        (0.5, -2.0, 1.6),
        (1.5, -2.0, 3.0),
    ],
)
def test_surrogate_is_the_worse_of_ratio_and_clipped_ratio(ratio, advantage, expected) -> None:
    log_prob = torch.tensor([[math.log(ratio)]])

    made = policy_loss(log_prob, torch.zeros(1, 1), torch.tensor([[advantage]]), 0.2)

    assert made.loss.item() == pytest.approx(expected, rel=1e-5)
    assert made.clip_share.item() == float(abs(ratio - 1.0) > 0.2)
    assert made.kl.item() == pytest.approx(ratio - 1.0 - math.log(ratio), rel=1e-4)


def test_surrogate_has_no_gradient_beyond_the_range() -> None:
    log_prob = torch.tensor([[0.5, 0.5, -0.5, -0.5]], requires_grad=True)
    advantage = torch.tensor([[1.0, -1.0, 1.0, -1.0]])

    policy_loss(log_prob, torch.zeros(1, 4), advantage, 0.2).loss.sum().backward()

    assert (log_prob.grad != 0.0).tolist() == [[False, True, True, False]]


def test_losses_of_agents_do_not_mix() -> None:
    log_prob = torch.zeros(2, 3, requires_grad=True)
    value = torch.zeros(2, 3, requires_grad=True)
    advantage = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    policy_loss(log_prob, torch.zeros(2, 3), advantage, 0.2).loss[0].backward()
    value_loss(value, advantage)[1].backward()

    assert torch.equal(log_prob.grad[1], torch.zeros(3))
    assert torch.equal(value.grad[0], torch.zeros(3))
    assert value_loss(value, advantage).tolist() == pytest.approx([14 / 3, 77 / 3])


def test_normalised_values_have_mean_zero_and_deviation_one_per_agent() -> None:
    made = normalise(torch.tensor([[1.0, 2.0, 6.0], [10.0, 20.0, 60.0]]))

    torch.testing.assert_close(made[0], made[1])
    torch.testing.assert_close(made.mean(-1), torch.zeros(2), atol=1e-6, rtol=0.0)
    torch.testing.assert_close(made.std(-1), torch.ones(2))


def test_explained_variance_is_one_for_truth_zero_for_a_constant_negative_for_noise() -> None:
    target = torch.tensor([[1.0, 2.0, 3.0]] * 3 + [[1.0, 1.0, 1.0]])
    value = torch.tensor([[2.0, 3.0, 4.0], [0.0, 0.0, 0.0], [3.0, 2.0, 1.0], [0.0, 5.0, 1.0]])

    assert explained_variance(value, target).tolist() == pytest.approx([1.0, 0.0, -3.0, 0.0])
