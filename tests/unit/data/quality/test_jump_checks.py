"""Splits, jumps and splices: what is told apart from what."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl

from fixtures.defects import DEFECTS
from fixtures.dirty_market import clean_market, closes
from tradingbot.data.quality.validation import validate

PRICES = ("open", "high", "low", "close", "vwap")


def codes_of(bars: pl.DataFrame) -> set[str]:
    report = validate(bars, None, provenance=clean_market().provenance)
    return {finding.code for finding in report.findings}


def scaled(factor: float, times: tuple[datetime, ...], symbol: str = "CCC") -> pl.DataFrame:
    is_it = (pl.col("symbol") == symbol) & pl.col("closed_at").is_in(times)
    return clean_market().bars.with_columns(
        pl.when(is_it).then(pl.col(name) * factor).otherwise(pl.col(name)).alias(name)
        for name in PRICES
    )


def test_halving_that_lasts_three_bars_is_a_jump_not_a_split() -> None:
    codes = codes_of(scaled(0.5, closes()[150:153]))

    assert "SUSPECTED_SPLIT" not in codes
    assert "UNEXPLAINED_JUMP" in codes


def test_split_three_bars_before_the_end_of_a_symbol_is_found() -> None:
    assert "SUSPECTED_SPLIT" in codes_of(scaled(0.25, closes()[-3:]))


def test_split_is_not_reported_as_a_jump_as_well() -> None:
    codes = codes_of(DEFECTS["split_4_for_1"].plant(clean_market()).bars)

    assert "UNEXPLAINED_JUMP" not in codes


def test_move_of_fifteen_in_a_hundred_is_no_jump() -> None:
    assert "UNEXPLAINED_JUMP" not in codes_of(scaled(1.15, closes()[150:]))


def test_symbol_that_always_moves_by_a_quarter_has_no_jump() -> None:
    is_it = pl.col("symbol") == "CCC"
    count = len(closes())
    close = np.where(np.arange(count) % 2, 125.0, 100.0)
    open_ = np.roll(close, 1)
    wild = (
        clean_market()
        .bars.filter(is_it)
        .with_columns(
            open=pl.Series(open_),
            close=pl.Series(close),
            high=pl.Series(np.maximum(open_, close)),
            low=pl.Series(np.minimum(open_, close)),
            vwap=pl.Series((open_ + close) / 2),
        )
    )
    bars = pl.concat([clean_market().bars.filter(~is_it), wild]).sort("symbol", "closed_at")

    assert "UNEXPLAINED_JUMP" not in codes_of(bars)
