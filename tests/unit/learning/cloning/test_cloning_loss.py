"""Losses of imitation, weights of samples, and measures of agreement, against closed forms."""

from __future__ import annotations

import math

import pytest
import torch

from tradingbot.learning.cloning.config import CloningConfig
from tradingbot.learning.cloning.loss import (
    agreement,
    chosen_action,
    cloning_losses,
    sample_weights,
)
from tradingbot.learning.task import ActionSpec

CODES = ActionSpec("discrete", 3)
BOX = ActionSpec("box", 0, -2.0, 2.0)
NONE = torch.empty(1, 1, 0, dtype=torch.bool)


def all_allowed(n_samples: int) -> torch.Tensor:
    return torch.ones(1, n_samples, 3, dtype=torch.bool)


def test_loss_of_codes_is_minus_their_log_probability_among_the_allowed() -> None:
    logits = torch.tensor([[[0.0, math.log(3.0), 50.0]]])
    allowed = torch.tensor([[[True, True, False]]])

    loss = cloning_losses(logits, allowed, torch.tensor([[1]]), CODES, CloningConfig())

    assert loss.item() == pytest.approx(-math.log(0.75), rel=1e-5)


@pytest.mark.parametrize(("expert", "expected"), [(0.2, 0.5 * 0.05**2), (2.0, 0.1 * (0.5 - 0.05))])
def test_loss_of_numbers_is_huber_in_shares_of_the_range(expert: float, expected: float) -> None:
    output = torch.zeros(1, 1, 2)  # the middle of the range, 0

    loss = cloning_losses(output, NONE, torch.tensor([[expert]]), BOX, CloningConfig())

    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_loss_by_likelihood_is_least_where_the_mean_is_the_experts() -> None:
    config = CloningConfig(number_loss="log_prob")
    expert = torch.full((1, 41), 1.0)
    means = torch.linspace(-2.0, 2.0, 41)
    output = torch.stack([means, torch.zeros(41)], dim=-1)[None]

    loss = cloning_losses(output, NONE, expert, BOX, config)

    assert means[loss.argmin()].item() == pytest.approx(math.atanh(0.5), abs=0.06)


def test_loss_by_likelihood_at_the_end_of_the_range_is_finite() -> None:
    config = CloningConfig(number_loss="log_prob")

    loss = cloning_losses(torch.zeros(1, 1, 2), NONE, torch.tensor([[2.0]]), BOX, config)

    assert math.isfinite(loss.item())


@pytest.mark.parametrize(("n_outputs", "expected"), [(1, 2.0 / (1.0 + math.exp(-2.0))), (2, None)])
def test_actor_with_one_or_two_outputs_is_squashed_into_the_range(
    n_outputs: int, expected: float | None
) -> None:
    action = ActionSpec("box", 0, 0.0, 2.0)

    chosen = chosen_action(torch.full((1, 1, n_outputs), 0.5), NONE, action, gain=4.0)

    wanted = 1.0 + math.tanh(0.5) if expected is None else expected
    assert chosen.item() == pytest.approx(wanted, rel=1e-6)


def test_samples_count_alike_without_balance() -> None:
    expert = torch.tensor([[0, 0, 0, 1]])

    weight = sample_weights(all_allowed(4), expert, CODES, 0.0)

    assert weight.tolist() == [[1.0, 1.0, 1.0, 1.0]]


def test_codes_count_alike_with_full_balance() -> None:
    expert = torch.tensor([[0, 0, 0, 1]])

    weight = sample_weights(all_allowed(4), expert, CODES, 1.0)

    assert weight[0, :3].sum().item() == pytest.approx(weight[0, 3].item(), rel=1e-5)
    assert weight.mean().item() == pytest.approx(1.0, rel=1e-5)


def test_code_that_is_forbidden_counts_nothing() -> None:
    allowed = all_allowed(4)
    allowed[0, 3, 1] = False

    weight = sample_weights(allowed, torch.tensor([[0, 0, 0, 1]]), CODES, 0.5)

    assert weight[0, 3] == 0.0
    assert weight[0, :3].tolist() == pytest.approx([1.0, 1.0, 1.0])


def test_agreement_of_codes_counts_matches_and_what_always_the_same_would_reach() -> None:
    expert = torch.tensor([[0, 0, 0, 1], [2, 2, 2, 2]])
    chosen = torch.tensor([[0, 0, 1, 1], [2, 2, 2, 2]])
    allowed = torch.ones(2, 4, 3, dtype=torch.bool)
    allowed[1, 0, 2] = False

    found = agreement(chosen, expert, allowed, CODES, 0.1)

    assert found["clone/agreement"].tolist() == [0.75, 1.0]
    assert found["clone/balanced_agreement"].tolist() == pytest.approx([(2 / 3 + 1.0) / 2, 1.0])
    assert found["clone/base_agreement"].tolist() == [0.75, 1.0]
    assert found["clone/forbidden"].tolist() == [0.0, 0.25]


def test_agreement_of_numbers_is_within_a_share_of_the_range() -> None:
    expert = torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    chosen = torch.tensor([[0.0, 0.39, 0.41, -2.0]])

    found = agreement(chosen, expert, NONE, BOX, 0.1)

    assert found["clone/agreement"].item() == 0.5
    assert found["clone/error"].item() == pytest.approx((0.39 + 0.41 + 2.0) / 4 / 4)
