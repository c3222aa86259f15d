"""Figures of trades, exposure, costs and actions: hand-made answers and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.metrics import trading as m
from tradingbot.learning.playing import action_histogram, histogram_entropy
from tradingbot.learning.task import ActionSpec


def test_hand_made_trades_have_their_figures() -> None:
    pnl = [3.0, -1.0, 0.0, 2.0, -1.5]

    assert m.trade_count(pnl) == 5.0
    assert m.win_rate(pnl) == 0.4
    assert m.profit_factor(pnl) == 2.0
    assert m.mean_trade_bars([2, 4, 6]) == 4.0
    assert m.trades_per_1000_bars(pnl, n_bars=250) == 20.0


def test_without_trades_only_the_count_is_known() -> None:
    assert m.trade_count([]) == 0.0
    assert m.trades_per_1000_bars([], n_bars=10) == 0.0
    for measure in (m.win_rate, m.profit_factor, m.mean_trade_bars, m.turnover_per_bar):
        assert math.isnan(measure([]))
    for measure in (m.mean_exposure, m.time_in_market):
        assert math.isnan(measure([]))
    assert math.isnan(m.trades_per_1000_bars([], n_bars=0))


def test_winning_always_has_no_profit_factor_and_losing_always_none_at_all() -> None:
    assert math.isnan(m.profit_factor([1.0, 2.0]))
    assert m.profit_factor([-1.0, -2.0]) == 0.0
    assert m.win_rate([-1.0, 0.0]) == 0.0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    "measure",
    [
        m.trade_count,
        m.win_rate,
        m.profit_factor,
        m.mean_trade_bars,
        m.turnover_per_bar,
        m.mean_exposure,
        m.time_in_market,
        lambda x: m.cost_share(x, [0.0, 0.0]),
        lambda x: m.cost_share([0.0, 0.0], x),
        lambda x: m.action_shares(x, low=0.0, high=1.0),
    ],
)
def test_number_that_is_not_finite_is_refused(measure, bad: float) -> None:
    with pytest.raises(DataError, match="must be finite"):
        measure([0.5, bad])


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        (m.turnover_per_bar, "turnover"),
        (m.mean_trade_bars, "trade_bars"),
        (lambda x: m.cost_share([1.0], x), "costs"),
    ],
)
def test_magnitude_below_zero_is_refused(measure, name: str) -> None:
    with pytest.raises(DataError, match=f"{name} must be 0 or more"):
        measure([0.1, -0.1])


def test_exposure_counts_both_sides() -> None:
    assert m.mean_exposure([0.5, -0.5, 0.0, 1.0]) == 0.5
    assert m.time_in_market([0.5, -0.5, 0.0, 1.0]) == 0.75
    assert m.turnover_per_bar([0.5, 0.0, 0.1]) == pytest.approx(0.2)


def test_cost_share_says_how_much_of_the_gross_result_is_paid() -> None:
    assert m.cost_share([3.0, -1.0], [1.0, 1.0]) == 0.5
    assert m.cost_share([0.0], [1.0]) == 1.0
    assert m.cost_share([-1.0], [2.0]) == 2.0
    assert math.isnan(m.cost_share([-2.0], [1.0]))
    assert math.isnan(m.cost_share([], []))


def test_entropy_is_that_of_training() -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (300, 1, 2)) ** 3
    spec = ActionSpec("box", low=-1.0, high=1.0)
    shares = m.action_shares(actions, low=-1.0, high=1.0)

    theirs = action_histogram(torch.from_numpy(actions), spec)
    assert shares == pytest.approx(theirs[0].numpy())
    assert m.action_entropy(shares) == pytest.approx(float(histogram_entropy(theirs)))


def test_entropy_of_one_action_is_zero_and_of_all_alike_one() -> None:
    one = m.action_shares([2, 2, 2], low=-0.5, high=3.5, n_bins=4)
    assert one.tolist() == [0.0, 0.0, 1.0, 0.0]
    assert m.action_entropy(one) == 0.0
    assert math.copysign(1.0, m.action_entropy(one)) == 1.0
    assert m.action_entropy(
        m.action_shares([0, 1, 2, 3], low=-0.5, high=3.5, n_bins=4)
    ) == pytest.approx(1.0)
    assert m.action_shares([-1.0, 1.0], low=-1.0, high=1.0, n_bins=2).tolist() == [0.5, 0.5]


def test_no_action_has_no_entropy() -> None:
    assert math.isnan(m.action_entropy(m.action_shares([], low=-1.0, high=1.0)))


def test_actions_out_of_range_and_shares_that_are_none_are_refused() -> None:
    with pytest.raises(DataError, match="within"):
        m.action_shares([1.5], low=-1.0, high=1.0)
    with pytest.raises(ConfigError, match="low must be below high"):
        m.action_shares([0.0], low=1.0, high=1.0)
    with pytest.raises(ConfigError, match="n_bins"):
        m.action_shares([0.0], low=-1.0, high=1.0, n_bins=1)
    for shares in ([0.5, 0.4], [1.5, -0.5], [math.nan, 1.0]):
        with pytest.raises(DataError, match="add up to 1"):
            m.action_entropy(shares)
    with pytest.raises(DataError, match="two bins"):
        m.action_entropy([1.0])


def test_forced_and_refused_trades_are_not_voluntary() -> None:
    asked = np.array([True, True, False, False])
    traded = np.array([True, False, True, False])

    assert m.voluntary_trade_rate(asked, traded) == 0.25
    assert math.isnan(m.voluntary_trade_rate(asked[:0], traded[:0]))
    with pytest.raises(DataError, match="truth values of one shape"):
        m.voluntary_trade_rate(asked, traded[:2])
    with pytest.raises(DataError, match="truth values of one shape"):
        m.voluntary_trade_rate(asked.astype(float), traded)
