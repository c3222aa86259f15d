"""Rules about a symbol's bars and volumes: frozen feeds, odd wicks, odd volumes, late arrival.

Rows reach these rules only if no rule of `row_checks` condemned them.
"""

from __future__ import annotations

import polars as pl

from tradingbot.data.quality import check
from tradingbot.data.quality.check import as_text, describe, hit, no_hits
from tradingbot.data.quality.row_checks import SHOWN_OHLC
from tradingbot.data.quality.view import QualityView

STALE_RUN_BARS = 4
LONG_WICK_FRAC = 0.3
PRICE_CEILING = 1e6
PRICE_FLOOR = 1e-4
VWAP_TOLERANCE_FRAC = 0.005


@check.warning("STALE_RUN", "D19", "the same bar repeats: frozen feed?")
def find_stale_runs(view: QualityView) -> pl.DataFrame:
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


@check.warning("LONG_WICK", "D18", "low or high lies 30 % outside open and close")
def find_long_wicks(view: QualityView) -> pl.DataFrame:
    """Bars whose low or high lies far outside open and close."""
    low = pl.col("low") < (1 - LONG_WICK_FRAC) * pl.min_horizontal("open", "close")
    high = pl.col("high") * (1 - LONG_WICK_FRAC) > pl.max_horizontal("open", "close")
    return describe(view.bars.filter(low | high), SHOWN_OHLC)


@check.info("ZERO_VOLUME", "D05", "no volume and no move")
def find_zero_volume(view: QualityView) -> pl.DataFrame:
    """Bars in which nothing traded and nothing moved."""
    return describe(view.bars.filter(pl.col("volume") == 0), as_text("close"))


@check.info("VOLUME_FRACTIONAL", "", "volume is not whole")
def find_fractional_volume(view: QualityView) -> pl.DataFrame:
    """Parts of shares, on an exchange that trades whole ones."""
    if view.provenance.calendar == "24/7":
        return no_hits()
    volume = pl.col("volume")
    return describe(view.bars.filter(volume != volume.floor()), as_text("volume"))


@check.info("EXTREME_PRICE", "", "price is above 1e6 or below 1e-4")
def find_extreme_prices(view: QualityView) -> pl.DataFrame:
    """Prices above a million or below a hundredth of a cent."""
    is_extreme = (pl.col("high") > PRICE_CEILING) | (pl.col("low") < PRICE_FLOOR)
    return describe(view.bars.filter(is_extreme), as_text("close"))


@check.warning("VWAP_OUTSIDE_RANGE", "", "vwap lies outside low and high")
def find_odd_vwaps(view: QualityView) -> pl.DataFrame:
    """Average prices clearly outside the bar they are the average of."""
    vwap = pl.col("vwap")
    is_odd = (vwap < pl.col("low") * (1 - VWAP_TOLERANCE_FRAC)) | (
        vwap > pl.col("high") * (1 + VWAP_TOLERANCE_FRAC)
    )
    example = pl.format("vwap {} in {} … {}", *map(as_text, ("vwap", "low", "high")))
    return describe(view.bars.filter(is_odd), example)


@check.warning("LATE_KNOWN_AT", "D20", "a bar was known later than one bar after its close")
def find_late_known(view: QualityView) -> pl.DataFrame:
    """Bars that became known more than one bar after they closed."""
    delay = pl.col("known_at") - pl.col("closed_at")
    example = pl.format("{} minutes late", delay.dt.total_minutes())
    return describe(view.bars.filter(delay > view.timeframe.duration), example)


@check.warning("SHORT_HISTORY", "D23", "fewer bars than the trailing window")
def find_short_histories(view: QualityView) -> pl.DataFrame:
    """Symbols with fewer bars than the trailing window."""
    counts = view.bars.group_by("symbol", maintain_order=True).agg(
        at=pl.col("closed_at").first(), count=pl.len()
    )
    example = pl.format("{} bars", "count")
    return describe(counts.filter(pl.col("count") < view.trailing_bars), example, at="at")


@check.info(
    "DIVIDENDS_UNADJUSTED", "D15", "ex-dividend days show as falls: returns are price returns"
)
def find_dividend_gaps(view: QualityView) -> pl.DataFrame:
    """Say that ex-dividend days show as falls, where prices are not adjusted for dividends."""
    has_dividends = view.provenance.calendar != "24/7" and not view.provenance.synthetic
    if not has_dividends or view.provenance.adjustment == "split_dividend":
        return no_hits()
    return hit(f"adjustment: {view.provenance.adjustment}")
