"""Rules that read closes: what they want on series small enough to check, and never the future."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tradingbot.agents.baselines.catalogue import RULES, rule_policy
from tradingbot.agents.baselines.market_rules import flat, matched_random, redraw_share, table_of
from tradingbot.agents.baselines.price_rules import (
    CrossConfig,
    MacdConfig,
    MomentumConfig,
    carry_forward,
    cross_targets,
    exponential_mean,
    macd_targets,
    momentum_targets,
    moving_mean,
)
from tradingbot.agents.baselines.trend_follower import USED_REGIMES
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream

NAN = float("nan")


def test_closes_are_carried_over_gaps_but_not_back() -> None:
    found = carry_forward(np.array([[NAN, 2.0, NAN, NAN, 3.0]]))

    np.testing.assert_array_equal(found, [[NAN, 2.0, 2.0, 2.0, 3.0]])


def test_means_are_the_textbook_ones() -> None:
    closes = np.array([[NAN, 1.0, 3.0, 2.0]])

    np.testing.assert_array_equal(moving_mean(closes, 2), [[NAN, NAN, 2.0, 2.5]])
    np.testing.assert_allclose(exponential_mean(closes, 3), [[NAN, 1.0, 2.0, 2.0]])
    assert np.isnan(moving_mean(closes, 9)).all()


def test_momentum_is_the_sign_of_the_change_over_the_lookback() -> None:
    closes = np.array([[1.0, 2.0, 3.0, 1.0, 3.0], [NAN, 5.0, 5.0, 5.0, 4.0]])

    found = momentum_targets(closes, MomentumConfig(lookback_bars=2))

    assert found.tolist() == [[0, 0, 1, -1, 0], [0, 0, 0, 0, -1]]


def test_macd_is_long_after_a_rise_and_short_after_a_fall() -> None:
    closes = np.array([[1.0, 1.0, 1.0, 2.0, 2.0, 0.5, 0.5]])

    found = macd_targets(closes, MacdConfig(fast_bars=2, slow_bars=3))

    assert found.tolist() == [[0, 0, 0, 1, 1, -1, -1]]


def test_cross_compares_two_moving_means() -> None:
    closes = np.array([[1.0, 2.0, 3.0, 3.0, 1.0]])

    found = cross_targets(closes, CrossConfig(fast_bars=1, slow_bars=3))

    assert found.tolist() == [[0, 0, 1, 1, -1]]


READS_MORE_THAN_CLOSES = ("expert", "residual_reversal", "trend_follower")


@pytest.mark.parametrize("name", [name for name in RULES if name not in READS_MORE_THAN_CLOSES])
def test_rule_wants_the_same_whatever_comes_later(name: str) -> None:
    draws, n_bars, cut = stream(3, name), 2_400, 2_000
    closes = 100.0 * np.exp(np.cumsum(draws.normal(0.0, 0.01, (2, n_bars)), axis=1))
    closes[0, 300:340] = NAN
    other = closes.copy()
    other[:, cut:] *= draws.uniform(0.5, 2.0, (2, n_bars - cut))

    def wanted(prices: np.ndarray) -> np.ndarray:
        rule = rule_policy(name, seed=1, regime_names=USED_REGIMES, closes=prices)
        rows = torch.arange(2 * n_bars).view(2, n_bars)
        return rule.wants(rows).numpy()  # type: ignore[attr-defined]

    assert np.array_equal(wanted(closes)[:, :cut], wanted(other)[:, :cut])
    if name in ("momentum", "momentum_quarter", "macd", "sma_cross"):
        assert not np.array_equal(wanted(closes)[:, cut:], wanted(other)[:, cut:])
        assert set(np.unique(wanted(closes))) <= {-1.0, 0.0, 1.0}
        assert np.abs(wanted(closes)).mean() > 0.2


def test_flat_wants_nothing() -> None:
    assert flat.wants(torch.arange(5)).tolist() == [0.0] * 5


def test_matched_random_has_the_exposure_and_the_turnover_it_was_given() -> None:
    draws = stream(5, "held")
    held = draws.choice([0.0, 0.5, 1.0], p=[0.5, 0.2, 0.3], size=(20_000, 2))
    turnover = np.full(held.shape, 0.03)

    made = matched_random(held, turnover, n_bars=20_100, first_bar=50, seed=4)

    targets = made.targets.numpy().reshape(2, 20_100)
    inside = targets[:, 50:20_050]
    assert (targets[:, :50] == 0.0).all()
    assert (targets[:, 20_050:] == 0.0).all()
    assert inside.mean() == pytest.approx(held.mean(), abs=0.03)
    assert np.abs(np.diff(inside, axis=1)).mean() == pytest.approx(0.03, rel=0.07)
    again = matched_random(held, turnover, n_bars=20_100, first_bar=50, seed=5)
    assert not np.array_equal(again.targets.numpy(), made.targets.numpy())


def test_redraw_share_is_turnover_over_the_mean_difference() -> None:
    held = np.array([0.0, 0.0, 1.0, 1.0])

    assert redraw_share(held, np.full(4, 0.1)) == pytest.approx(0.2)  # E|X − X′| = ½
    assert redraw_share(held, np.full(4, 9.0)) == 1.0
    assert redraw_share(np.ones(4), np.zeros(4)) == 0.0


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(DataError, match="finite"):
        table_of(np.array([[NAN]]))
    with pytest.raises(ConfigError, match="fast_bars must be below"):
        CrossConfig(fast_bars=50)
    with pytest.raises(ConfigError, match="lookback_bars"):
        MomentumConfig(0)
    with pytest.raises(ConfigError, match="given closes"):
        rule_policy("momentum", seed=0, regime_names=())
    with pytest.raises(DataError, match="within the bars"):
        matched_random(np.ones((3, 1)), np.ones((3, 1)), n_bars=3, first_bar=1, seed=0)
