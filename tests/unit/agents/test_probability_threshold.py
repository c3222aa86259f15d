"""The threshold policy: long at or above it, flat below."""

from __future__ import annotations

import pytest
import torch

from tradingbot.agents.baselines.probability_threshold import ProbabilityThreshold
from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.errors import ConfigError
from tradingbot.market.private_features import PRIVATE_FEATURES

CHANCES = torch.tensor([[0.2, 0.2, 0.6], [0.2, 0.21, 0.59], [0.1, 0.1, 0.8], [1 / 3, 1 / 3, 1 / 3]])


def seen(rows: list[int], size: float = 0.0) -> PolicyInputs:
    private = torch.full((len(PRIVATE_FEATURES), len(rows)), size, dtype=torch.float64)
    nothing = torch.zeros(len(rows), 1)
    return PolicyInputs(torch.tensor(rows), nothing, nothing, private)


def test_policy_is_long_at_and_above_the_threshold() -> None:
    policy = ProbabilityThreshold(CHANCES, 0.6)

    assert policy(seen([0, 1, 2, 3])).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert policy(seen([3, 2])).tolist() == [0.0, 1.0]


def test_position_near_enough_is_left_alone_and_closed_below() -> None:
    policy = ProbabilityThreshold(CHANCES, 0.6)

    assert policy(seen([2, 1], size=0.97)).tolist() == pytest.approx([0.97, 0.0])


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_what_is_no_threshold_is_refused(threshold: float) -> None:
    with pytest.raises(ConfigError):
        ProbabilityThreshold(CHANCES, threshold)


def test_table_of_another_width_is_refused() -> None:
    with pytest.raises(ConfigError):
        ProbabilityThreshold(CHANCES[:, :2], 0.6)
