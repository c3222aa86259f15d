"""What reaches a network does not depend on the price level, the share count or a quiet market."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.feature_markets import bars_of, closes_of, gappy_market, inputs_of
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.registry import regime_features, technical_features

ALL = (*technical_features(), *regime_features())
PRICES = ("open", "high", "low", "close", "vwap")


def scaled(inputs: MarketInputs, fields: tuple[str, ...], factor: float) -> MarketInputs:
    """Multiply fields of every other symbol."""
    factors = np.where(np.arange(inputs.shape[1]) % 2, factor, 1.0)
    bars = {n: x * factors if n in fields else x for n, x in inputs.bars.items()}
    return replace(inputs, bars=bars)


@pytest.mark.parametrize(("fields", "factor"), [(PRICES, 4.0), (PRICES, 0.125), (("volume",), 8.0)])
def test_power_of_two_changes_no_bit(fields: tuple[str, ...], factor: float) -> None:
    inputs = gappy_market(320, 6)

    features = compute_features(inputs, ALL)
    of_scaled = compute_features(scaled(inputs, fields, factor), ALL)

    for name, values in features.items():
        np.testing.assert_array_equal(of_scaled[name], values, err_msg=name)


@settings(max_examples=15, deadline=None)
@given(factor=st.sampled_from([10.0, 0.1, 3.0, 1e-3, 777.7]), seed=st.integers(0, 500))
def test_any_factor_changes_nothing_beyond_rounding(factor: float, seed: int) -> None:
    inputs = inputs_of(bars_of(closes_of("random", 260, 4, seed=seed), seed=seed))

    features = compute_features(inputs, ALL)
    of_scaled = compute_features(scaled(inputs, (*PRICES, "volume"), factor), ALL)

    for name, values in features.items():
        np.testing.assert_allclose(of_scaled[name], values, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("kind", ["random", "flat", "stepped", "tiny", "huge"])
@pytest.mark.parametrize("traded", ["never", "seldom", "always"])
def test_no_market_gives_an_infinity_or_a_gap_after_the_warm_up(kind: str, traded: str) -> None:
    bars = bars_of(closes_of(kind, 300, 3), spread=0.0 if kind == "flat" else 0.002)
    if traded != "always":
        bars["volume"][:] = 0.0
    if traded == "seldom":
        bars["volume"][::50] = 1000.0

    features = compute_features(inputs_of(bars), ALL)

    for spec in ALL:
        assert np.isfinite(features[spec.name][spec.lookback_bars - 1 :]).all(), spec.name


def test_volume_that_never_trades_is_neutral() -> None:
    bars = bars_of(closes_of("random", 60, 1))
    bars["volume"][:] = 0.0

    features = compute_features(inputs_of(bars), ALL)

    assert features["volume"][-1, 0] == 0.0
    assert features["obv"][-1, 0] == 0.0
    assert features["volume_sma_20"][-1, 0] == 0.0


def test_stochastic_and_strength_in_network_form_are_the_centred_raw_form() -> None:
    inputs = inputs_of(bars_of(closes_of("random", 200, 3)))

    raw, network = compute_features(inputs, ALL, form="raw"), compute_features(inputs, ALL)

    for name in ("rsi_14", "stochastic_k", "stochastic_d"):
        np.testing.assert_allclose(network[name], raw[name] / 50 - 1, atol=1e-12, err_msg=name)
