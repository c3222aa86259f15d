"""Direct gradients find an edge that is there, agents that differ, and little in noise."""

from __future__ import annotations

import pytest

from tradingbot_benchmarks.learning.curve.markets import Periods
from tradingbot_benchmarks.learning.curve.measure import LearningRun, run_learning

pytestmark = pytest.mark.slow
SMALL = Periods(train_bars=1_600, test_bars=800)


def test_planted_edge_is_found_out_of_sample() -> None:
    run = LearningRun(n_agents=12, periods=SMALL, updates=40)
    result = run_learning("planted_0.10", "direct", 0, run)
    assert result.value > 0.7
    assert result.trading_frac > 0.9


def test_agents_of_opposed_signs_need_deviations() -> None:
    shares = {
        pooling: run_learning(
            "opposed_0.10",
            "direct",
            0,
            LearningRun(n_agents=12, periods=SMALL, updates=60, pooling=pooling, shrinkage=None),
        ).value
        for pooling in ("partial", "pooled")
    }
    # Few agents and bars: with 48 agents and 3,528 bars it is above 0.9.
    assert shares["partial"] > 0.3
    assert shares["pooled"] < shares["partial"] - 0.15


def test_noise_costs_nothing_once_validation_has_spoken() -> None:
    run = LearningRun(n_agents=12, periods=SMALL, updates=30)
    assert run_learning("noise", "direct", 0, run).policy_bp > -0.1
