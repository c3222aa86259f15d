"""Further targets of the plan are measured on runs that are real, however short."""

from __future__ import annotations

import torch

from tradingbot.learning.reward_transform import CollectedSteps, TransformChain
from tradingbot_benchmarks.recovery.further_targets import Watched, exploration


def test_exploration_has_an_entropy_and_a_share_of_cells_that_are_visited() -> None:
    found = {each.name: each.value for each in exploration("curiosity", 1, 1)}

    assert found.keys() == {"entropy", "coverage", "seconds"}
    assert 0.3 < found["entropy"] <= 1.0
    assert 0.0 < found["coverage"] < 1.0
    assert found["seconds"] > 0.0


def test_what_is_paid_is_counted_by_term_and_by_episode_across_updates() -> None:
    watched = Watched(TransformChain({}))
    ends = torch.tensor([False, True, False]).view(3, 1, 1)
    reward = torch.tensor([1.0, 2.0, 4.0]).view(3, 1, 1)
    row, private = torch.zeros(3, 1, 1, dtype=torch.int64), torch.zeros(3, 1, 1, 1)
    terms = torch.stack([2.0 * reward, -reward], dim=1)
    steps = CollectedSteps(
        *(row, private, reward, reward, row, private, torch.zeros_like(ends), ends, terms)
    )

    for _ in range(2):
        assert torch.equal(watched.transform(steps), reward)

    assert torch.cat(watched.episodes).tolist() == [3.0, 7.0]  # 4 of the one before, 1 and 2
    assert torch.allclose(torch.as_tensor(watched.sizes), torch.tensor([28.0, 14.0]) / 3.0)
