"""Rounding to levels: ends exact, halves to the even level, 0 levels leave actions alone."""

from __future__ import annotations

import pytest
import torch

from tradingbot.networks.distributions import round_to_levels


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (2, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
        (3, [0.0, 0.0, 0.5, 0.5, 0.5, 1.0]),
        (5, [0.0, 0.25, 0.25, 0.5, 0.75, 1.0]),
    ],
)
def test_actions_go_to_the_nearest_level(levels: int, expected: list[float]) -> None:
    actions = torch.tensor([0.0, 0.24, 0.26, 0.5, 0.74, 1.0])

    assert round_to_levels(actions, 0.0, 1.0, levels).tolist() == expected


def test_half_way_goes_to_the_even_level() -> None:
    halves = torch.tensor([-0.75, -0.25, 0.25, 0.75])

    assert round_to_levels(halves, -1.0, 1.0, 5).tolist() == [-1.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 1.0), (-2.0, -0.4), (0.3, 1.7)])
@pytest.mark.parametrize("levels", [2, 3, 7, 11])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ends_are_exact(low: float, high: float, levels: int, dtype: torch.dtype) -> None:
    ends = torch.tensor([low, high], dtype=dtype)

    assert torch.equal(round_to_levels(ends, low, high, levels), ends)


def test_there_are_as_many_levels_as_asked_for_and_they_stay() -> None:
    found = round_to_levels(torch.linspace(-1.0, 1.0, 1001), -1.0, 1.0, 7)

    assert len(found.unique()) == 7
    assert torch.equal(round_to_levels(found, -1.0, 1.0, 7), found)


def test_no_levels_leave_actions_as_they_are() -> None:
    actions = torch.rand(4)

    assert round_to_levels(actions, 0.0, 1.0, 0) is actions
