"""Figures of moving windows, beside pandas and beside the figures of whole periods."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.metrics import returns
from tradingbot.evaluation.metrics.rolling import (
    rolling_alpha,
    rolling_beta,
    rolling_sharpe,
    rolling_volatility,
)

YEAR, WINDOW = 252.0, 30


@pytest.fixture(scope="module")
def series() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    market = rng.normal(3e-4, 0.01, 200)
    return 0.4 * market + rng.normal(1e-4, 0.004, 200), market


def test_rolling_sharpe_and_volatility_equal_those_of_pandas(
    series: tuple[np.ndarray, np.ndarray],
) -> None:
    mine, ends = pd.Series(series[0]), np.arange(200)
    moving = mine.rolling(WINDOW)

    sharpe = rolling_sharpe(mine, ends, window_bars=WINDOW, bars_per_year=YEAR)
    volatility = rolling_volatility(mine, ends, window_bars=WINDOW, bars_per_year=YEAR)

    expected = moving.mean() / moving.std() * math.sqrt(YEAR)
    np.testing.assert_allclose(sharpe, expected, rtol=1e-9)
    np.testing.assert_allclose(volatility, moving.std() * math.sqrt(YEAR), rtol=1e-9)
    assert np.isnan(sharpe[: WINDOW - 1]).all()


def test_rolling_beta_and_alpha_equal_covariances_of_pandas(
    series: tuple[np.ndarray, np.ndarray],
) -> None:
    mine, market = (pd.Series(each) for each in series)
    ends = np.arange(WINDOW - 1, 200)

    beta = rolling_beta(mine, market, ends, window_bars=WINDOW)
    alpha = rolling_alpha(mine, market, ends, window_bars=WINDOW, bars_per_year=YEAR)

    expected = mine.rolling(WINDOW).cov(market) / market.rolling(WINDOW).var()
    intercept = mine.rolling(WINDOW).mean() - expected * market.rolling(WINDOW).mean()
    np.testing.assert_allclose(beta, expected.iloc[ends], rtol=1e-9)
    np.testing.assert_allclose(alpha, YEAR * intercept.iloc[ends], rtol=1e-9)


def test_window_of_all_bars_has_the_figures_of_the_period(
    series: tuple[np.ndarray, np.ndarray],
) -> None:
    (mine, market), last = series, np.array([199])

    sharpe = rolling_sharpe(mine, last, window_bars=200, bars_per_year=YEAR)
    alpha = rolling_alpha(mine, market, last, window_bars=200, bars_per_year=YEAR)

    assert sharpe[0] == pytest.approx(returns.annual_sharpe(mine, bars_per_year=YEAR))
    assert alpha[0] == pytest.approx(returns.annual_alpha(mine, market, bars_per_year=YEAR))


def test_window_that_stands_still_has_no_ratio_and_no_volatility() -> None:
    still, last = np.full(40, 0.001), np.array([39])

    assert math.isnan(rolling_sharpe(still, last, window_bars=20, bars_per_year=YEAR)[0])
    assert rolling_volatility(still, last, window_bars=20, bars_per_year=YEAR)[0] == 0.0
    assert math.isnan(rolling_beta(still, still, last, window_bars=20)[0])


def test_window_beyond_the_series_is_refused() -> None:
    with pytest.raises(DataError, match="windows must end at bars"):
        rolling_sharpe(np.zeros(40), np.array([40]), window_bars=20, bars_per_year=YEAR)
