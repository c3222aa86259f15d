"""The parts the `regimes` market is made of, each against a value known from theory."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.synthetic.bar_shape import DayShape, extremes, session_clock
from tradingbot.data.synthetic.factors import (
    VolatilityModel,
    autoregression,
    volatility_paths,
)
from tradingbot.data.synthetic.regime_chain import (
    sample_path,
    stationary_shares,
    transition_matrix,
)
from tradingbot.data.synthetic.registry import lay_grid
from tradingbot.domain.timeframe import Timeframe

DURATIONS = np.array([40.0, 20.0, 30.0, 10.0])


def test_transition_matrix_rows_are_chances_and_stays_last_as_asked():
    matrix = transition_matrix(DURATIONS)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(1 / (1 - np.diag(matrix)), DURATIONS)
    assert (matrix >= 0).all()


def test_stationary_shares_are_left_unchanged_by_a_step():
    matrix = transition_matrix(DURATIONS)
    shares = stationary_shares(matrix)
    np.testing.assert_allclose(shares @ matrix, shares, atol=1e-12)
    assert shares.sum() == pytest.approx(1)


def test_sample_path_long_walk_has_the_matrix_as_frequencies():
    matrix = transition_matrix(np.array([4.0, 3.0, 5.0, 2.0]))
    path = sample_path(matrix, 2, np.random.default_rng(5).random(200_000))
    assert path[0] == 2
    counts = np.zeros((4, 4))
    np.add.at(counts, (path[:-1], path[1:]), 1)
    seen = counts / counts.sum(axis=1, keepdims=True)
    error = np.sqrt(matrix * (1 - matrix) / counts.sum(axis=1, keepdims=True))
    assert (np.abs(seen - matrix) <= 4 * error + 1e-12).all()


def test_volatility_paths_have_mean_square_one_and_clusters():
    rng = np.random.default_rng(1)
    model = VolatilityModel(0.3, 0.4, slow_sessions=20, fast_sessions=1, leverage=-0.5)
    shape = (4000, 100)
    paths = volatility_paths(
        model,
        shocks=rng.standard_normal(shape),
        slow_noise=rng.standard_normal((4001, 100)),
        fast_noise=rng.standard_normal((4001, 100)),
        elapsed=np.full(4000, 0.15),
    )
    assert (paths**2).mean() == pytest.approx(1, rel=0.05)
    logs = np.log(paths)
    assert logs.var() == pytest.approx(model.log_variance, rel=0.1)


def test_volatility_paths_row_depends_on_earlier_rows_only():
    rng = np.random.default_rng(2)
    model = VolatilityModel(0.3, 0.4, slow_sessions=20, fast_sessions=1, leverage=-0.5)
    noise = {
        "shocks": rng.standard_normal((50, 3)),
        "slow_noise": rng.standard_normal((51, 3)),
        "fast_noise": rng.standard_normal((51, 3)),
    }
    before = volatility_paths(model, **noise, elapsed=np.full(50, 0.15))
    shocks = noise["shocks"].copy()
    shocks[20:] *= -1
    after = volatility_paths(model, **{**noise, "shocks": shocks}, elapsed=np.full(50, 0.15))
    assert np.array_equal(before[:21], after[:21])
    assert not np.isclose(before[21], after[21]).any()


def test_autoregression_equals_the_written_out_sum():
    path = autoregression(np.array([1.0]), np.array([0.5, 0.5, 0.5]), np.array([[1.0], [2], [9]]))
    assert path[:, 0].tolist() == [1.0, 1.5, 2.75]


def test_extremes_range_has_the_mean_of_brownian_motion():
    """E[range] = 2 √(2/π) σ for a Brownian path over one unit of time (Feller, 1951)."""
    rng = np.random.default_rng(3)
    shape = (2000, 50)
    opens, sigma = np.full(shape, 100.0), 0.01
    closes = opens * np.exp(sigma * rng.standard_normal(shape))
    highs, lows = extremes(opens, closes, np.full(shape, sigma**2), rng.random((2, *shape)))
    expected = 2 * np.sqrt(2 / np.pi) * sigma
    assert np.log(highs / lows).mean() == pytest.approx(expected, rel=0.01)
    assert (highs >= np.maximum(opens, closes)).all()
    assert (lows <= np.minimum(opens, closes)).all()


def test_session_clock_full_day_sums_to_one_and_is_u_shaped():
    year = TradingCalendar.load("XNYS", date(2024, 6, 24), date(2024, 7, 5))
    grid = lay_grid(["A"], year, timeframe=Timeframe.parse("1h"))
    shape = DayShape(at_open=10, at_close=3)
    clock = session_clock(grid, overnight_share=0.3, variance=shape, volume=shape)
    day = grid.session == 1
    assert clock.bar_variance[day].sum() == pytest.approx(0.7)
    assert clock.gap_variance[day][0] == pytest.approx(0.3)
    assert clock.gap_variance[day][1:].max() < 1e-3
    assert clock.elapsed[day].sum() == pytest.approx(1)
    rate = clock.bar_variance[day] / grid.hours[day]
    assert rate[0] > 2 * rate[3] < 2 * rate[-1] / 1.2
    half = grid.session == 7  # 3 July 2024 closed at 13:00
    assert clock.volume[half].sum() == pytest.approx(3.5 / 6.5)
    assert (clock.bars_per_session, clock.sessions_per_year) == (7, 252)
