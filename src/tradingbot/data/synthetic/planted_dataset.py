"""A stored dataset with a signal of known strength planted in it, stored as another one.

What is planted is what `tradingbot power` plants (`spike_in`); here it is kept, so that the whole
pipeline can be run on bars of one's own that hold a known edge. The new dataset is synthetic, and
its provenance says what was planted in which bars.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.data.bar_moves import BarArrays
from tradingbot.data.dataset_names import require_name
from tradingbot.data.schema import COVARIATE_COLUMNS, COVARIATE_KEY
from tradingbot.data.store import BarStore, Dataset
from tradingbot.data.synthetic.spike_in import plant_signal
from tradingbot.domain.errors import DataError

PLANTED_SIGNAL = "planted_signal"
"""Covariate that agents see; another than `signal`, which the data may have already."""


def plant_dataset(
    dataset: Dataset, store: BarStore, *, name: str, kappa: float, phi: float, seed: int
) -> Dataset:
    """Store the bars of a dataset again with a signal in every symbol, and the signal beside them.

    Args:
        dataset: Stays as it is.
        store: Where the new dataset goes.
        name: What it will be called.
        kappa: Expected return of the next bar per unit of signal, in units of volatility.
        phi: Persistence of the signal per bar, in [0, 1).
        seed: Root of the streams that draw the signal.

    Raises:
        ConfigError: If strength or persistence is out of range.
        DataError: If a signal was planted there before.
    """
    require_name(name)
    there = dataset.load_covariates()
    if PLANTED_SIGNAL in dataset.manifest.covariates:
        rule, remedy = "a signal must be planted once", "Plant it in the dataset without one"
        raise DataError(rule, was=f"{PLANTED_SIGNAL}, which is there", where=name, remedy=remedy)
    bars, symbols = dataset.load_bars(), dataset.manifest.symbols
    cell, shape = _cells(bars, symbols)
    arrays = BarArrays(*(_laid_out(bars[field], cell, shape) for field in BarArrays._fields))
    planted = plant_signal(arrays, symbols, kappa=kappa, phi=phi, seed=seed)
    columns = zip(BarArrays._fields, planted.bars, strict=True)
    changed = bars.with_columns(pl.Series(field, each.reshape(-1)[cell]) for field, each in columns)
    signal = bars.select("symbol", pl.lit(PLANTED_SIGNAL).alias("name"), "known_at").rename(
        {"known_at": "available_at"}
    )
    signal = signal.with_columns(pl.Series("value", planted.signal.reshape(-1)[cell]))
    provenance = dataset.manifest.provenance
    told = {
        "planted_in": dataset.manifest.content_sha256,
        "planted_kappa": kappa,
        "planted_phi": phi,
        "planted_seed": seed,
    }
    return store.save(
        changed,
        provenance.model_copy(update={"synthetic": True, "detail": provenance.detail | told}),
        name=name,
        covariates=pl.concat([there, signal.select([*COVARIATE_COLUMNS])]).sort(COVARIATE_KEY),
        quarantine=dataset.load_quarantine(),
    )


def _cells(
    bars: pl.DataFrame, symbols: tuple[str, ...]
) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Return the place of every bar in a table of closes by symbols, and the table's shape."""
    clock, row = np.unique(bars["closed_at"].to_physical().to_numpy(), return_inverse=True)
    column = bars["symbol"].cast(pl.Enum(list(symbols))).to_physical().cast(pl.Int64).to_numpy()
    return row * len(symbols) + column, (len(clock), len(symbols))


def _laid_out(
    values: pl.Series, cell: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    table = np.full(shape, np.nan)
    table.reshape(-1)[cell] = values.to_numpy()
    return table
