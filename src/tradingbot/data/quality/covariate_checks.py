"""Rules about covariates: values that arrive beside bars, such as sentiment in [0, 1]."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from tradingbot.data.quality import check
from tradingbot.data.quality.check import as_text, describe, hit, no_hits
from tradingbot.data.quality.view import QualityView

SENTIMENT = "sentiment"
SENTIMENT_STALE_AFTER = timedelta(days=7)


@check.error("SENTIMENT_OUT_OF_RANGE", "", "sentiment must lie in [0, 1]")
def find_values_out_of_range(view: QualityView) -> pl.DataFrame:
    """Sentiment below 0 or above 1."""
    value = pl.col("value")
    is_out = value.is_finite() & ~value.is_between(0, 1)
    return _shown(_sentiment(view).filter(is_out))


@check.error("COVARIATE_NOT_FINITE", "D01", "a covariate must be a finite number")
def find_values_not_finite(view: QualityView) -> pl.DataFrame:
    """Values of any covariate that are NaN or infinite."""
    return _shown(view.covariates.filter(~pl.col("value").is_finite()))


@check.warning("COVARIATE_UNKNOWN_SYMBOL", "", "a covariate belongs to a symbol without bars")
def find_unknown_symbols(view: QualityView) -> pl.DataFrame:
    """Covariates of symbols that have no bar."""
    return _shown(view.covariates.filter(~pl.col("symbol").is_in(view.symbols)))


@check.info("SENTIMENT_ABSENT", "", "no symbol has sentiment")
def find_no_sentiment(view: QualityView) -> pl.DataFrame:
    """Say that the sentiment feature will be neutral for all."""
    return no_hits() if _sentiment(view).height else hit("0.5 will be used")


@check.warning("COVARIATE_MISSING", "", "a symbol lacks a covariate that others have")
def find_symbols_without(view: QualityView) -> pl.DataFrame:
    """Symbols that lack a covariate which others have."""
    have = view.covariates.select("symbol", "name").unique()
    every = pl.DataFrame({"symbol": view.symbols}).join(have.select("name").unique(), how="cross")
    lacking = every.join(have, on=["symbol", "name"], how="anti").sort("symbol", "name")
    return describe(lacking, pl.col("name"), at=None)


@check.warning("SENTIMENT_STALE", "D20", "sentiment is silent for more than a week")
def find_stale_sentiment(view: QualityView) -> pl.DataFrame:
    """Stretches of more than a week between two values, or a value and the symbol's last bar."""
    until = view.bars.group_by("symbol").agg(until=pl.col("closed_at").last())
    values = _sentiment(view).join(until, on="symbol", how="inner", maintain_order="left")
    following = pl.coalesce(pl.col("available_at").shift(-1).over("symbol"), pl.col("until"))
    # As a column: after the filter, the next value would be another one.
    values = values.with_columns(silence=following - pl.col("available_at"))
    silence = pl.col("silence")
    example = pl.format("silent for {} days", silence.dt.total_days())
    is_stale = (silence > SENTIMENT_STALE_AFTER) & (pl.col("available_at") < pl.col("until"))
    return describe(values.filter(is_stale), example, at="available_at")


def _sentiment(view: QualityView) -> pl.DataFrame:
    return view.covariates.filter(pl.col("name") == SENTIMENT)


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    return describe(rows, pl.format("{} {}", "name", as_text("value")), at="available_at")
