"""Vendor revisions: what a new delivery of the same history changed."""

from __future__ import annotations

import polars as pl

from tradingbot.data.quality.check import Finding, QualityCheck, Severity, as_text, describe
from tradingbot.data.schema import BAR_KEY

REVISION_TOLERANCE_FRAC = 1e-6  # float32 deliveries round to this

BARS_REVISED = QualityCheck(
    "BARS_REVISED", "D27", Severity.WARNING, "the vendor changed values of old bars"
)
BARS_WITHDRAWN = QualityCheck(
    "BARS_WITHDRAWN", "D27", Severity.WARNING, "the vendor took old bars away"
)
BARS_BACKFILLED = QualityCheck(
    "BARS_BACKFILLED", "D27", Severity.INFO, "the vendor added bars inside the old history"
)
REVISION_CHECKS: tuple[QualityCheck, ...] = (BARS_REVISED, BARS_WITHDRAWN, BARS_BACKFILLED)

_VALUES = ("open", "high", "low", "close", "volume", "vwap")


def compare_revisions(old_bars: pl.DataFrame, new_bars: pl.DataFrame) -> tuple[Finding, ...]:
    """Tell how a new delivery differs from an old one, over the old one's range per symbol.

    Bars after the end of a symbol's old history are growth, not revision, and are not reported.

    Args:
        old_bars: Bar schema, sorted by symbol and close.
        new_bars: The same.
    """
    key = list(BAR_KEY)
    both = old_bars.join(new_bars, on=key, how="inner", suffix="_new", maintain_order="left")
    moved = [_differs(pl.col(name), pl.col(f"{name}_new")) for name in _VALUES]
    revised = both.filter(pl.any_horizontal(moved))
    shown = ("close", "close_new", "volume", "volume_new")
    changes = pl.format("close {} → {}, volume {} → {}", *map(as_text, shown))
    withdrawn = old_bars.join(new_bars, on=key, how="anti", maintain_order="left")
    ends = old_bars.group_by("symbol").agg(until=pl.col("closed_at").max())
    added = new_bars.join(old_bars, on=key, how="anti", maintain_order="left").join(
        ends, on="symbol", how="inner", maintain_order="left"
    )
    backfilled = added.filter(pl.col("closed_at") <= pl.col("until"))
    close = pl.format("close {}", as_text("close"))
    return (
        *BARS_REVISED.findings(describe(revised, changes)),
        *BARS_WITHDRAWN.findings(describe(withdrawn, close)),
        *BARS_BACKFILLED.findings(describe(backfilled, close)),
    )


def _differs(old: pl.Expr, new: pl.Expr) -> pl.Expr:
    return (new - old).abs() > REVISION_TOLERANCE_FRAC * old.abs()
