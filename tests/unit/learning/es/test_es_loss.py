"""Ranks of members and the gradient they estimate, against values by hand."""

from __future__ import annotations

import torch

from tradingbot.learning.es.loss import distinct_share, pair_weights, rank_utility


def test_ranks_of_all_members_are_places_with_mean_zero() -> None:
    fitness = torch.tensor([[3.0], [1.0], [2.0], [9.0]], dtype=torch.float64)

    utility = rank_utility(fitness, elites=1.0)

    # Places (rank + ½) ÷ 4 are 5/8, 1/8, 3/8, 7/8; their mean is ½.
    assert utility[:, 0].tolist() == [0.125, -0.375, -0.125, 0.375]


def test_elites_alone_count() -> None:
    fitness = torch.arange(10.0, dtype=torch.float64)[:, None]

    utility = rank_utility(fitness, elites=0.2)

    # Places beyond 0.8, of 0.2: 0.05 and 0.15, so 0.25 and 0.75; the mean of ten is 0.1.
    expected = torch.tensor([-0.1] * 8 + [0.15, 0.65], dtype=torch.float64)
    torch.testing.assert_close(utility[:, 0], expected)


def test_members_that_earn_the_same_count_for_nothing_and_nan_is_worst() -> None:
    same = torch.full((6, 2), 0.3, dtype=torch.float64)
    broken = torch.tensor([[0.0], [float("nan")], [-5.0], [1.0]], dtype=torch.float64)

    assert rank_utility(same, elites=0.2).tolist() == torch.zeros(6, 2).tolist()
    assert rank_utility(broken, elites=1.0)[:, 0].argmin() == 1


def test_pair_is_followed_by_the_difference_of_its_members() -> None:
    utility = torch.tensor([[0.5], [-0.5], [-0.25], [0.25]])

    weights = pair_weights(utility, sigma=0.1)

    # To descend: the better half has the negative sign; Σ u ε ÷ (P σ).
    torch.testing.assert_close(weights[:, 0], torch.tensor([-2.5, 1.25]))


def test_share_of_different_results() -> None:
    fitness = torch.tensor([[1.0, 1.0, 1.0], [1.0, 2.0, 2.0], [1.0, 2.0, 3.0], [1.0, 3.0, 4.0]])

    torch.testing.assert_close(distinct_share(fitness), torch.tensor([0.0, 2.0 / 3.0, 1.0]))
    assert distinct_share(fitness[:2]).tolist() == [0.0, 1.0, 1.0]
