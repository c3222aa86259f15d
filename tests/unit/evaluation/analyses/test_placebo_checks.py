"""The pipeline's own test keeps its level, and placebo bars have nothing to find."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tradingbot.data.bar_moves import BarArrays
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses.placebos.analysis import (
    allowed_frac,
    declares_edge,
    placebo_bars,
    placebo_row,
    random_policies_row,
)
from tradingbot.evaluation.analyses.placebos.bars import (
    flip_bars,
    flip_bars_at_random,
    reverse_bars,
    shuffle_bars,
)
from tradingbot.evaluation.analyses.settings import FEWEST_DRAWS, PLACEBO_LEVEL, PlaceboSettings

PART = IndexRange(40, 180)
CHANGES = [
    partial(shuffle_bars, block_bars=7, seed=3),
    partial(flip_bars_at_random, block_bars=7, seed=3),
    reverse_bars,
    flip_bars,
]


def _bars(drift: float = 0.0) -> BarArrays:
    draw = stream(9, "placebo bars")
    shape = (200, 3)
    close = 50.0 * np.exp(np.cumsum(draw.normal(drift, 0.01, shape), axis=0))
    open_ = np.concatenate([close[:1], close[:-1]]) * np.exp(draw.normal(0.0, 0.002, shape))
    high = np.maximum(open_, close) * np.exp(np.abs(draw.normal(0.0, 0.004, shape)))
    low = np.minimum(open_, close) * np.exp(-np.abs(draw.normal(0.0, 0.004, shape)))
    absent = draw.random(shape) < 0.03
    columns = (open_, high, low, close, draw.uniform(1e3, 1e6, shape), (high + low + close) / 3.0)
    return BarArrays(*(np.where(absent, np.nan, column) for column in columns))


def test_edges_are_declared_in_noise_at_the_stated_rate() -> None:
    draws = stream(1, "level").standard_normal((2_000, 300))
    rate = np.mean([declares_edge(each) for each in draws])
    assert 0.03 < rate < 0.06


def test_edges_are_declared_in_dependent_noise_hardly_more_often() -> None:
    draws = stream(2, "level").standard_normal((1_000, 301))
    # A plain standard error would be wrong by a factor of 1.3: 10 % of these would pass.
    rate = np.mean([declares_edge(each[1:] + 0.5 * each[:-1]) for each in draws])
    assert rate < 0.08


def test_edge_that_is_there_is_found_and_stillness_is_none() -> None:
    noise = stream(3, "edge").standard_normal(400)
    assert declares_edge(noise + 0.3)
    assert not declares_edge(noise - 0.3)
    assert not declares_edge(np.zeros(400))


@pytest.mark.parametrize(("draws", "edges"), [(1, 1), (20, 3), (100, 9), (1_000, 62)])
def test_allowed_share_is_the_binomial_bound(draws: int, edges: int) -> None:
    assert allowed_frac(draws) == pytest.approx(edges / draws)


def test_row_counts_edges_and_what_was_beaten() -> None:
    noise = stream(4, "row").standard_normal((4, 200)) * 1e-3
    net = [*(noise - noise.mean(axis=1, keepdims=True)), noise[0] - noise[0].mean() + 1e-3]
    row = placebo_row("x", "words", net, 5.0)
    assert row.draws == 5
    assert row.edge_found_frac == pytest.approx(0.2)
    assert row.share_beaten_frac == pytest.approx(0.8)
    assert row.net_bps_per_bar.estimate == pytest.approx(2.0)
    assert row.is_clean
    leaking = placebo_row("x", "words", [noise[0] - noise[0].mean() + 1e-3] * 20, 5.0)
    assert not leaking.is_clean


@pytest.mark.parametrize("change", CHANGES)
def test_placebo_bars_have_no_drift_and_fit_in(change: partial[np.ndarray]) -> None:
    bars = _bars(drift=0.004)
    made = placebo_bars(bars, PART, change)
    for before, after in zip(bars, made, strict=True):
        np.testing.assert_array_equal(before[: PART.start], after[: PART.start])
        np.testing.assert_array_equal(np.isnan(before[PART.stop :]), np.isnan(after[PART.stop :]))
    there = np.isfinite(made.close)
    open_, high, low, close, _, vwap = (column[there] for column in made)
    assert (high >= np.maximum(open_, close)).all()
    assert (low <= np.minimum(open_, close)).all()
    assert ((low <= vwap * (1 + 1e-9)) & (vwap <= high * (1 + 1e-9))).all()
    for symbol in range(3):
        last = made.close[: PART.start, symbol]
        path = made.close[PART.start : PART.stop, symbol]
        path = np.concatenate([last[np.isfinite(last)][-1:], path[np.isfinite(path)]])
        returns = path[1:] / path[:-1] - 1.0
        assert returns.mean() == pytest.approx(0.0, abs=1e-12)
        assert returns.std() > 0.005
        # No jump where the part begins or ends: prices were laid where they were.
        assert np.abs(returns).max() < 0.08


def test_shuffled_bars_keep_their_moves_within_and_lose_their_order() -> None:
    bars = _bars()
    made = placebo_bars(bars, PART, partial(shuffle_bars, block_bars=7, seed=3))

    def within(some: BarArrays) -> np.ndarray:
        rows = slice(PART.start, PART.stop)
        return (some.close / some.open)[rows, 0]

    assert not np.allclose(within(made), within(bars), equal_nan=True)
    np.testing.assert_allclose(np.sort(within(made)), np.sort(within(bars)), rtol=1e-9)


def test_random_policies_find_no_edge_and_do_not_beat_knowledge() -> None:
    market = stream(7, "market").normal(0.001, 0.01, (250, 4))
    row = random_policies_row(
        market,
        turnover=0.2,
        exposure=0.5,
        cost_frac=1e-4,
        real_alpha_bps=50.0,
        settings=PlaceboSettings(n_policies=300),
    )
    assert row.draws == 300
    assert row.share_beaten_frac == 1.0
    # Half invested in a drift of 10 bp, which is taken out: costs of 0.2 bp are left.
    assert row.net_bps_per_bar.estimate == pytest.approx(-0.2, abs=0.6)
    assert row.is_clean


def test_random_policies_of_agents_that_never_trade_are_still_defined() -> None:
    market = stream(7, "market").normal(0.0, 0.01, (100, 2))
    row = random_policies_row(
        market,
        turnover=0.0,
        exposure=0.0,
        cost_frac=0.0,
        real_alpha_bps=0.0,
        settings=PlaceboSettings(n_policies=20),
    )
    assert row.draws == 20
    # Coins trade although agents do not: else their test would test nothing.
    assert "hold 50% and trade 0.050" in row.words
    assert row.net_bps_per_bar.high > row.net_bps_per_bar.low


@pytest.mark.parametrize("draws", [0, 1, 19])
def test_draws_that_cannot_tell_the_rate_are_refused_with_a_remedy(draws: int) -> None:
    with pytest.raises(ConfigError, match="20 or more") as caught:
        PlaceboSettings(draws=draws)

    assert caught.value.was == draws
    assert "placebos.draws" in (caught.value.remedy or "")
    assert pytest.approx(1.0) == FEWEST_DRAWS * PLACEBO_LEVEL
    assert PlaceboSettings(draws=20).draws == 20
