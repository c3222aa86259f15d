"""Regime indicators in markets where the answer is plain."""

from __future__ import annotations

import numpy as np

from fixtures.feature_markets import bars_of, closes_of, inputs_of
from tradingbot.domain.seeding import stream
from tradingbot.features.compute import compute_features
from tradingbot.features.registry import regime_features


def last_regimes(close: np.ndarray, *, volume: np.ndarray | None = None) -> dict[str, float]:
    bars = bars_of(close, spread=0.0)
    if volume is not None:
        bars["volume"] = volume
    return {
        name: float(values[-1, 0])
        for name, values in compute_features(inputs_of(bars), regime_features()).items()
    }


def test_steady_rise_is_a_strong_trend_upwards() -> None:
    regimes = last_regimes(100.0 * 1.001 ** np.arange(250.0)[:, None])

    assert regimes["trend_strength"] == 1.0
    assert regimes["trend_regime"] > 0.9
    assert regimes["momentum_regime"] > 0.9
    assert regimes["market_breadth"] == 1.0


def test_steady_fall_is_a_strong_trend_downwards() -> None:
    regimes = last_regimes(100.0 * 0.999 ** np.arange(250.0)[:, None])

    assert regimes["trend_strength"] == 1.0
    assert regimes["trend_regime"] < -0.9
    assert regimes["momentum_regime"] < -0.9
    assert regimes["market_breadth"] == 0.0


def test_saw_tooth_has_no_trend() -> None:
    close = 100.0 + (np.arange(250) % 2)[:, None]

    regimes = last_regimes(close)

    assert regimes["trend_strength"] == 0.0
    assert abs(regimes["trend_regime"]) < 0.01
    assert regimes["momentum_regime"] == 0.0


def test_burst_of_volatility_and_volume_is_at_the_top_of_its_past() -> None:
    rng = stream(1, "burst")
    size = np.where(np.arange(400) < 376, 0.001, 0.02)
    volume = np.where(np.arange(400) < 376, 1e4, 1e6)[:, None] + rng.random((400, 1))

    regimes = last_regimes(
        100 * np.exp(np.cumsum(size * rng.normal(size=400)))[:, None], volume=volume
    )

    for name in ("volatility_regime", "atr_regime", "volume_regime", "volatility_index_proxy"):
        assert regimes[name] > 0.95, name
    assert regimes["volatility_trend"] > 0.8
    assert regimes["realised_volatility"] > 0.5


def test_market_that_stands_still_after_moving_is_at_rest() -> None:
    close = closes_of("random", 1000, 20)  # twenty prices: the multiples of some round
    close[200:] = close[200]

    regimes = last_regimes(close, volume=np.zeros((1000, 20)))

    atr_regime = regimes.pop("atr_regime")
    assert 0.0 <= atr_regime <= 1.0  # a recursion: still falling towards 0
    assert set(regimes.values()) == {0.0}
