"""Rules about a symbol's series of prices and volumes: jumps, splits, splices, frozen feeds.

Rows reach these rules only if no rule of `row_checks` or `neighbour_checks` condemned them.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from tradingbot.data.quality.check import MarketCheck, as_text, describe, hit, no_hits
from tradingbot.data.quality.finding import Severity
from tradingbot.data.quality.neighbour_checks import ROBUST_SIGMA
from tradingbot.data.quality.row_checks import SHOWN_OHLC
from tradingbot.data.quality.view import MarketView

STALE_RUN_BARS = 4
JUMP_FRAC = 0.2
JUMP_SIGMAS = 10.0
LONG_WICK_FRAC = 0.3
SPLIT_TOLERANCE_FRAC = 0.02
LARGE_SPLIT = 3.0  # from here on no market moves by itself, so the open may differ more
LARGE_SPLIT_TOLERANCE_FRAC = 0.05
SPLIT_LEVEL_BARS = 7  # the level must have been there as long, and stay as long
SPLIT_LEVEL_TOLERANCE_FRAC = 0.1
SPLIT_FACTORS = (1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 50, 100)
SPLICE_SESSIONS = 5
SPLICE_LOG_MOVE = math.log(1.5)
PRICE_CEILING = 1e6
PRICE_FLOOR = 1e-4
VWAP_TOLERANCE_FRAC = 0.005

_MOVE = (pl.col("close") / pl.col("prev_close")).log()
_GAP = (pl.col("open") / pl.col("prev_close")).log()
_MOVED = pl.format("{} after {}", as_text("open"), as_text("prev_close"))


def find_splits(view: MarketView) -> pl.DataFrame:
    """Price gaps that look like a split nobody adjusted for."""
    return describe(_split_rows(view).filter(pl.col("open") < pl.col("prev_close")), _MOVED)


def find_reverse_splits(view: MarketView) -> pl.DataFrame:
    """Price gaps that look like a reverse split nobody adjusted for."""
    return describe(_split_rows(view).filter(pl.col("open") > pl.col("prev_close")), _MOVED)


def find_jumps(view: MarketView) -> pl.DataFrame:
    """Moves beyond 20 % and ten robust standard deviations that no split or splice explains."""
    move = _MOVE.abs()
    is_large = (pl.col("close") / pl.col("prev_close") - 1).abs() >= JUMP_FRAC
    candidates = view.bars.with_row_index("row").filter(is_large)
    if candidates.is_empty():
        return no_hits()
    sigma = view.bars.group_by("column").agg(sigma=ROBUST_SIGMA * move.median())
    explained = pl.concat([_split_rows(view), _splice_rows(view)]).select("symbol", "closed_at")
    example = pl.format("{} %", ((pl.col("close") / pl.col("prev_close") - 1) * 100).round(1))
    jumps = (
        candidates.join(sigma, on="column", how="left", maintain_order="left")
        .filter(move >= JUMP_SIGMAS * pl.col("sigma"))
        .join(explained, on=["symbol", "closed_at"], how="anti", maintain_order="left")
    )
    return describe(jumps, example)


def find_splices(view: MarketView) -> pl.DataFrame:
    """Breaks of level after a long gap: another instrument under the same name?"""
    return describe(_splice_rows(view), _MOVED)


def find_stale_runs(view: MarketView) -> pl.DataFrame:
    """Runs of bars with the same four prices."""
    bars = view.bars
    key = ["column", "open", "high", "low", "close"]
    is_repeat = pl.all_horizontal([pl.col(name) == pl.col(name).shift(1) for name in key])
    repeats = bars.select(is_repeat.fill_null(False)).to_series()
    runs = repeats.rle().struct.unnest().with_columns(end=pl.col("len").cum_sum())
    long = runs.filter(pl.col("value") & (pl.col("len") >= STALE_RUN_BARS - 1))
    first = (long["end"] - long["len"]).cast(pl.Int64) - 1
    rows = bars[first].with_columns(count=long["len"] + 1)
    return describe(rows, pl.format("{} bars at {}", "count", as_text("close")))


def find_long_wicks(view: MarketView) -> pl.DataFrame:
    """Bars whose low or high lies far outside open and close."""
    low = pl.col("low") < (1 - LONG_WICK_FRAC) * pl.min_horizontal("open", "close")
    high = pl.col("high") * (1 - LONG_WICK_FRAC) > pl.max_horizontal("open", "close")
    return describe(view.bars.filter(low | high), SHOWN_OHLC)


def find_zero_volume(view: MarketView) -> pl.DataFrame:
    """Bars in which nothing traded and nothing moved."""
    return describe(view.bars.filter(pl.col("volume") == 0), as_text("close"))


def find_fractional_volume(view: MarketView) -> pl.DataFrame:
    """Parts of shares, on an exchange that trades whole ones."""
    if view.provenance.calendar == "24/7":
        return no_hits()
    volume = pl.col("volume")
    return describe(view.bars.filter(volume != volume.floor()), as_text("volume"))


def find_extreme_prices(view: MarketView) -> pl.DataFrame:
    """Prices above a million or below a hundredth of a cent."""
    is_extreme = (pl.col("high") > PRICE_CEILING) | (pl.col("low") < PRICE_FLOOR)
    return describe(view.bars.filter(is_extreme), as_text("close"))


def find_odd_vwaps(view: MarketView) -> pl.DataFrame:
    """Average prices clearly outside the bar they are the average of."""
    vwap = pl.col("vwap")
    is_odd = (vwap < pl.col("low") * (1 - VWAP_TOLERANCE_FRAC)) | (
        vwap > pl.col("high") * (1 + VWAP_TOLERANCE_FRAC)
    )
    example = pl.format("vwap {} in {} … {}", *map(as_text, ("vwap", "low", "high")))
    return describe(view.bars.filter(is_odd), example)


def find_late_known(view: MarketView) -> pl.DataFrame:
    """Bars that became known more than one bar after they closed."""
    delay = pl.col("known_at") - pl.col("closed_at")
    example = pl.format("{} minutes late", delay.dt.total_minutes())
    return describe(view.bars.filter(delay > view.timeframe.duration), example)


def find_short_histories(view: MarketView) -> pl.DataFrame:
    """Symbols with fewer bars than the trailing window."""
    counts = view.bars.group_by("symbol", maintain_order=True).agg(
        at=pl.col("closed_at").first(), count=pl.len()
    )
    example = pl.format("{} bars", "count")
    return describe(counts.filter(pl.col("count") < view.trailing_bars), example, at="at")


def find_dividend_gaps(view: MarketView) -> pl.DataFrame:
    """Say that ex-dividend days show as falls, where prices are not adjusted for dividends."""
    has_dividends = view.provenance.calendar != "24/7" and not view.provenance.synthetic
    if not has_dividends or view.provenance.adjustment == "split_dividend":
        return no_hits()
    return hit(f"adjustment: {view.provenance.adjustment}")


def _splice_rows(view: MarketView) -> pl.DataFrame:
    rows = view.bars.filter(_GAP.abs() >= SPLICE_LOG_MOVE, pl.col("prev_slot").is_not_null())
    rows = rows.filter(pl.col("slot").is_not_null())
    session = view.session_index
    skipped = session[rows["slot"].to_numpy()] - session[rows["prev_slot"].to_numpy()]
    return rows.filter(pl.Series(skipped > SPLICE_SESSIONS, dtype=pl.Boolean))


def _split_rows(view: MarketView) -> pl.DataFrame:
    """Rows that open at a split's ratio of the close before, and stay at that level."""
    factors = np.log(SPLIT_FACTORS)
    bars = view.bars.with_row_index("row")
    rows = bars.filter(_GAP.abs() >= factors[0] - SPLIT_TOLERANCE_FRAC)
    gap = rows.select(_GAP).to_series().to_numpy()
    distance = np.abs(np.abs(gap)[:, None] - factors)
    nearest = factors[distance.argmin(axis=1)] if len(gap) else gap
    tolerance = np.where(
        nearest >= math.log(LARGE_SPLIT), LARGE_SPLIT_TOLERANCE_FRAC, SPLIT_TOLERANCE_FRAC
    )
    shift = _level_shift(bars, rows["row"].to_numpy().astype(np.int64))
    holds = np.abs(shift - np.sign(gap) * nearest) <= SPLIT_LEVEL_TOLERANCE_FRAC
    is_split = (np.abs(np.abs(gap) - nearest) <= tolerance) & holds
    splits = rows.filter(pl.Series(is_split, dtype=pl.Boolean)).drop("row")
    return splits.join(
        _splice_rows(view).select("symbol", "closed_at"),
        on=["symbol", "closed_at"],
        how="anti",
        maintain_order="left",
    )


def _level_shift(bars: pl.DataFrame, rows: np.ndarray) -> np.ndarray:
    """Log ratio of the median close after (from each row on) to the one before, same symbol."""
    close, column = np.log(bars["close"].to_numpy()), bars["column"].to_numpy()

    def level(offsets: np.ndarray) -> np.ndarray:
        index = np.clip(rows[:, None] + offsets, 0, len(close) - 1)
        inside = column[index] == column[rows][:, None]
        return np.asarray(np.nanmedian(np.where(inside, close[index], np.nan), axis=1))

    if not len(rows):
        return np.zeros(0)
    after, before = level(np.arange(SPLIT_LEVEL_BARS)), level(np.arange(-SPLIT_LEVEL_BARS, 0))
    return np.asarray(after - before)


SERIES_CHECKS: tuple[MarketCheck, ...] = (
    MarketCheck(
        "SUSPECTED_SPLIT",
        "D13",
        Severity.ERROR,
        "price falls by a split's ratio and stays: adjust for it",
        find=find_splits,
    ),
    MarketCheck(
        "SUSPECTED_REVERSE_SPLIT",
        "D14",
        Severity.ERROR,
        "price rises by a reverse split's ratio and stays: adjust for it",
        find=find_reverse_splits,
    ),
    MarketCheck(
        "UNEXPLAINED_JUMP",
        "D18",
        Severity.WARNING,
        "price moves by 20 % or more in a bar: news, or a bad print?",
        find=find_jumps,
    ),
    MarketCheck(
        "SERIES_SPLICE",
        "D22",
        Severity.WARNING,
        "level breaks after a long gap: another instrument under this name?",
        find=find_splices,
    ),
    MarketCheck(
        "STALE_RUN",
        "D19",
        Severity.WARNING,
        "the same bar repeats: frozen feed?",
        find=find_stale_runs,
    ),
    MarketCheck(
        "LONG_WICK",
        "D18",
        Severity.WARNING,
        "low or high lies 30 % outside open and close",
        find=find_long_wicks,
    ),
    MarketCheck(
        "ZERO_VOLUME", "D05", Severity.INFO, "no volume and no move", find=find_zero_volume
    ),
    MarketCheck(
        "VOLUME_FRACTIONAL", "", Severity.INFO, "volume is not whole", find=find_fractional_volume
    ),
    MarketCheck(
        "EXTREME_PRICE",
        "",
        Severity.INFO,
        "price is above 1e6 or below 1e-4",
        find=find_extreme_prices,
    ),
    MarketCheck(
        "VWAP_OUTSIDE_RANGE",
        "",
        Severity.WARNING,
        "vwap lies outside low and high",
        find=find_odd_vwaps,
    ),
    MarketCheck(
        "LATE_KNOWN_AT",
        "D20",
        Severity.WARNING,
        "a bar was known later than one bar after its close",
        find=find_late_known,
    ),
    MarketCheck(
        "SHORT_HISTORY",
        "D23",
        Severity.WARNING,
        "fewer bars than the trailing window",
        find=find_short_histories,
    ),
    MarketCheck(
        "DIVIDENDS_UNADJUSTED",
        "D15",
        Severity.INFO,
        "ex-dividend days show as falls: returns are price returns",
        find=find_dividend_gaps,
    ),
)
