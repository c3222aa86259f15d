"""How often validation lets luck in, and how often it finds what is there.

python benchmarks/admission.py BARS.parquet [--draws 500] [--power 40] [--seed 0]

BARS has the columns timestamp, symbol, open, high, low, close. Nulls of three kinds on windows of
494 bars in which the market rose or fell, with and without costs; oracles of planted markets of 143
symbols. About a minute per thousand nulls. Exits with 1 where more than 3 % of a kind are let in.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC
from tradingbot_benchmarks.evaluation.admission import (
    LARGEST_SIZE,
    NULLS,
    Bars,
    bars_of,
    power,
    size,
    table,
)

_FIELDS = ("open", "high", "low", "close")
_FEWEST_SHARE = 0.9
"""Symbols with fewer of the bars are left out: windows are to be of the same symbols."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bars", type=Path)
    parser.add_argument("--draws", type=int, default=500, help="of each kind of null")
    parser.add_argument("--power", type=int, default=40, help="markets per point of the curve")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    bars = read_bars(options.bars)
    rows = [
        (
            f"{null}, {trend}, {'costs' if cost else 'free'}",
            size(bars, null, trend, cost_frac=cost, n_draws=options.draws, seed=options.seed),
            options.draws,
        )
        for null in NULLS
        for trend in ("rising", "falling", "any")
        for cost in (0.0, DEFAULT_COST_FRAC)
    ]
    print(f"{options.bars.name}: {len(bars.symbols)} symbols, {len(bars.closed_at):,} bars")
    print(table(rows), flush=True)
    curve = [
        (
            f"oracle, κ {kappa:g}, correlation {rho:g}",
            power(kappa, rho, n_symbols=143, n_draws=options.power, seed=options.seed),
            options.power,
        )
        for rho in (0.0, 0.3, 0.5)
        for kappa in (0.01, 0.02, 0.03, 0.04, 0.06, 0.1)
    ]
    print(table(curve))
    sys.exit(int(any(found.alpha > LARGEST_SIZE for _, found, _ in rows)))


def read_bars(path: Path) -> Bars:
    """Lay bars of a file on one clock."""
    frame = pl.read_parquet(path, columns=["timestamp", "symbol", *_FIELDS])
    counts = frame.group_by("symbol").len()
    kept = counts.filter(pl.col("len") >= _FEWEST_SHARE * counts["len"].max())["symbol"]
    frame = frame.filter(pl.col("symbol").is_in(kept.implode())).sort("timestamp", "symbol")
    clock, row = np.unique(frame["timestamp"].to_numpy(), return_inverse=True)
    names, column = np.unique(frame["symbol"].to_numpy().astype(str), return_inverse=True)
    prices = np.full((len(names), len(clock), 4), np.nan)
    prices[column, row] = frame.select(_FIELDS).to_numpy()
    crowded = np.isfinite(prices[..., 3]).mean(axis=0) > 0.5
    prices = prices[:, crowded]
    closed_at = clock[crowded].astype("datetime64[us]").astype(np.int64)
    return bars_of(prices, np.isfinite(prices[..., 3]), closed_at)


if __name__ == "__main__":
    main()
