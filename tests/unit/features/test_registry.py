"""The list of features, their hash, and finding them by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.features.graph.nodes import lag
from tradingbot.features.registry import (
    covariate_features,
    find_feature,
    regime_features,
    technical_features,
)
from tradingbot.features.spec import FeatureSpec, spec_hash


def test_technical_features_are_the_23_in_order() -> None:
    assert [spec.name for spec in technical_features()] == [
        "open", "high", "low", "close", "volume", "vwap", "sma_10", "sma_20",
        "macd_line", "macd_signal", "macd_histogram", "rsi_14", "stochastic_k", "stochastic_d",
        "adx_14", "atr_14", "bollinger_bandwidth", "obv", "volume_sma_20", "return_1",
        "sentiment", "weekday_sin", "weekday_cos",
    ]  # fmt: skip


def test_regime_features_are_the_10_in_order() -> None:
    assert [spec.name for spec in regime_features()] == [
        "realised_volatility", "volatility_regime", "trend_strength", "trend_regime",
        "volume_regime", "atr_regime", "momentum_regime", "volatility_trend",
        "market_breadth", "volatility_index_proxy",
    ]  # fmt: skip


def test_relative_set_has_nine_features_behind_the_23() -> None:
    relative = technical_features("relative")

    assert relative[:23] == technical_features()
    assert [spec.name for spec in relative[23:]] == [
        "residual_1", "residual_7", "residual_35", "residual_rank", "market_beta",
        "idiosyncratic_volatility", "overnight_residual", "intraday_residual",
        "same_hour_residual",
    ]  # fmt: skip


def test_find_feature_takes_name_or_id() -> None:
    assert find_feature("rsi_14") is find_feature("rsi_14-v1")


def test_find_feature_that_is_unknown_suggests_one() -> None:
    with pytest.raises(ConfigError, match=r"was rsi_15\. Did you mean 'rsi_14'\?"):
        find_feature("rsi_15")


def test_covariate_with_a_taken_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="name of a feature or input, was close"):
        covariate_features(["signal", "close"])


def test_covariate_that_would_read_a_bar_field_or_the_weekday_is_refused() -> None:
    with pytest.raises(ConfigError, match="was weekday"):
        covariate_features(["weekday"])


def changed_network() -> tuple[FeatureSpec, ...]:
    first, *rest = technical_features()
    return (replace(first, network=lag(first.network, 1)), *rest)


@pytest.mark.parametrize(
    "specs",
    [
        technical_features()[::-1],
        technical_features()[:-1],
        changed_network(),
        (replace(technical_features()[0], version=2), *technical_features()[1:]),
        (replace(technical_features()[0], name="first"), *technical_features()[1:]),
    ],
    ids=["order", "fewer", "formula", "version", "name"],
)
def test_spec_hash_changes_with(specs: tuple[FeatureSpec, ...]) -> None:
    assert spec_hash(specs) != spec_hash(technical_features())


def test_spec_hash_is_pinned() -> None:
    # A changed hash makes stored panels stale: change it on purpose only.
    for name, pinned in (("default", "10de61617eb613be"), ("relative", "d76b02b867db118c")):
        specs = (*technical_features(name), *regime_features())
        assert spec_hash(specs)[:16] == pinned
