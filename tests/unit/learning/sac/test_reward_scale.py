"""The running size of rewards."""

from __future__ import annotations

import torch

from tradingbot.learning.generators import make_generator
from tradingbot.learning.sac.memory import RewardScale


def test_deviation_is_that_of_all_rewards_so_far():
    rewards = 1e-4 * torch.randn(2, 50, 4, generator=make_generator(0, "rewards")) + 3e-4
    rewards[1] *= 100.0
    scale = RewardScale(2)
    for step in range(50):
        scale.insert(rewards[:, step])
    expected = rewards.double().flatten(1).std(-1, correction=0).float()
    torch.testing.assert_close(scale.deviation(), expected)


def test_deviation_is_one_before_anything_varied():
    scale = RewardScale(2)
    assert scale.deviation().tolist() == [1.0, 1.0]
    scale.insert(torch.full((2, 4), 0.1))
    assert scale.deviation().tolist() == [1.0, 1.0]
