"""Generated arrays as frames in the stored schema."""

from __future__ import annotations

import numpy as np
import polars as pl

from tradingbot.data.schema import BAR_COLUMNS, COVARIATE_COLUMNS, UTC_TIME
from tradingbot.data.synthetic.market import FloatArray, SyntheticMarket


def to_frames(market: SyntheticMarket) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lay a market out in rows: bars, covariates.

    Both frames are sorted as the schema asks and a bar is known at its close. NaN cells of
    covariates carry no value and become no row.
    """
    order = np.argsort(np.array(market.symbols))
    return _bars(market, order), _covariates(market, order)


def _bars(market: SyntheticMarket, order: np.ndarray) -> pl.DataFrame:
    closed_at = _tiled_times(market)
    return pl.DataFrame(
        {
            "symbol": _repeated(market.symbols, order, len(market.closed_at)),
            "closed_at": closed_at,
            "known_at": closed_at,
            "open": _rows(market.opens, order),
            "high": _rows(market.highs, order),
            "low": _rows(market.lows, order),
            "close": _rows(market.closes, order),
            "volume": _rows(market.volumes, order),
            "vwap": _rows(market.vwaps, order),
        },
        schema=BAR_COLUMNS,
    )


def _covariates(market: SyntheticMarket, order: np.ndarray) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=COVARIATE_COLUMNS)]
    symbols = np.array(market.symbols)[order]
    for name, values in market.covariates.items():
        rows = np.ascontiguousarray(values[:, order].T)
        column, bar = np.nonzero(~np.isnan(rows))
        frames.append(
            pl.DataFrame(
                {
                    "symbol": pl.Series(symbols)[column],
                    "name": pl.repeat(name, len(column), eager=True),
                    "available_at": _times(market)[bar],
                    "value": rows[column, bar],
                },
                schema=COVARIATE_COLUMNS,
            )
        )
    return pl.concat(frames).sort(["symbol", "name", "available_at"])


def _times(market: SyntheticMarket) -> pl.Series:
    ticks = market.closed_at.astype("datetime64[us]").astype(np.int64)
    return pl.Series(ticks).cast(UTC_TIME)


def _tiled_times(market: SyntheticMarket) -> pl.Series:
    ticks = market.closed_at.astype("datetime64[us]").astype(np.int64)
    return pl.Series(np.tile(ticks, len(market.symbols))).cast(UTC_TIME)


def _repeated(symbols: tuple[str, ...], order: np.ndarray, times: int) -> pl.Series:
    index = np.repeat(np.arange(len(order)), times)
    return pl.Series(np.array(symbols)[order].tolist(), dtype=pl.String).gather(index)


def _rows(values: FloatArray, order: np.ndarray) -> FloatArray:
    rows: FloatArray = values[:, order].T.reshape(-1)
    return rows
