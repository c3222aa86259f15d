"""Baselines are made smaller to the agents' size, never larger."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tradingbot.evaluation.performance.matched_exposure import share_at_exposure_of
from tradingbot.evaluation.performance.record import PolicyPerformance


@pytest.mark.parametrize(
    ("agents", "other", "share"),
    [
        pytest.param(0.2, 0.8, 0.25, id="other-holds-more"),
        pytest.param(0.8, 0.2, 1.0, id="other-holds-less"),
        pytest.param(0.5, 0.5, 1.0, id="alike"),
        pytest.param(0.0, 0.8, 1.0, id="agents-stay-out"),
        pytest.param(0.5, 0.0, 1.0, id="other-stays-out"),
    ],
)
def test_share_of_a_baseline_is_that_which_holds_as_much_and_at_most_all(
    agents: float, other: float, share: float
) -> None:
    held = [
        cast(PolicyPerformance, SimpleNamespace(exposure_frac=each)) for each in (agents, other)
    ]

    assert share_at_exposure_of(held[0], held[1]) == pytest.approx(share)
