"""Actions drawn at a temperature: codes and numbers, what they cover, and in which episodes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.agents.policy import PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.evaluation.analyses.policy_analysis.sampled_actions import (
    SampledPolicy,
    coverage,
    draws_actions,
    episodes_of,
)
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import TableView

N_AGENTS, DRAWS = 2, 4_000


def policy_saying(outputs: list[float], squash: Squash | None) -> NetworkPolicy:
    """Two agents that say the same whatever they see; the second stays out."""
    config = HeadConfig(hidden=(2,), pooling="pooled")
    head = StackedHead(N_AGENTS, 2, len(outputs), config, torch.Generator())
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
        head.biases[-1].copy_(torch.tensor(outputs))
    view = TableView(torch.zeros(N_AGENTS, 1, 1))
    trades = torch.tensor([True, False])
    return NetworkPolicy(view, head.requires_grad_(False), squash, private=("size",), trades=trades)


def drawn_by(policy: NetworkPolicy, temperature: float) -> Tensor:
    """Return what the agent that trades draws, and check that the other draws nothing."""
    row = torch.arange(N_AGENTS).repeat(DRAWS)
    allowed = torch.ones(7, len(row), dtype=torch.bool)
    allowed[6] = False
    nothing = torch.zeros(len(row), 0)
    seen = PolicyInputs(row, nothing, nothing, torch.zeros(18, len(row)), allowed)
    found = SampledPolicy(policy, temperature, torch.Generator().manual_seed(5))(seen)
    assert not found[1::2].any()
    return found[0::2]


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_preferences_of_codes_are_divided_by_the_temperature(temperature: float) -> None:
    logits = [4.0, 2.0, 0.0, 0.0, 0.0, 0.0, 9.0]

    codes = drawn_by(policy_saying(logits, None), temperature)

    shares = torch.bincount(codes.long(), minlength=7) / DRAWS
    expected = torch.softmax(torch.tensor(logits[:6]) / temperature, 0)
    torch.testing.assert_close(shares[:6], expected, rtol=0.0, atol=0.03)
    assert shares[6] == 0.0  # not allowed, though preferred


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_variance_of_numbers_is_multiplied_by_the_temperature(temperature: float) -> None:
    squash = Squash("tanh", 1.0, 0.0, 1.0)

    numbers = drawn_by(policy_saying([0.3, -0.5], squash), temperature)

    before = torch.atanh((2.0 * numbers - 1.0).clamp(-0.9999, 0.9999))
    lowest = drawn_by(policy_saying([0.3, -0.5], squash), 1e-12)
    assert float(before.mean()) == pytest.approx(0.3, abs=0.05)
    assert float(lowest.std()) == pytest.approx(0.0, abs=1e-5)
    usual = torch.atanh(2.0 * drawn_by(policy_saying([0.3, -0.5], squash), 1.0) - 1.0)
    wider = math.sqrt(temperature) * float(usual.std())
    assert float(before.std()) == pytest.approx(wider, rel=0.02)


def test_policies_without_a_distribution_are_known() -> None:
    assert draws_actions(policy_saying([0.0] * 7, None))
    assert draws_actions(policy_saying([0.0, 0.0], Squash("tanh")))
    assert not draws_actions(policy_saying([0.0], Squash("sigmoid")))


def test_bins_with_a_hundredth_of_the_actions_are_covered() -> None:
    shares = np.array([[0.5, 0.5, 0.0, 0.0], [0.97, 0.01, 0.015, 0.005]])

    assert coverage(shares) == pytest.approx((0.5 + 0.75) / 2)


def test_episodes_follow_each_other_over_all_bars() -> None:
    found = episodes_of(IndexRange(100, 205), 10)

    assert len(found) == 10
    assert (found[0].start, found[-1].stop) == (100, 205)
    assert all(one.stop == two.start for one, two in pairwise(found))
    assert len(episodes_of(IndexRange(0, 20), 10)) == 2
