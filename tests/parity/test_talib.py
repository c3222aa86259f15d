"""Raw features equal TA-Lib's, values and warm-up alike."""

from __future__ import annotations

import numpy as np
import pytest
import talib
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.feature_markets import bars_of, closes_of, inputs_of
from tradingbot.features.compute import compute_features
from tradingbot.features.registry import technical_features

KINDS = ("random", "trending", "flat", "tiny", "huge", "stepped")


def talib_features(bars: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What TA-Lib says of one symbol's bars, each (T,)."""
    high, low, close, volume = (
        np.ascontiguousarray(bars[name]) for name in ("high", "low", "close", "volume")
    )
    line, signal, histogram = talib.MACD(close, 12, 26, 9)
    slow_k, slow_d = talib.STOCH(high, low, close, 14, 3, 0, 3, 0)
    upper, middle, lower = talib.BBANDS(close, 20, 2.0, 2.0, 0)
    return {
        "sma_10": talib.SMA(close, 10),
        "sma_20": talib.SMA(close, 20),
        "macd_line": line,
        "macd_signal": signal,
        "macd_histogram": histogram,
        "rsi_14": talib.RSI(close, 14),
        "stochastic_k": slow_k,
        "stochastic_d": slow_d,
        "adx_14": talib.ADX(high, low, close, 14),
        "atr_14": talib.ATR(high, low, close, 14),
        "bollinger_bandwidth": (upper - lower) / middle,
        "obv": talib.OBV(close, volume),
        "volume_sma_20": talib.SMA(volume, 20),
    }


def assert_equal_to_talib(bars: dict[str, np.ndarray]) -> None:
    features = compute_features(inputs_of(bars), technical_features(), form="raw")
    for column in range(bars["close"].shape[1]):
        one = {name: values[:, column] for name, values in bars.items()}
        # A difference of averages, and TA-Lib's running sums, round at the size of a price.
        rounding = {
            **dict.fromkeys(
                ("macd_line", "macd_signal", "macd_histogram"), 1e-13 * one["close"].max()
            ),
            **dict.fromkeys(("stochastic_k", "stochastic_d"), 1e-9),
            "bollinger_bandwidth": 1e-7 if np.ptp(one["close"]) == 0.0 else 1e-10,
        }
        for name, expected in talib_features(one).items():
            np.testing.assert_allclose(
                features[name][:, column],
                expected,
                rtol=1e-9,
                atol=rounding.get(name, 0.0),
                err_msg=name,
            )


@pytest.mark.parametrize("kind", KINDS)
def test_raw_features_on_each_shape_of_history_equal_talib(kind: str) -> None:
    bars = bars_of(closes_of(kind, 400, 4), spread=0.0 if kind == "flat" else 0.002)

    assert_equal_to_talib(bars)


@pytest.mark.parametrize("length", [1, 2, 14, 15, 27, 28, 33, 34])
def test_raw_features_of_a_short_history_equal_talib(length: int) -> None:
    assert_equal_to_talib(bars_of(closes_of("random", length, 2)))


@settings(max_examples=40, deadline=None)
@given(
    changes=st.lists(st.floats(-0.2, 0.2), min_size=30, max_size=120),
    scale=st.sampled_from([1e-4, 1.0, 37.5, 1e6]),
    seed=st.integers(0, 1000),
)
def test_raw_features_of_any_path_equal_talib(
    changes: list[float], scale: float, seed: int
) -> None:
    close = scale * np.exp(np.cumsum(np.round(changes, 3)))[:, None]

    assert_equal_to_talib(bars_of(close, seed=seed))


def test_flat_price_has_the_stated_values() -> None:
    bars = bars_of(closes_of("flat", 60, 1), spread=0.0)
    raw = compute_features(inputs_of(bars), technical_features(), form="raw")
    network = compute_features(inputs_of(bars), technical_features())

    for name in ("rsi_14", "stochastic_k", "stochastic_d", "adx_14", "bollinger_bandwidth"):
        assert raw[name][-1, 0] == 0.0, name
        assert network[name][-1, 0] == 0.0, name
