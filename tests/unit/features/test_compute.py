"""Batch features: clocks, gaps, joined inputs and cross-sections."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from fixtures.feature_markets import bars_of, closes_of, gappy_market, inputs_of
from tradingbot.domain.errors import DataError
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import CovariateEvents, MarketInputs
from tradingbot.features.registry import (
    covariate_features,
    find_feature,
    regime_features,
    technical_features,
)
from tradingbot.features.time_fields import TimeField, time_field, time_field_at

ALL = (*technical_features(), *regime_features())
OWN_CLOCK = tuple(spec for spec in ALL if spec.network.clock == "symbol")


def one_symbol(inputs: MarketInputs, column: int) -> MarketInputs:
    """The symbol's own bars alone: the grid has no gap."""
    rows = inputs.present[:, column]
    events = inputs.covariates["sentiment"]
    own = events.symbol_index == column
    return replace(
        inputs,
        symbols=(inputs.symbols[column],),
        closed_at=inputs.closed_at[rows],
        present=np.ones((int(rows.sum()), 1), dtype=bool),
        bars={name: values[rows, column : column + 1] for name, values in inputs.bars.items()},
        covariates={
            "sentiment": CovariateEvents(
                np.zeros(own.sum(), dtype=np.int64), events.available_at[own], events.values[own]
            )
        },
    )


@pytest.mark.parametrize("form", ["raw", "network"])
def test_symbol_with_gaps_has_the_features_of_its_own_bars(form: str) -> None:
    inputs = gappy_market(300, 5)

    together = compute_features(inputs, OWN_CLOCK, form=form)  # type: ignore[arg-type]

    for column in range(5):
        rows = inputs.present[:, column]
        alone = compute_features(one_symbol(inputs, column), OWN_CLOCK, form=form)  # type: ignore[arg-type]
        for name, values in alone.items():
            np.testing.assert_array_equal(together[name][rows, column], values[:, 0], err_msg=name)


def test_features_where_a_symbol_has_no_bar_are_undefined() -> None:
    inputs = gappy_market(300, 5)

    features = compute_features(inputs, ALL)

    for name, values in features.items():
        assert np.isnan(values[~inputs.present]).all(), name


def test_what_stands_where_there_is_no_bar_is_not_looked_at() -> None:
    inputs = gappy_market(300, 5)
    poisoned = replace(
        inputs,
        bars={name: np.where(inputs.present, x, 1e30) for name, x in inputs.bars.items()},
    )

    features, of_poisoned = compute_features(inputs, ALL), compute_features(poisoned, ALL)

    for name, values in features.items():
        np.testing.assert_array_equal(values, of_poisoned[name], err_msg=name)


def test_symbol_without_any_bar_is_undefined_throughout() -> None:
    present = np.ones((60, 3), dtype=bool)
    present[:, 1] = False
    inputs = inputs_of(bars_of(closes_of("random", 60, 3)), present=present)

    features = compute_features(inputs, ALL)

    assert all(np.isnan(values[:, 1]).all() for values in features.values())
    assert not np.isnan(features["rsi_14"][-1, [0, 2]]).any()


def test_breadth_is_the_share_of_present_symbols_above_their_average() -> None:
    inputs = gappy_market(120, 6)

    breadth = compute_features(inputs, [find_feature("market_breadth")])["market_breadth"]

    averages = compute_features(inputs, [find_feature("sma_20")], form="raw")["sma_20"]
    for t in range(120):
        defined = inputs.present[t] & ~np.isnan(averages[t])
        if defined.any():
            expected = (inputs.bars["close"][t] > averages[t])[defined].mean()
            np.testing.assert_allclose(breadth[t, inputs.present[t]], expected)


def test_sentiment_without_any_score_is_neutral() -> None:
    inputs = inputs_of(bars_of(closes_of("random", 10, 2)))

    raw = compute_features(inputs, [find_feature("sentiment")], form="raw")["sentiment"]

    assert (raw == 0.5).all()


def test_covariate_that_the_dataset_lacks_is_refused() -> None:
    inputs = gappy_market(10, 3)

    with pytest.raises(DataError, match=r"was no 'signal'. It has: sentiment"):
        compute_features(inputs, covariate_features(["signal"]))


def test_one_covariate_is_given_as_it_is() -> None:
    inputs = gappy_market(60, 3)
    events = inputs.covariates["sentiment"]
    inputs = replace(inputs, covariates={"signal": replace(events, values=events.values - 7.0)})

    signal = compute_features(inputs, covariate_features(["signal"]))["signal"]

    assert np.nanmax(signal) <= -6.0
    assert set(signal[~np.isnan(signal)]) <= set(events.values - 7.0)


def test_weekday_is_that_of_the_exchange() -> None:
    closed_at = np.array(["2024-01-08T02:00", "2024-01-08T14:30"], dtype="datetime64[us]")

    days = time_field("weekday", closed_at, "America/New_York")
    assert days.tolist() == [6.0, 0.0]  # Sunday evening, Monday
    assert time_field("weekday", closed_at, "UTC").tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["weekday", "session_day", "time_of_day"])
@pytest.mark.parametrize("zone", ["America/New_York", "UTC", "Asia/Kolkata"])
def test_time_of_a_bar_is_that_of_the_grid(name: TimeField, zone: str) -> None:
    start = np.datetime64("2024-03-09T00:00", "us")  # across a change of summer time
    closed_at = start + np.arange(300) * np.timedelta64(30, "m")

    single = [time_field_at(name, each, ZoneInfo(zone)) for each in closed_at]

    assert single == time_field(name, closed_at, zone).tolist()


def test_close_at_midnight_belongs_to_the_day_before() -> None:
    closed_at = np.array(["1970-01-02T00:00", "1970-01-02T00:01"], dtype="datetime64[us]")

    assert time_field("session_day", closed_at, "UTC").tolist() == [0.0, 1.0]


def test_empty_grid_gives_empty_features() -> None:
    inputs = inputs_of(bars_of(np.empty((0, 3))))

    assert compute_features(inputs, ALL)["close"].shape == (0, 3)
