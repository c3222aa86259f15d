"""The straightforward way to the same features: one symbol after another, pandas and TA-Lib.

It is what the speed of `features.compute` is measured against, and a second opinion on its values.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from tradingbot.domain.errors import MissingExtraError
from tradingbot.features.inputs import FloatArray
from tradingbot.features.spec import Form

if TYPE_CHECKING:
    import pandas as pd

PERCENTILE_BARS = 168


def reference_features(
    bars: pd.DataFrame,
    covariates: pd.DataFrame,
    *,
    form: Form = "network",
    time_zone: str = "America/New_York",
) -> dict[str, FloatArray]:
    """Compute the 23 features, the 10 regime indicators and every covariate besides sentiment.

    Args:
        bars: Bars in the bar schema.
        covariates: Values in the covariate schema.
        form: The traders' or the learners' form of the 23; the others have one form.
        time_zone: Of the exchange.

    Returns:
        Name → (T, N) on the grid of all closing times, symbols in order of appearance.

    Raises:
        MissingExtraError: If pandas or TA-Lib is not installed.
    """
    _require_extra()
    import pandas as pd

    by_symbol = dict(list(covariates.sort_values("available_at").groupby("symbol")))
    parts = []
    for symbol, history in bars.groupby("symbol", sort=False):
        ordered = history.sort_values("closed_at").reset_index(drop=True)
        events = by_symbol.get(symbol, covariates.iloc[:0])
        raw = _technical(ordered, events, time_zone)
        technical = raw if form == "raw" else _network_form(raw)
        others = _covariates(ordered, events, covariates["name"].unique())
        part = pd.concat([technical, _regimes(raw), others], axis=1)
        part.insert(0, "symbol", symbol)
        part.insert(1, "closed_at", ordered["closed_at"])
        parts.append(part)
    return _on_grid(_with_market(pd.concat(parts, ignore_index=True)))


def _with_market(features: pd.DataFrame) -> pd.DataFrame:
    """Add the two indicators that are the same for all symbols at a time."""
    by_time = features.groupby("closed_at")[["_above", "_volatility"]].mean()
    by_time["market_breadth"] = by_time["_above"]
    by_time["volatility_index_proxy"] = _percentile(by_time["_volatility"])
    market = by_time[["market_breadth", "volatility_index_proxy"]]
    return features.drop(columns=["_above", "_volatility"]).join(market, on="closed_at")


def _on_grid(features: pd.DataFrame) -> dict[str, FloatArray]:
    rows, times = features["closed_at"].factorize(sort=True)
    columns, symbols = features["symbol"].factorize()
    grids = {}
    for name in features.columns.drop(["symbol", "closed_at"]):
        grids[name] = np.full((len(times), len(symbols)), np.nan)
        grids[name][rows, columns] = features[name].to_numpy()
    return grids


def _last_known(history: pd.DataFrame, events: pd.DataFrame, name: str) -> pd.Series:
    import pandas as pd

    return pd.merge_asof(
        history[["closed_at"]],
        events.loc[events["name"] == name, ["available_at", "value"]],
        left_on="closed_at",
        right_on="available_at",
    )["value"]


def _covariates(history: pd.DataFrame, events: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    import pandas as pd

    others = {n: _last_known(history, events, n) for n in names if n != "sentiment"}
    return pd.DataFrame(others, index=history.index)


def _technical(history: pd.DataFrame, events: pd.DataFrame, time_zone: str) -> pd.DataFrame:
    """Raw form of the 23 features of one symbol."""
    import talib

    high, low, close, volume = (
        history[name].to_numpy() for name in ("high", "low", "close", "volume")
    )
    raw = history[["open", "high", "low", "close", "volume", "vwap"]].copy()
    raw["sma_10"] = talib.SMA(close, 10)
    raw["sma_20"] = talib.SMA(close, 20)
    raw["macd_line"], raw["macd_signal"], raw["macd_histogram"] = talib.MACD(close, 12, 26, 9)
    raw["rsi_14"] = talib.RSI(close, 14)
    raw["stochastic_k"], raw["stochastic_d"] = talib.STOCH(high, low, close, 14)
    raw["adx_14"] = talib.ADX(high, low, close, 14)
    raw["atr_14"] = talib.ATR(high, low, close, 14)
    upper, middle, lower = talib.BBANDS(close, 20, 2.0, 2.0)
    raw["bollinger_bandwidth"] = (upper - lower) / middle
    raw["obv"] = talib.OBV(close, volume)
    raw["volume_sma_20"] = talib.SMA(volume, 20)
    raw["return_1"] = history["close"].pct_change()
    raw["sentiment"] = _last_known(history, events, "sentiment").fillna(0.5)
    angle = 2 * np.pi * history["closed_at"].dt.tz_convert(time_zone).dt.day_of_week / 7
    raw["weekday_sin"] = np.sin(angle)
    raw["weekday_cos"] = np.cos(angle)
    return raw


def _network_form(raw: pd.DataFrame) -> pd.DataFrame:
    """Scale-free form of the 23 features of one symbol."""
    network = raw.copy()
    close = raw["close"]
    for name in ("open", "high", "low", "vwap", "sma_10", "sma_20"):
        network[name] = raw[name] / close - 1
    for name in ("macd_line", "macd_signal", "macd_histogram", "atr_14"):
        network[name] = raw[name] / close
    for name in ("rsi_14", "stochastic_k", "stochastic_d"):
        network[name] = raw[name] / 50 - 1
    network["close"] = np.log(close / close.shift(24))
    network["adx_14"] = raw["adx_14"] / 100
    relative_volume = (raw["volume"] / raw["volume_sma_20"]).mask(raw["volume_sma_20"] == 0, 1.0)
    network["volume"] = np.log1p(relative_volume) - np.log(2)
    total = raw["volume"].rolling(20).sum()
    network["obv"] = (raw["obv"].diff(20) / total).mask(total == 0, 0.0)
    earlier = raw["volume_sma_20"].shift(20)
    both = (raw["volume_sma_20"] > 0) & (earlier > 0)
    ratio = raw["volume_sma_20"] / earlier
    network["volume_sma_20"] = np.log(ratio.where(both | ratio.isna(), 1.0))
    network["sentiment"] = 2 * raw["sentiment"] - 1
    return network


def _regimes(raw: pd.DataFrame) -> pd.DataFrame:
    """Eight regime indicators of one symbol, and what the two of the market are made from."""
    import pandas as pd
    import talib

    close = raw["close"]
    log_returns = pd.Series(np.log(close / close.shift(1)))
    volatility = log_returns.rolling(24).std(ddof=0)
    earlier = volatility.shift(24)
    true_range = pd.Series(talib.TRANGE(*(raw[n].to_numpy() for n in ("high", "low", "close"))))
    slope = (raw["sma_20"] - close.rolling(50).mean()) / true_range.rolling(50).mean()
    path_length = np.sqrt((log_returns**2).rolling(24).sum())
    momentum = np.log(close / close.shift(24)) / path_length
    above = (close > raw["sma_20"]).astype(float).where(raw["sma_20"].notna())
    return pd.DataFrame(
        {
            "realised_volatility": volatility / (volatility + 0.01),
            "volatility_regime": _percentile(volatility),
            "trend_strength": close.diff(24).abs() / close.diff().abs().rolling(24).sum(),
            "trend_regime": slope / np.sqrt(1 + slope**2),
            "volume_regime": _percentile(raw["volume_sma_20"]),
            "atr_regime": _percentile(raw["atr_14"] / close),
            "momentum_regime": momentum / np.sqrt(1 + momentum**2),
            "volatility_trend": (volatility - earlier) / (volatility + earlier),
            "_above": above,
            "_volatility": volatility,
        }
    )


def _percentile(values: pd.Series) -> pd.Series:
    # Ranked at float32 precision, as the features define it.
    ranks = values.astype(np.float32).rolling(PERCENTILE_BARS).rank(method="min")
    return (ranks - 1) / (PERCENTILE_BARS - 1)


def _require_extra() -> None:
    for package in ("pandas", "talib"):
        if find_spec(package) is None:
            raise MissingExtraError("bench", package=package)
