from __future__ import annotations

import numpy as np
import polars as pl

from tradingbot.data.schema import require_bars, require_covariates
from tradingbot.data.synthetic.bar_frames import to_frames
from tradingbot.data.synthetic.market import SyntheticMarket

SYMBOLS = ("ZZZ", "AAA", "B/C")
TIMES = np.array(["2024-01-02T15:30", "2024-01-02T16:30"], dtype="datetime64[us]")


def small_market(**covariates: np.ndarray) -> SyntheticMarket:
    cells = np.arange(6.0).reshape(2, 3)
    fields = {
        name: 10.0 * k + cells
        for k, name in enumerate(("opens", "highs", "lows", "closes", "volumes", "vwaps"), start=1)
    }
    return SyntheticMarket(
        "small", SYMBOLS, TIMES, **fields, covariates=covariates, latent={}, params={}, seed=0
    )


def test_to_frames_bars_follow_the_schema():
    bars, covariates = to_frames(small_market())
    require_bars(bars, where="test")
    require_covariates(covariates, where="test")
    assert bars.height == 6
    assert covariates.is_empty()
    assert bars["known_at"].equals(bars["closed_at"].alias("known_at"))


def test_to_frames_each_cell_lands_in_its_row():
    market = small_market()
    bars, _ = to_frames(market)
    for column, symbol in enumerate(SYMBOLS):
        own = bars.filter(pl.col("symbol") == symbol)
        assert own["closed_at"].to_numpy().astype("datetime64[us]").tolist() == TIMES.tolist()
        for name in ("open", "high", "low", "close", "volume", "vwap"):
            expected = getattr(market, f"{name}s")[:, column]
            assert own[name].to_list() == expected.tolist(), (symbol, name)


def test_to_frames_covariates_skip_nan_and_keep_every_value():
    signal = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 6.0]])
    other = np.full((2, 3), 0.5)
    _, rows = to_frames(small_market(signal=signal, other=other))
    require_covariates(rows, where="test")
    kept = rows.filter(pl.col("name") == "signal").select("symbol", "value").rows()
    assert kept == [("B/C", 3.0), ("B/C", 6.0), ("ZZZ", 1.0)]
    assert rows.filter(pl.col("name") == "other").height == 6
    first = rows.filter((pl.col("symbol") == "ZZZ") & (pl.col("name") == "signal"))
    assert first["available_at"].dt.hour().to_list() == [15]
