"""Rules about a symbol's level of price: unadjusted splits, jumps, splices.

Rows reach these rules only if no rule of `row_checks` condemned them.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from tradingbot.data.quality import check
from tradingbot.data.quality.check import as_text, describe, no_hits
from tradingbot.data.quality.row_checks import ROBUST_SIGMA
from tradingbot.data.quality.view import QualityView
from tradingbot.data.schema import BAR_KEY

JUMP_FRAC = 0.2
JUMP_SIGMAS = 10.0
SPLIT_TOLERANCE_FRAC = 0.02
SURE_SPLIT = 1.9  # factors below (3:2) also come from news: SNPS fell by a third on 2025-09-10
LARGE_SPLIT = 3.0  # from here on no market moves by itself, so the open may differ more
LARGE_SPLIT_TOLERANCE_FRAC = 0.05
SPLIT_LEVEL_BARS = 7  # the level must have been there as long, and stay as long
SPLIT_LEVEL_TOLERANCE_FRAC = 0.1
SPLIT_FACTORS = (1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 50, 100)
SPLICE_SESSIONS = 5
SPLICE_LOG_MOVE = math.log(1.5)
_MOVE = (pl.col("close") / pl.col("prev_close")).log()
_GAP = (pl.col("open") / pl.col("prev_close")).log()
_IS_FALL = pl.col("open") < pl.col("prev_close")
_PERCENT = pl.format("{} %", ((pl.col("close") / pl.col("prev_close") - 1) * 100).round(1))
_MOVED = pl.format("{} after {}", as_text("open"), as_text("prev_close"))


@check.error("SUSPECTED_SPLIT", "D13", "price falls by a split's ratio and stays: adjust for it")
def find_splits(view: QualityView) -> pl.DataFrame:
    """Price gaps that look like an unadjusted split."""
    return describe(_split_rows(view).filter(_IS_FALL, pl.col("factor") >= SURE_SPLIT), _MOVED)


@check.error(
    "SUSPECTED_REVERSE_SPLIT",
    "D14",
    "price rises by a reverse split's ratio and stays: adjust for it",
)
def find_reverse_splits(view: QualityView) -> pl.DataFrame:
    """Price gaps that look like an unadjusted reverse split."""
    return describe(_split_rows(view).filter(~_IS_FALL, pl.col("factor") >= SURE_SPLIT), _MOVED)


@check.warning("POSSIBLE_SPLIT", "D13", "price moves by 3:2 or 2:3 and stays: split, or news?")
def find_possible_splits(view: QualityView) -> pl.DataFrame:
    """Price gaps of 3:2 or 2:3, which news alone can bring about."""
    return describe(_split_rows(view).filter(pl.col("factor") < SURE_SPLIT), _MOVED)


@check.warning(
    "UNEXPLAINED_JUMP", "D18", "price moves by 20 % or more in a bar: news, or a bad print?"
)
def find_jumps(view: QualityView) -> pl.DataFrame:
    """Large moves of a real market that no split or splice explains."""
    if view.provenance.synthetic:
        return no_hits()
    unexplained = _without(_without(_jump_rows(view), _split_rows(view)), _splice_rows(view))
    return describe(unexplained, _PERCENT)


@check.info("GENERATED_JUMP", "D18", "price of a generated market moves by 20 % or more in a bar")
def find_generated_jumps(view: QualityView) -> pl.DataFrame:
    """Large moves of a generated market: its jump process made them, no vendor did."""
    return describe(_jump_rows(view), _PERCENT) if view.provenance.synthetic else no_hits()


@check.warning(
    "SERIES_SPLICE", "D22", "level breaks after a long gap: another instrument under this name?"
)
def find_splices(view: QualityView) -> pl.DataFrame:
    """Breaks of level after a long gap: another instrument under the same name?"""
    return describe(_splice_rows(view), _MOVED)


def _jump_rows(view: QualityView) -> pl.DataFrame:
    """Moves beyond 20 % and ten robust standard deviations of the symbol's moves."""
    candidates = view.bars.filter((pl.col("close") / pl.col("prev_close") - 1).abs() >= JUMP_FRAC)
    if candidates.is_empty():
        return candidates
    sigma = view.bars.group_by("column").agg(sigma=ROBUST_SIGMA * _MOVE.abs().median())
    return candidates.join(sigma, on="column", how="left", maintain_order="left").filter(
        _MOVE.abs() >= JUMP_SIGMAS * pl.col("sigma")
    )


def _splice_rows(view: QualityView) -> pl.DataFrame:
    on_grid = pl.col("prev_slot").is_not_null() & pl.col("slot").is_not_null()
    rows = view.breaks.filter((_GAP.abs() >= SPLICE_LOG_MOVE) & on_grid)
    session = view.session_index
    skipped = session[rows["slot"].to_numpy()] - session[rows["prev_slot"].to_numpy()]
    return rows.filter(pl.Series(skipped > SPLICE_SESSIONS, dtype=pl.Boolean))


def _split_rows(view: QualityView) -> pl.DataFrame:
    """Rows that open at a split's ratio of the close before and stay there, with `factor`.

    A generated market has no splits: what looks like one is a jump.
    """
    factors = np.log(SPLIT_FACTORS)
    rows = view.breaks
    gap = rows.select(_GAP).to_series().to_numpy()
    distance = np.abs(np.abs(gap)[:, None] - factors)
    nearest = factors[distance.argmin(axis=1)] if len(gap) else gap
    tolerance = np.where(
        nearest >= math.log(LARGE_SPLIT), LARGE_SPLIT_TOLERANCE_FRAC, SPLIT_TOLERANCE_FRAC
    )
    shift = _level_shift(view.bars, rows["row"].to_numpy().astype(np.int64))
    holds = np.abs(shift - np.sign(gap) * nearest) <= SPLIT_LEVEL_TOLERANCE_FRAC
    is_split = (np.abs(np.abs(gap) - nearest) <= tolerance) & holds
    is_split &= not view.provenance.synthetic
    rows = rows.with_columns(factor=pl.Series(np.exp(nearest), dtype=pl.Float64))
    splits = rows.filter(pl.Series(is_split, dtype=pl.Boolean))
    return _without(splits, _splice_rows(view))


def _without(rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    return rows.join(others, on=BAR_KEY, how="anti", maintain_order="left")


def _level_shift(bars: pl.DataFrame, rows: np.ndarray) -> np.ndarray:
    """Log ratio of the median close after (from each row on) to the one before, same symbol."""
    close, column = bars["close"].to_numpy(), bars["column"].to_numpy()

    def level(offsets: np.ndarray) -> np.ndarray:
        index = np.clip(rows[:, None] + offsets, 0, len(close) - 1)
        inside = column[index] == column[rows][:, None]
        return np.asarray(np.nanmedian(np.where(inside, np.log(close[index]), np.nan), axis=1))

    if not len(rows):
        return np.zeros(0)
    after, before = level(np.arange(SPLIT_LEVEL_BARS)), level(np.arange(-SPLIT_LEVEL_BARS, 0))
    return np.asarray(after - before)
