"""Returns by calendar and the shape of their distribution, beside pandas and by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from fixtures.example_backtest import session_closes
from tradingbot.evaluation.metrics import returns
from tradingbot.evaluation.metrics.periods import compound_by, days_and_months, local_clock
from tradingbot.evaluation.metrics.tails import (
    histogram,
    shortfall_statistic,
    tail_ratio,
    value_at_risk_statistic,
)


@pytest.fixture(scope="module")
def series() -> pd.Series:
    """Hourly returns of New York sessions, with their closing times."""
    closed_at = session_closes(700)[1:]
    drawn = np.random.default_rng(1).standard_t(4, 700) * 0.003
    return pd.Series(drawn, pd.to_datetime(closed_at, unit="us", utc=True))


def test_months_and_days_compound_as_pandas_resamples_them(series: pd.Series) -> None:
    closed_at = session_closes(700)[1:]
    days, months = days_and_months(closed_at)

    by_month, first = compound_by(series.to_numpy(), months)
    by_day, _ = compound_by(series.to_numpy(), days)

    def compounded(frequency: str) -> pd.Series:
        growth = (1 + series).groupby(series.index.tz_localize(None).to_period(frequency)).prod()
        return growth - 1

    np.testing.assert_allclose(by_month, compounded("M"), rtol=1e-12)
    np.testing.assert_allclose(by_day, compounded("D"), rtol=1e-12)
    assert [str(month) for month in months[first]] == [str(each) for each in compounded("M").index]
    assert np.prod(1 + by_month) == pytest.approx(np.prod(1 + series))


def test_ruin_in_a_month_is_all_of_it() -> None:
    made, _ = compound_by([0.1, -1.0, 0.5], np.array([1, 1, 1]))

    assert made.tolist() == [-1.0]


def test_clock_is_that_of_the_exchange_over_a_change_of_summer_time() -> None:
    # Noon in New York before and after the 13th of March 2022, which moves it by an hour of UTC.
    stamps = np.array(["2022-03-11T17:00", "2022-03-14T16:00"], "datetime64[us]")
    closed_at = stamps.astype(np.int64)

    clock = local_clock(closed_at, "America/New_York")

    assert clock.weekday.tolist() == [4, 0]
    assert clock.hour.tolist() == [11, 11]  # a bar that closes at 12:00 ended in hour 11


def test_tail_statistics_of_one_history_equal_the_metrics(series: pd.Series) -> None:
    drawn = series.to_numpy()

    risk = value_at_risk_statistic(0.95)(drawn[None])
    shortfall = shortfall_statistic(0.95)(drawn[None])

    assert risk[0] == pytest.approx(returns.value_at_risk(drawn))
    assert risk[0] == pytest.approx(-np.quantile(drawn, 0.05))
    assert shortfall[0] == pytest.approx(returns.expected_shortfall(drawn))
    assert shortfall[0] == pytest.approx(-drawn[drawn <= np.quantile(drawn, 0.05)].mean())


def test_tail_ratio_is_the_best_twentieth_over_the_worst(series: pd.Series) -> None:
    high, low = series.quantile(0.95), series.quantile(0.05)

    assert tail_ratio(series) == pytest.approx(abs(high) / abs(low))
    assert math.isnan(tail_ratio(np.zeros(20)))


def test_histogram_counts_every_day_and_as_many_of_a_normal_one(series: pd.Series) -> None:
    edges, counts, normal = histogram(series, 21)

    assert counts.sum() == 700
    assert normal.sum() == pytest.approx(700, abs=1e-9)
    assert edges[0] == series.min()
    assert edges[-1] == series.max()
    assert counts.max() > normal.max()  # fat tails have a narrow middle
    assert len(histogram(np.zeros(9), 5)[1]) == 0
