"""Rules about a symbol's bars and volumes: frozen feeds, odd wicks, odd volumes, late arrival.

Rows reach these rules only if no rule of `row_checks` or `neighbour_checks` condemned them.
"""

from __future__ import annotations

import polars as pl

from tradingbot.data.quality.check import MarketCheck, as_text, describe, hit, no_hits
from tradingbot.data.quality.finding import Severity
from tradingbot.data.quality.row_checks import SHOWN_OHLC
from tradingbot.data.quality.view import QualityView

STALE_RUN_BARS = 4
LONG_WICK_FRAC = 0.3
PRICE_CEILING = 1e6
PRICE_FLOOR = 1e-4
VWAP_TOLERANCE_FRAC = 0.005


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


def find_long_wicks(view: QualityView) -> pl.DataFrame:
    """Bars whose low or high lies far outside open and close."""
    low = pl.col("low") < (1 - LONG_WICK_FRAC) * pl.min_horizontal("open", "close")
    high = pl.col("high") * (1 - LONG_WICK_FRAC) > pl.max_horizontal("open", "close")
    return describe(view.bars.filter(low | high), SHOWN_OHLC)


def find_zero_volume(view: QualityView) -> pl.DataFrame:
    """Bars in which nothing traded and nothing moved."""
    return describe(view.bars.filter(pl.col("volume") == 0), as_text("close"))


def find_fractional_volume(view: QualityView) -> pl.DataFrame:
    """Parts of shares, on an exchange that trades whole ones."""
    if view.provenance.calendar == "24/7":
        return no_hits()
    volume = pl.col("volume")
    return describe(view.bars.filter(volume != volume.floor()), as_text("volume"))


def find_extreme_prices(view: QualityView) -> pl.DataFrame:
    """Prices above a million or below a hundredth of a cent."""
    is_extreme = (pl.col("high") > PRICE_CEILING) | (pl.col("low") < PRICE_FLOOR)
    return describe(view.bars.filter(is_extreme), as_text("close"))


def find_odd_vwaps(view: QualityView) -> pl.DataFrame:
    """Average prices clearly outside the bar they are the average of."""
    vwap = pl.col("vwap")
    is_odd = (vwap < pl.col("low") * (1 - VWAP_TOLERANCE_FRAC)) | (
        vwap > pl.col("high") * (1 + VWAP_TOLERANCE_FRAC)
    )
    example = pl.format("vwap {} in {} … {}", *map(as_text, ("vwap", "low", "high")))
    return describe(view.bars.filter(is_odd), example)


def find_late_known(view: QualityView) -> pl.DataFrame:
    """Bars that became known more than one bar after they closed."""
    delay = pl.col("known_at") - pl.col("closed_at")
    example = pl.format("{} minutes late", delay.dt.total_minutes())
    return describe(view.bars.filter(delay > view.timeframe.duration), example)


def find_short_histories(view: QualityView) -> pl.DataFrame:
    """Symbols with fewer bars than the trailing window."""
    counts = view.bars.group_by("symbol", maintain_order=True).agg(
        at=pl.col("closed_at").first(), count=pl.len()
    )
    example = pl.format("{} bars", "count")
    return describe(counts.filter(pl.col("count") < view.trailing_bars), example, at="at")


def find_dividend_gaps(view: QualityView) -> pl.DataFrame:
    """Say that ex-dividend days show as falls, where prices are not adjusted for dividends."""
    has_dividends = view.provenance.calendar != "24/7" and not view.provenance.synthetic
    if not has_dividends or view.provenance.adjustment == "split_dividend":
        return no_hits()
    return hit(f"adjustment: {view.provenance.adjustment}")


SERIES_CHECKS: tuple[MarketCheck, ...] = (
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
