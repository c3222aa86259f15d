"""Generated arrays as frames in the stored schema."""

from __future__ import annotations

import numpy as np
import polars as pl

from tradingbot.data import schema
from tradingbot.data.synthetic.market import SyntheticMarket


def to_frames(market: SyntheticMarket) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lay a market out in rows: bars, covariates.

    Both frames are sorted as the schema asks and a bar is known at its close. NaN cells of
    covariates carry no value and become no row.
    """
    order = np.argsort(np.array(market.symbols))
    ticks = market.closed_at.astype("datetime64[us]").astype(np.int64)
    return _bars(market, order, ticks), _covariates(market, order, ticks)


def _bars(market: SyntheticMarket, order: np.ndarray, ticks: np.ndarray) -> pl.DataFrame:
    symbols = pl.Series(np.array(market.symbols)[order].tolist(), dtype=pl.String)
    closed_at = pl.Series(np.tile(ticks, len(order))).cast(schema.UTC_TIME)
    columns = {
        "symbol": symbols.gather(np.repeat(np.arange(len(order)), len(ticks))),
        "closed_at": closed_at,
        "known_at": closed_at,
    }
    for name in (*schema.PRICE_COLUMNS, "volume", "vwap"):
        columns[name] = getattr(market, f"{name}s")[:, order].T.reshape(-1)
    return pl.DataFrame(columns, schema=schema.BAR_COLUMNS)


def _covariates(market: SyntheticMarket, order: np.ndarray, ticks: np.ndarray) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=schema.COVARIATE_COLUMNS)]
    symbols = pl.Series(np.array(market.symbols)[order])
    times = pl.Series(ticks).cast(schema.UTC_TIME)
    for name, values in market.covariates.items():
        rows = np.ascontiguousarray(values[:, order].T)
        column, bar = np.nonzero(~np.isnan(rows))
        label = pl.repeat(name, len(column), eager=True)
        cells = (symbols[column], label, times[bar], rows[column, bar])
        columns = dict(zip(schema.COVARIATE_COLUMNS, cells, strict=True))
        frames.append(pl.DataFrame(columns, schema=schema.COVARIATE_COLUMNS))
    return pl.concat(frames).sort(schema.COVARIATE_KEY)
