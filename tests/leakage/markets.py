"""Small synthetic markets with absent bars, late listings, delistings and covariates."""

from __future__ import annotations

import numpy as np

from tradingbot.domain.seeding import stream
from tradingbot.features.inputs import CovariateEvents, MarketInputs


def closing_times(days: int) -> np.ndarray:
    """Seven closes per New York weekday from 2024-01-02 (14:30 UTC open), winter and summer."""
    days_on = np.arange(np.datetime64("2024-01-02"), np.datetime64("2024-01-02") + 2 * days + 20)
    days_on = days_on[np.is_busday(days_on)][:days]
    opens = days_on.astype("datetime64[us]") + np.timedelta64(14 * 60 + 30, "m")
    minutes = np.array([60, 120, 180, 240, 300, 360, 390]).astype("timedelta64[m]")
    return (opens[:, None] + minutes).reshape(-1)


def synthetic_inputs(
    days: int = 45, symbols: int = 6, seed: int = 3, *, covariates: tuple[str, ...] = ("sentiment",)
) -> MarketInputs:
    """Random walks; symbol 1 lists late, symbol 2 is delisted early, bars go missing."""
    rng = stream(seed, "leakage", "market")
    closed_at = closing_times(days)
    shape = (len(closed_at), symbols)
    present = rng.random(shape) > 0.04
    if symbols > 2:
        present[: shape[0] // 5, 1] = False
        present[-shape[0] // 6 :, 2] = False
    present[shape[0] // 3 : shape[0] // 3 + 4, 0] = False
    close = 100.0 * np.exp(np.cumsum(rng.normal(0, 0.01, size=shape), axis=0))
    open_ = close * np.exp(rng.normal(0, 0.004, size=shape))
    high = np.maximum(open_, close) * np.exp(np.abs(rng.normal(0, 0.003, size=shape)))
    low = np.minimum(open_, close) * np.exp(-np.abs(rng.normal(0, 0.003, size=shape)))
    volume = np.floor(rng.lognormal(10, 1, size=shape))
    fields = {"open": open_, "high": high, "low": low, "close": close, "volume": volume}
    fields["vwap"] = (high + low + close) / 3
    bars = {name: np.where(present, values, np.nan) for name, values in fields.items()}
    events = {name: _events(closed_at, symbols, seed, name) for name in covariates}
    names = tuple(f"S{i}" for i in range(symbols))
    return MarketInputs(names, closed_at, present, bars, events)


def _events(closed_at: np.ndarray, symbols: int, seed: int, name: str) -> CovariateEvents:
    """One event per symbol and day, published in the evening; every fifth exactly on a close."""
    rng = stream(seed, "leakage", name)
    days = np.unique(closed_at.astype("datetime64[D]"))
    index = np.tile(np.arange(symbols - 1), len(days))  # the last symbol never has an event
    evening = np.timedelta64(22 * 60 + 5, "m")
    at = np.repeat(days.astype("datetime64[us]") + evening, symbols - 1)
    on_close = rng.choice(closed_at, size=len(at))
    at = np.where(rng.random(len(at)) < 0.2, on_close, at)
    order = np.lexsort((index, at))
    return CovariateEvents(index[order].astype(np.int64), at[order], rng.random(len(at)))
