"""Timing and costs of played targets, by hand and by construction."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.oracle.simulation import mean_turnover, simulate_targets

OPENS = np.array([[100.0], [102.0], [99.0], [110.0]])
CLOSES = np.array([[101.0], [103.0], [100.0], [108.0]])


def test_net_returns_by_hand_with_gaps_and_costs():
    targets = np.array([[1.0], [1.0], [-0.5], [9.0]])

    net = simulate_targets(OPENS, CLOSES, targets, cost_frac=0.001)[:, 0]

    assert net[0] == 0.0
    assert net[1] == pytest.approx(103 / 102 - 1 - 0.001)  # bought at the open: no gap earned
    assert net[2] == pytest.approx((99 / 103 - 1) + (100 / 99 - 1))  # held: gap and bar
    assert net[3] == pytest.approx((110 / 100 - 1) - 0.5 * (108 / 110 - 1) - 0.0015)


def test_target_earns_nothing_of_the_bar_it_is_decided_at():
    targets = np.zeros((4, 1))
    targets[1] = 1.0

    net = simulate_targets(OPENS, CLOSES, targets, cost_frac=0.0)[:, 0]

    assert net[:2].tolist() == [0.0, 0.0]
    assert net[2] == pytest.approx(100 / 99 - 1)
    assert net[3] == pytest.approx(110 / 100 - 1)  # sold at the open, the gap still earned


def test_last_target_has_no_bar_to_act_on():
    first, second = np.zeros((4, 1)), np.zeros((4, 1))
    second[3] = 1.0

    assert np.array_equal(
        simulate_targets(OPENS, CLOSES, first, cost_frac=0.01),
        simulate_targets(OPENS, CLOSES, second, cost_frac=0.01),
    )
    assert mean_turnover(second) == 0.0


def test_turnover_counts_every_change_from_flat_on():
    targets = np.array([[1.0], [1.0], [-0.5], [9.0]])

    assert mean_turnover(targets) == pytest.approx(2.5 / 3)


@pytest.mark.parametrize(
    ("opens", "targets"),
    [(OPENS, np.zeros((3, 1))), (OPENS, np.full((4, 1), np.nan)), (OPENS * 0, np.zeros((4, 1)))],
)
def test_unusable_input_is_refused(opens, targets):
    with pytest.raises(DataError, match="must"):
        simulate_targets(opens, CLOSES, targets, cost_frac=0.0)


@pytest.mark.parametrize("cost", [-1e-4, 1.0, float("nan")])
def test_cost_out_of_range_is_refused(cost):
    with pytest.raises(ConfigError, match="cost_frac"):
        simulate_targets(OPENS, CLOSES, np.zeros((4, 1)), cost_frac=cost)
